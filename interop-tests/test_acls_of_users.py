"""ACLs of users who log in, of super users, tokens and users, on kcompat and on a Kafka 3.9.2 alike."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from differential.compare import differences
from differential.play import Play, batch
from differential.sasl_play import side_by_side
from differential.scenarios.access_rules import CREATE, DESCRIBE, RULE
from kcompat.protocol.api_keys import ApiKey
from support.eventually import eventually
from support.sasl import plain_token
from support.stored_acls import FILTER
from test_acls import is_known

if TYPE_CHECKING:
    from collections.abc import Iterator

    from differential.play import Step
    from support.broker_process import BrokerProcess

pytestmark = pytest.mark.thorough("the admission tests, whose clients are told apart by their addresses")

USERS = ("admin", "alice", "bob", "carol", "dave")
PROPERTIES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS;User:admin",
    "listener.name.sasl.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.sasl.plain.sasl.jaas.config": (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        + " ".join(f'user_{user}="secret"' for user in USERS)
        + ";"
    ),
    "delegation.token.secret.key": "secret-key",
}
TOPIC, GROUP, CLUSTER, TOKEN, USER = 2, 3, 4, 6, 7
ALL, READ, WRITE, DESCRIBE_IT, CREATE_TOKENS, DESCRIBE_TOKENS = 2, 3, 4, 8, 13, 14
TOPICS = ("t", "shared", "a-x", "absent")


def rule(principal: str, operation: int, name: str, kind: int = TOPIC, **more: object) -> dict[str, object]:
    named = {"principal": principal, "operation": operation, "resource_name": name, "resource_type": kind}
    return RULE | named | more


RULES = [
    rule("User:alice", READ, "t"),
    rule("User:alice", WRITE, "a-", resource_pattern_type=4),
    rule("User:alice", READ, "*", GROUP),
    rule("User:*", DESCRIBE_IT, "shared"),
    rule("User:bob", ALL, "*", permission_type=2),
    rule("User:bob", ALL, "t"),
    *(rule("User:admin", ALL, name, kind, permission_type=2)
      for kind, name in ((TOPIC, "*"), (GROUP, "*"), (CLUSTER, "kafka-cluster"))),
    rule("Group:carol", ALL, "*"),
    rule("User:dav", ALL, "*"),
    rule("User:dave", ALL, "t", host="10.0.0.1"),
    rule("User:carol", CREATE_TOKENS, "User:alice", USER),
    rule("User:dave", DESCRIBE_TOKENS, "User:alice", USER),
    rule("User:bob", DESCRIBE_IT, "*", TOKEN),
]  # fmt: skip


@pytest.fixture(scope="module")
def brokers() -> Iterator[tuple[BrokerProcess, BrokerProcess]]:
    """A real Kafka and ours, with the ACLs in force."""
    with side_by_side(PROPERTIES) as both:
        for broker in both:
            maker = Play(broker.port, "setup")
            for topic in ("t", "shared", "a-x"):
                wish = {"name": topic, "num_partitions": 1, "replication_factor": 1}
                maker.do(ApiKey.CREATE_TOPICS, 4, topics=[wish], timeout_ms=10_000)
                maker.await_topic(topic)
            new = {"transactional_id": None, "transaction_timeout_ms": 1}
            maker.until(
                lambda: not maker.do(ApiKey.INIT_PRODUCER_ID, 3, **new).error_code,  # noqa: B023
                "there are producer ids",
            )
            find = {"key_type": 1, "coordinator_keys": ["x"]}
            maker.until(
                lambda: not maker.do(ApiKey.FIND_COORDINATOR, 4, **find).coordinators[0].error_code,  # noqa: B023
                "transactions have a coordinator",
            )
            made = maker.do(CREATE, 3, creations=RULES)
            assert {row.error_code for row in made.results} == {0}
            maker.until(lambda: is_known(maker, len(RULES)), "the ACLs are shown")  # noqa: B023
            maker.close()
        yield both


def in_order(answer: Any) -> None:
    """Sort the topics, which Kafka answers in the order of hash tables."""
    for rows in ("topics", "responses"):
        getattr(answer, rows, []).sort(key=lambda row: getattr(row, "name", getattr(row, "topic", "")) or "")
    for row in getattr(answer, "topics", ()):
        if hasattr(row, "topic_id"):
            row.topic_id = bytes(16)


def no_offsets(answer: Any) -> None:
    in_order(answer)
    for topic in answer.responses:
        for row in topic.partition_responses:
            row.base_offset = min(row.base_offset, 0)


def play_as(play: Play, user: str) -> None:
    """Log in, and ask about topics, groups, the cluster and tokens."""
    play.do(ApiKey.SASL_HANDSHAKE, 1, on="main", mechanism="PLAIN")
    assert (
        play.do(ApiKey.SASL_AUTHENTICATE, 1, on="main", auth_bytes=plain_token(user, "secret")).error_code
        == 0
    )
    named = [{"name": topic} for topic in TOPICS]
    operations = {"include_topic_authorized_operations": True, "include_cluster_authorized_operations": True}
    play.call(ApiKey.METADATA, 9, trim=in_order, topics=named, allow_auto_topic_creation=False, **operations)
    play.call(ApiKey.METADATA, 9, trim=in_order, topics=None, **operations)
    rows = [{"partition_index": 0, "timestamp": -2}]
    play.call(ApiKey.LIST_OFFSETS, 5, trim=in_order, topics=[each | {"partitions": rows} for each in named])
    data = [{"index": 0, "records": batch(b"v")}]
    produced = [each | {"partition_data": data} for each in named]
    play.call(ApiKey.PRODUCE, 9, trim=no_offsets, acks=1, timeout_ms=10_000, topic_data=produced)
    play.call(ApiKey.DESCRIBE_GROUPS, 5, groups=["g"], include_authorized_operations=True)
    play.call(ApiKey.FIND_COORDINATOR, 4, key_type=1, coordinator_keys=["x"])
    play.call(ApiKey.INIT_PRODUCER_ID, 3, trim=_without_id, transactional_id=None, transaction_timeout_ms=1)
    wishes = [{"name": name, "num_partitions": 1, "replication_factor": 1} for name in ("a-new", "new")]
    play.call(ApiKey.CREATE_TOPICS, 4, topics=wishes, timeout_ms=10_000, validate_only=True)
    play.call(DESCRIBE, 3, trim=_only_error, **FILTER)
    play.call(ApiKey.DESCRIBE_CONFIGS, 1, trim=_only_errors,
              resources=[{"resource_type": 2, "resource_name": "t", "configuration_keys": []},
                         {"resource_type": 4, "resource_name": "1", "configuration_keys": []}])  # fmt: skip
    owner = {"owner_principal_type": "User", "owner_principal_name": "alice"}
    play.call(ApiKey.CREATE_DELEGATION_TOKEN, 3, trim=_only_owner, renewers=[], max_lifetime_ms=-1, **owner)


def _without_id(answer: Any) -> None:
    answer.producer_id = min(answer.producer_id, 0)


def _only_error(answer: Any) -> None:
    answer.resources = []


def _only_errors(answer: Any) -> None:
    for row in answer.results:
        row.configs = []


def _only_owner(answer: Any) -> None:
    answer.hmac, answer.token_id = b"", ""
    answer.issue_timestamp_ms = answer.expiry_timestamp_ms = answer.max_timestamp_ms = 0


def transcript(broker: BrokerProcess, user: str) -> list[Step]:
    play = Play(broker.listeners["SASL"][1], user)
    try:
        play_as(play, user)
    finally:
        play.close()
    return play.transcript


@pytest.mark.parametrize("user", USERS)
def test_a_user_gets_the_same_answers(brokers: tuple[BrokerProcess, BrokerProcess], user: str) -> None:
    with ThreadPoolExecutor(2) as threads:
        theirs, mine = threads.map(lambda broker: transcript(broker, user), brokers)
    assert list(differences(theirs, mine)) == []


def shown_to(broker: BrokerProcess, user: str) -> set[tuple[str, str]]:
    """Return owner and requester of the tokens that a user is shown."""
    play = Play(broker.listeners["SASL"][1], user)
    try:
        play.do(ApiKey.SASL_HANDSHAKE, 1, on="main", mechanism="PLAIN")
        play.do(ApiKey.SASL_AUTHENTICATE, 1, on="main", auth_bytes=plain_token(user, "secret"))
        answer = play.do(ApiKey.DESCRIBE_DELEGATION_TOKEN, 3, on="main", owners=None)
    finally:
        play.close()
    return {(row.principal_name, row.token_requester_principal_name) for row in answer.tokens}


def test_tokens_are_shown_to_the_same_users(brokers: tuple[BrokerProcess, BrokerProcess]) -> None:
    for broker in brokers:
        for user in USERS:
            transcript(broker, user)
    created = {("alice", user) for user in ("admin", "alice", "carol")}
    expected = {"admin": created, "alice": created, "bob": created, "dave": created}
    expected["carol"] = {("alice", "carol")}
    for broker in brokers:
        eventually(
            lambda: {user: shown for user in USERS if (shown := shown_to(broker, user))} == expected,  # noqa: B023
            lambda: [(user, shown_to(broker, user)) for user in USERS],  # noqa: B023
        )
