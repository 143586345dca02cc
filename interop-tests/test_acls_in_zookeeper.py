"""ACLs in ZooKeeper: kcompat and a real Kafka beside it on one ensemble obey the ACLs that either stores."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from kazoo.client import KazooClient

from differential.play import Play
from differential.scenarios.access_rules import CREATE, DELETE, DESCRIBE, RULE
from kcompat.protocol.api_keys import ApiKey
from support.kcompat_broker import KcompatBroker
from support.stored_acls import FILTER
from zookeeper_kafka import ZooKeeper, ZooKeeperKafka

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.broker_process import BrokerProcess

pytestmark = pytest.mark.thorough("test_acls.py shows the ACLs of one broker, test_acl_store.py their znodes")

AUTHORIZER = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
CLIENT = "127.0.7.1"
DENIALS = [
    RULE | {"resource_name": "secret", "host": CLIENT, "permission_type": 2, "principal": "User:ANONYMOUS"},
    RULE | {"resource_name": "ü-", "resource_pattern_type": 4, "host": CLIENT, "permission_type": 2,
            "principal": "User:*", "operation": 2},
    *(RULE | {"resource_type": kind, "resource_name": name, "principal": "User:somebody"}
      for kind, name in ((3, "g"), (5, "tx"), (6, "token"), (7, "User:alice"))),
    *(RULE | {"resource_name": "operations", "operation": code} for code in range(2, 15)),
]  # fmt: skip
CHANGES = ("/kafka-acl-changes", "/kafka-acl-extended-changes")
TOPICS = ("secret", "ü-x", "open")


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[ZooKeeper, BrokerProcess, BrokerProcess]]:
    """An ensemble, with a Kafka and our broker that share it."""
    with ZooKeeper() as zookeeper, ZooKeeperKafka(zookeeper, properties=AUTHORIZER) as kafka:
        properties = {"broker.id": "2", "zookeeper.connect": zookeeper.bootstrap, **AUTHORIZER}
        with KcompatBroker(properties) as ours:
            yield zookeeper, kafka, ours
            assert "Traceback" not in ours.log_tail(1_000_000), ours.log_tail(8000)


def shown(play: Play) -> list[tuple[Any, ...]]:
    """Return the ACLs that a broker has in force."""
    answer = play.do(DESCRIBE, 3, **FILTER)
    return sorted(
        (row.resource_type, row.resource_name, row.pattern_type, acl.principal, acl.host, acl.operation,
         acl.permission_type)
        for row in answer.resources
        for acl in row.acls
    )  # fmt: skip


def denied(play: Play) -> set[str]:
    """Return the topics of which the client at `CLIENT` may not list offsets."""
    topics = [{"name": name, "partitions": [{"partition_index": 0, "timestamp": -1}]} for name in TOPICS]
    answer = play.do(ApiKey.LIST_OFFSETS, 5, on="main", topics=topics)
    return {row.name for row in answer.topics if row.partitions[0].error_code == 29}


@pytest.mark.parametrize("maker", ["kafka", "ours"])
def test_what_one_stores_the_other_obeys(
    both: tuple[ZooKeeper, BrokerProcess, BrokerProcess], maker: str
) -> None:
    _, *brokers = both
    made, told = (
        Play(broker.port, "s", CLIENT) for broker in (brokers if maker == "kafka" else brokers[::-1])
    )
    try:
        answer = made.do(CREATE, 3, creations=DENIALS)
        assert {row.error_code for row in answer.results} == {0}
        everything = shown(made)
        assert len(everything) == len(DENIALS)
        told.until(lambda: shown(told) == everything, "the other broker has heard of the ACLs")
        for play in (made, told):
            assert denied(play) == {"secret", "ü-x"}
        deleted = told.do(DELETE, 3, filters=[FILTER])
        assert len(deleted.filter_results[0].matching_acls) == len(DENIALS)
        made.until(lambda: shown(made) == [], "the maker has heard of the deletion")
        assert denied(made) == denied(told) == set()
    finally:
        made.close()
        told.close()


def nodes(zookeeper: ZooKeeper) -> dict[str, Any]:
    """Return the payloads below the nodes of ACLs, those of notifications without their numbers."""
    client = KazooClient(zookeeper.bootstrap)
    client.start()
    found: dict[str, Any] = {}

    def look(path: str) -> None:
        data, _ = client.get(path)
        text = data.decode() if data else ""
        shown: Any = json.loads(text) if text.startswith("{") else text
        if "acls" in shown:
            shown["acls"].sort(key=lambda row: sorted(row.items()))
        if "/acl_changes_" in path:
            changes = found.setdefault(path.rpartition("_")[0], [])
            changes.append(shown)
        else:
            found[path] = shown
        for name in client.get_children(path):
            look(f"{path}/{name}")

    try:
        for root in (
            "/kafka-acl",
            "/kafka-acl-extended",
            "/kafka-acl-changes",
            "/kafka-acl-extended-changes",
        ):
            look(root)
        for root in CHANGES:
            for name in client.get_children(root):
                client.delete(f"{root}/{name}")
    finally:
        client.stop()
        client.close()
    return {path: sorted(each, key=str) if isinstance(each, list) else each for path, each in found.items()}


def test_the_nodes_are_the_same(both: tuple[ZooKeeper, BrokerProcess, BrokerProcess]) -> None:
    zookeeper, *brokers = both
    found = []
    for broker in brokers:
        nodes(zookeeper)  # forget earlier notifications
        play = Play(broker.port, "s")
        try:
            play.do(CREATE, 3, creations=DENIALS)
            found.append(nodes(zookeeper))
            play.do(DELETE, 3, filters=[FILTER])
            found.append(nodes(zookeeper))
            for other in brokers:
                seen = Play(other.port, "s")
                seen.until(lambda: shown(seen) == [], "no ACL is left")  # noqa: B023
                seen.close()
        finally:
            play.close()
    for theirs, mine in zip(found[:2], found[2:], strict=True):
        assert sorted(mine) == sorted(theirs)
        assert [path for path in mine if mine[path] != theirs[path]] == [], (mine, theirs)
