"""The ZooKeeper nodes that a Kafka needs to take over our directories, and the reasons to refuse."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING

import pytest

from kcompat.cluster import znodes
from kcompat.cluster.feature_levels import HIGHEST_LEVELS, decode_finalized
from kcompat.config.broker import BrokerConfig
from kcompat.controller import loading
from kcompat.log.loader import create_log
from kcompat.migration.adoption import adopt
from kcompat.migration.hand_over import (
    DirectoryOwner,
    HandOverRefusedError,
    RequiredNodes,
    check_logs,
    check_owner,
    missing_nodes,
    required_nodes,
)
from kcompat.records.batch import build_batch, read_header
from kcompat.records.record import Record
from kcompat.security.acl_nodes import pattern_path
from kcompat.security.acls import ResourcePattern
from kcompat.security.operations import ResourceType
from kcompat.store.interface import Create, name_of, parent_of
from kcompat.store.process_store import ProcessStore
from kcompat.store.tree import Tree, TreeTransaction
from support.default_settings import log_settings

if TYPE_CHECKING:
    from pathlib import Path

    from kcompat.log.log import Log

TOPIC_ID = bytes(range(16))
OURS = "version=0\nbroker.id=7\ncluster.id=ours\n"


def make_log(parent: Path, topic: str, partition: int, topic_id: bytes = TOPIC_ID, epoch: int = 3) -> Log:
    log = create_log(
        parent / f"{topic}-{partition}", topic, partition, log_settings(), topic_id=topic_id, now_ms=0
    )
    batch = memoryview(build_batch([Record(0, 1, b"k", b"v")]))
    log.append_as_leader(batch, read_header(batch), epoch, 0)
    return log


async def registered(logs: list[Log]) -> RequiredNodes:
    """Return the nodes to register of a store that adopted these logs, after a broker registered itself."""
    store = ProcessStore.in_memory(lambda: 0)
    session = await store.session()
    await loading.prepare(session, HIGHEST_LEVELS)
    await adopt(session, logs, "ours", BrokerConfig({"broker.id": "7"}), Random(0))
    await session.multi(
        [
            Create("/brokers/ids/7", b"{}", ephemeral=True),
            Create("/controller", b"{}", ephemeral=True),
            Create("/controller_epoch", b"4"),
            Create("/config/changes/config_change_", b"{}", sequential=True),
        ]
    )
    return required_nodes(store.tree.nodes)


class FakeZooKeeper:
    """Nodes by path, looked at one by one."""

    def __init__(self, nodes: dict[str, bytes]) -> None:
        self.nodes = nodes
        self.looked: list[str] = []

    def look(self, path: str) -> tuple[bytes, list[str]] | None:
        self.looked.append(path)
        if path not in self.nodes:
            return None
        return self.nodes[path], [name_of(child) for child in self.nodes if parent_of(child) == path]


@pytest.fixture
async def registration(tmp_path: Path) -> RequiredNodes:
    (tmp_path / "meta.properties").write_text(OURS)
    return await registered(
        [make_log(tmp_path, "a", 0), make_log(tmp_path, "a", 1), make_log(tmp_path, "b", 0)]
    )


def test_what_is_registered(registration: RequiredNodes) -> None:
    assert registration.topics == ["a", "b"]
    assert registration.partitions == {("a", 0), ("a", 1), ("b", 0)}
    nodes = registration.nodes
    assert json.loads(nodes["/cluster/id"]) == {"version": "1", "id": "ours"}
    assert nodes["/controller_epoch"] == b"4"
    assert decode_finalized(nodes["/feature"]) == {}, "Kafka has none"
    assert json.loads(nodes["/brokers/topics/a/partitions/1/state"])["leader_epoch"] == 3
    assert "/config/topics/b" in nodes
    for gone in ("/", "/brokers/ids/7", "/controller", "/config/changes/config_change_0000000000"):
        assert gone not in nodes
    assert list(nodes) == sorted(nodes), "parents first"


def test_a_store_without_a_cluster() -> None:
    store = ProcessStore.in_memory(lambda: 0)
    with pytest.raises(HandOverRefusedError, match="no broker has started on it yet"):
        required_nodes(store.tree.nodes)


# -- the directories -------------------------------------------------------------------------------------


def test_the_owner(tmp_path: Path, registration: RequiredNodes) -> None:
    assert check_owner(registration, [str(tmp_path)]) == DirectoryOwner(7, "ours")


@pytest.mark.parametrize(
    ("properties", "complaint"),
    [
        (None, "is missing"),
        ("version=1\nnode.id=7\ncluster.id=ours\n", "KRaft"),
        ("version=0\nbroker.id=7\n", "damaged: 'cluster.id'"),
        ("version=0\nbroker.id=x\ncluster.id=ours\n", "damaged"),
        (
            "version=0\nbroker.id=7\ncluster.id=theirs\n",
            "cluster ours, but the logs are those of cluster theirs",
        ),
        ("version=0\nbroker.id=8\ncluster.id=ours\n", "brokers 7 and 8, not of one"),
    ],
)
def test_a_second_directory_that_does_not_fit(
    tmp_path: Path, registration: RequiredNodes, properties: str | None, complaint: str
) -> None:
    second = tmp_path / "second"
    second.mkdir()
    if properties is not None:
        (second / "meta.properties").write_text(properties)
    with pytest.raises(HandOverRefusedError, match=complaint):
        check_owner(registration, [str(tmp_path), str(second)])


def test_logs_that_agree(tmp_path: Path, registration: RequiredNodes) -> None:
    (tmp_path / "__cluster_metadata-0").mkdir()
    (tmp_path / f"a-0.{'0' * 32}-delete").mkdir()
    assert check_logs(registration, [str(tmp_path)], 7) == []


def test_logs_that_the_store_does_not_know_and_the_other_way_round(
    tmp_path: Path, registration: RequiredNodes
) -> None:
    for index in range(2, 9):
        make_log(tmp_path, "a", index)
    for path in (tmp_path / "b-0").iterdir():
        path.unlink()
    (tmp_path / "b-0").rmdir()
    unknown, absent = check_logs(registration, [str(tmp_path)], 7)
    assert unknown.startswith("a-2, a-3, a-4, a-5, a-6 and 2 more: unknown")
    assert absent.startswith("b-0: not in these directories")


def test_partitions_of_other_brokers_are_not_missing(tmp_path: Path, registration: RequiredNodes) -> None:
    said = check_logs(registration, [str(tmp_path / "b-0")], 8, "kcompat")
    assert said == ["a-0, a-1, b-0: on other brokers only, and not served before those are"]


def test_a_log_that_another_broker_has_led_since(tmp_path: Path, registration: RequiredNodes) -> None:
    (tmp_path / "a-1" / "leader-epoch-checkpoint").write_text("0\n2\n3 0\n4 1\n")
    with pytest.raises(HandOverRefusedError, match="a-1, to which another broker has written since"):
        check_logs(registration, [str(tmp_path)], 7)


def test_a_log_of_another_topic(tmp_path: Path, registration: RequiredNodes) -> None:
    metadata = "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"
    (tmp_path / "b-0" / "partition.metadata").write_text(metadata)
    with pytest.raises(HandOverRefusedError, match="b-0 belongs to an older topic"):
        check_logs(registration, [str(tmp_path)], 7)


def test_a_damaged_file(tmp_path: Path, registration: RequiredNodes) -> None:
    (tmp_path / "b-0" / "leader-epoch-checkpoint").write_text("0\n2\n3 0\n")
    with pytest.raises(HandOverRefusedError, match="b-0 is damaged"):
        check_logs(registration, [str(tmp_path)], 7)


# -- ZooKeeper -------------------------------------------------------------------------------------------


def test_an_empty_zookeeper_gets_everything_and_the_cluster_id_last(registration: RequiredNodes) -> None:
    zookeeper = FakeZooKeeper({"/zookeeper": b"", "/another": b"program"})
    missing = missing_nodes(registration, zookeeper.look)
    assert sorted(missing) == sorted(registration.nodes)
    assert missing[-1] == "/cluster/id"
    for position, path in enumerate(missing):
        assert parent_of(path) == "/" or parent_of(path) in missing[:position]
    assert all(parent_of(path) == "/" for path in zookeeper.looked), "nothing below what is not there"


def test_it_goes_on_wherever_it_was_interrupted(registration: RequiredNodes) -> None:
    everything = missing_nodes(registration, FakeZooKeeper({}).look)
    for count in range(len(everything) + 1):
        there = {path: registration.nodes[path] for path in everything[:count]}
        assert missing_nodes(registration, FakeZooKeeper(there).look) == everything[count:]


@pytest.mark.parametrize(
    ("path", "data", "complaint"),
    [
        ("/cluster/id", b'{"version":"1","id":"theirs"}', 'another cluster already: .*"theirs"'),
        ("/brokers/ids/3", b"{}", "broker 3 is running on it"),
        ("/brokers/topics/c", b"{}", "topics that the data directory has not: c$"),
        ("/brokers/topics/a", b"{}", "its /brokers/topics/a is {} and would be {"),
        ("/brokers/topics/a/partitions/2", b"", "it has /brokers/topics/a/partitions/2, which"),
        ("/controller_epoch", b"", "its /controller_epoch is empty and would be 4"),
        ("/config/topics/c", b"{}", "it has /config/topics/c, which"),
    ],
)
def test_a_zookeeper_that_holds_something_else(
    registration: RequiredNodes, path: str, data: bytes, complaint: str
) -> None:
    with pytest.raises(HandOverRefusedError, match=complaint):
        missing_nodes(registration, FakeZooKeeper({**registration.nodes, path: data}).look)


def test_another_cluster_is_seen_at_once(registration: RequiredNodes) -> None:
    zookeeper = FakeZooKeeper(
        {"/cluster": b"", "/cluster/id": b"theirs", "/brokers": b"", "/brokers/topics": b""}
    )
    with pytest.raises(HandOverRefusedError, match="another cluster already: theirs"):
        missing_nodes(registration, zookeeper.look)
    assert zookeeper.looked == ["/cluster", "/cluster/id"]


def test_notifications_of_zookeeper_do_not_matter(registration: RequiredNodes) -> None:
    there = {**registration.nodes, "/config/changes/config_change_0000000004": b"{}"}
    assert missing_nodes(registration, FakeZooKeeper(there).look) == []


def test_nodes_that_every_zookeeper_has_are_not_handed_over() -> None:
    tree = Tree()
    transaction = TreeTransaction(tree, 0, 5, 1)
    for path in ("/cluster", znodes.CLUSTER_ID, "/zookeeper", "/zookeeper/quota", "/zookeepers", "/own"):
        transaction.run(Create(path, None))
    transaction.apply()
    kept = required_nodes(tree.nodes).nodes
    assert sorted(kept) == ["/cluster", znodes.CLUSTER_ID, "/own", "/zookeepers"]
    assert kept["/own"] == b""


def with_acls_of(*names: str) -> RequiredNodes:
    """Return the nodes to register of a store that has ACLs of groups with these names."""
    tree = Tree()
    transaction = TreeTransaction(tree, 0, 5, 1)
    acls = [pattern_path(ResourcePattern(ResourceType.GROUP, name), escapes=True) for name in names]
    for path in ("/cluster", znodes.CLUSTER_ID, "/kafka-acl", "/kafka-acl/Group", *acls):
        transaction.run(Create(path, b"{}"))
    transaction.apply()
    return required_nodes(tree.nodes)


def test_acls_are_handed_over_under_the_names_that_kafka_gives_them() -> None:
    names = ("plain", "50%", "%2F")
    kept = with_acls_of(*names).nodes
    assert {path for path in kept if path.count("/") == 3} == {f"/kafka-acl/Group/{name}" for name in names}


def test_acls_that_zookeeper_cannot_hold_are_named() -> None:
    with pytest.raises(HandOverRefusedError, match="the ACLs of Group a/b, whose name has a slash"):
        with_acls_of("plain", "a/b")
