"""ACLs of kcompat and of a Kafka 3.9.2: the answers of their APIs, the log of decisions, and `kafka-acls`."""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from differential.compare import differences
from differential.play import Play
from differential.scenarios.access_rules import CREATE, DELETE, DESCRIBE, RULE
from kcompat.protocol.api_keys import ApiKey
from real_kafka import RealKafka
from support.kafka_jars import CONF, short_lived
from support.kcompat_broker import KcompatBroker
from support.stored_acls import FILTER
from tool_bench import VERSIONS, insist_on_tools, side_by_side

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.broker_process import BrokerProcess
    from tool_bench import Benches

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
AUDIT_LOGGER = "kafka.authorizer.logger"
NAMED = ("t", "tt", "*", None)
CLIENT = "127.0.7.1"
"""Address of the client whose access the log is about."""

CLUSTER = {"resource_type": 4, "resource_name": "kafka-cluster", "principal": "User:ANONYMOUS"}
"""An ACL that leaves the clients of these tests the right to list and delete ACLs."""
ODD_RULES: list[dict[str, object]] = [
    *({"resource_type": code} for code in (3, 4, 5, 6, 7, -1, 8, 99)),
    *({"resource_pattern_type": code} for code in (4, -1, 5, 99)),
    *({"operation": code} for code in (2, 5, 9, 12, 13, 14, -1, 15, 99)),
    *({"permission_type": code} for code in (2, -1, 4, 99)),
    *({"resource_name": name} for name in ("", "*", "kafka-cluster", "a/b", "a" * 300, "ü", ".", "50%")),
    *({"principal": text} for text in ("", "nocolon", ":x", "User:", "User:*", "Group:g", "User:a:b")),
    *({"host": text} for text in ("", "10.0.0.1", "nonsense", "::1")),
    {**CLUSTER, "operation": 2},
    {**CLUSTER, "resource_pattern_type": 4},
    {"resource_name": "", "resource_type": 99, "principal": ""},
]
FILTERS: list[dict[str, object]] = [
    {},
    *({"resource_type_filter": code} for code in (2, 3, 99)),
    *({"principal_filter": text} for text in ("User:somebody", "User:*", "")),
    {"host_filter": "*"},
    *({"operation": code} for code in (3, 2, 99, -1)),
    *({"permission_type": code} for code in (3, 2, 99)),
]


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[BrokerProcess, BrokerProcess]]:
    """Kafka 3.9.2 and ours, with an authorizer and its log."""
    insist_on_tools()
    logging = tmp_path_factory.mktemp("log4j") / "log4j.properties"
    logging.write_text((CONF / "log4j.properties").read_text() + f"log4j.logger.{AUDIT_LOGGER}=DEBUG\n")
    options = [*short_lived("3.9.2"), f"-Dlog4j.configuration=file:{logging}"]
    os.environ["KAFKA_LOG4J_LOGGERS"] = f"{AUDIT_LOGGER}=DEBUG"
    try:
        with (
            RealKafka(properties=AUTHORIZER, options=options) as kafka,
            KcompatBroker({"broker.id": "1", **AUTHORIZER}) as ours,
        ):
            yield kafka, ours
            assert "Traceback" not in ours.log_tail(1_000_000), ours.log_tail(8000)
    finally:
        del os.environ["KAFKA_LOG4J_LOGGERS"]


@pytest.fixture(autouse=True)
def _left_without_acls(brokers: tuple[BrokerProcess, BrokerProcess]) -> Iterator[None]:
    yield
    for broker in brokers:
        play = Play(broker.port, "s", CLIENT)
        play.do(DELETE, 3, filters=[FILTER])
        play.until(lambda play=play: is_known(play, 0), "no ACL is left")  # type: ignore[misc]
        play.close()


def compare(brokers: tuple[BrokerProcess, BrokerProcess], story: Callable[[Play], None]) -> None:
    def transcript(broker: BrokerProcess) -> list[tuple[str, Any]]:
        stage = Play(broker.port, "s", CLIENT)
        try:
            story(stage)
        finally:
            stage.close()
        return stage.transcript

    with ThreadPoolExecutor(2) as threads:
        theirs, mine = threads.map(transcript, brokers)
    assert not list(differences(theirs, mine))


def in_order(answer: Any) -> None:
    """Sort the ACLs, which Kafka lists in the order of hash tables."""
    for row in getattr(answer, "resources", ()):
        row.acls.sort(key=lambda acl: (acl.operation, acl.principal, acl.host, acl.permission_type))
    getattr(answer, "resources", []).sort(
        key=lambda row: (row.resource_type, row.resource_name, row.pattern_type)
    )
    for result in getattr(answer, "filter_results", ()):
        result.matching_acls.sort(
            key=lambda acl: (
                acl.resource_type,
                acl.resource_name,
                acl.pattern_type,
                acl.operation,
                acl.principal,
                acl.host,
                acl.permission_type,
            )
        )


def is_known(play: Play, count: int) -> bool:
    """Whether the broker shows so many ACLs: Kafka's shows a change a moment after it was made."""
    return sum(len(row.acls) for row in play.do(DESCRIBE, 3, **FILTER).resources) == count


def test_each_acl_is_judged_as_by_kafka(brokers: tuple[BrokerProcess, BrokerProcess]) -> None:
    def story(play: Play) -> None:
        for change in ODD_RULES:
            play.call(CREATE, 3, creations=[RULE, RULE | change])
        created = play.do(CREATE, 3, creations=[RULE | change for change in ODD_RULES])
        count = 1 + sum(not row.error_code for row in created.results)
        play.until(lambda: is_known(play, count), "the ACLs are shown")
        play.call(DESCRIBE, 3, trim=in_order, **FILTER)
        play.call(DELETE, 3, trim=in_order, filters=[FILTER])
        play.until(lambda: is_known(play, 0), "none is shown")

    compare(brokers, story)


@pytest.mark.parametrize(
    "version", [0, 1, pytest.param(2, marks=pytest.mark.thorough("versions 1 and 3")), 3]
)
def test_filters_match_what_they_match_in_kafka(
    brokers: tuple[BrokerProcess, BrokerProcess], version: int
) -> None:
    rules = [RULE, RULE, RULE | {"host": "10.0.0.1"}, RULE | {"resource_name": "u"}, RULE | {"operation": 2}]
    everything = dict(FILTER)
    if version:
        rules += [RULE | {"resource_pattern_type": 4}, RULE | {"resource_name": "*", "principal": "User:*"}]
        kinds: list[dict[str, object]] = [
            {"pattern_type_filter": kind, "resource_name_filter": name}
            for kind in (1, 2, 3, 4, 5, 99)
            for name in NAMED
        ]
    else:
        del everything["pattern_type_filter"]
        kinds = [{"resource_name_filter": name} for name in NAMED]
    filters = [everything | change for change in (*FILTERS, *kinds)]

    def story(play: Play) -> None:
        play.call(CREATE, version, creations=rules)
        play.until(lambda: is_known(play, len(rules) - 1), "the ACLs are shown")
        for asked in filters:
            play.call(DESCRIBE, version, trim=in_order, **asked)
        play.call(DELETE, version, trim=in_order, filters=filters[1:])
        play.call(DELETE, version, trim=in_order, filters=filters)
        play.call(DELETE, version, filters=[])
        play.until(lambda: is_known(play, 0), "none is shown")

    compare(brokers, story)


LINE = re.compile(r" (DEBUG|INFO) (Principal = .*) \(kafka\.authorizer\.logger\)$", re.MULTILINE)


def logged(broker: BrokerProcess) -> list[tuple[str, str]]:
    """Return the lines about the client, with their level; the broker counts a resource once.

    Kafka asks the authorizer in another order within one request, and its controller asks again.
    """
    lines = [
        (level, re.sub(r"resourceRefCount = \d+", "resourceRefCount = 1", line))
        for level, line in LINE.findall(broker.log_tail(10_000_000))
        if f"from host = {CLIENT} " in line
    ]
    return sorted(set(lines))


def test_the_log_has_the_lines_of_kafka(brokers: tuple[BrokerProcess, BrokerProcess]) -> None:
    wish = {"name": "s-made", "num_partitions": 1, "replication_factor": 1}
    mine = {"host": CLIENT, "principal": "User:*"}
    rules = [
        RULE | mine | {"resource_name": "s-read", "operation": 3},
        RULE
        | mine
        | {"resource_name": "s-", "resource_pattern_type": 4, "operation": 4, "permission_type": 2},
        RULE | mine | {"resource_type": 3, "resource_name": "*", "operation": 3},
        RULE | mine | {"resource_type": 4, "resource_name": "kafka-cluster", "operation": 8},
    ]
    maker = [
        RULE | {"principal": "User:ANONYMOUS", "host": "127.0.0.1", "operation": 2} | resource
        for resource in ({}, {"resource_type": 3}, {"resource_type": 4, "resource_name": "kafka-cluster"})
    ]
    for rule in maker[:2]:
        rule["resource_name"] = "*"

    def story(play: Play) -> None:
        for topic in ("read", "other"):
            play.topic(topic)
        play.do(CREATE, 3, creations=[*maker, *rules])
        topics = [{"name": name} for name in ("s-read", "s-other", "t-none")]

        def is_denied() -> bool:
            asked = {"topics": topics[1:2], "allow_auto_topic_creation": False}
            return bool(play.do(ApiKey.METADATA, 9, on="main", **asked).topics[0].error_code)

        play.until(is_denied, "the ACLs are in force")
        operations = {
            "include_topic_authorized_operations": True,
            "include_cluster_authorized_operations": True,
        }
        play.do(ApiKey.METADATA, 9, on="main", topics=topics, allow_auto_topic_creation=False, **operations)
        play.do(ApiKey.METADATA, 9, on="main", topics=None)
        rows = [{"partition_index": 0, "timestamp": -1}]
        play.do(ApiKey.LIST_OFFSETS, 5, on="main", topics=[each | {"partitions": rows} for each in topics])
        play.do(ApiKey.OFFSET_FETCH, 7, on="main", group_id="g", topics=None)
        play.do(ApiKey.LIST_GROUPS, 3, on="main")
        play.do(ApiKey.DESCRIBE_GROUPS, 3, on="main", groups=["g"], include_authorized_operations=True)
        play.do(ApiKey.DELETE_GROUPS, 2, on="main", groups_names=["g"])
        play.do(ApiKey.INIT_PRODUCER_ID, 1, on="main", transactional_id=None, transaction_timeout_ms=1)
        play.do(ApiKey.INIT_PRODUCER_ID, 1, on="main", transactional_id="x", transaction_timeout_ms=1)
        play.do(ApiKey.CREATE_TOPICS, 4, on="main", topics=[wish], timeout_ms=1000)
        play.do(ApiKey.DELETE_TOPICS, 4, on="main", topic_names=["s-read"], timeout_ms=1000)
        play.do(ApiKey.DESCRIBE_ACLS, 3, on="main", **FILTER)
        play.do(ApiKey.CREATE_ACLS, 3, on="main", creations=[RULE])

    compare(brokers, story)
    theirs, ours = map(logged, brokers)
    assert len(theirs) > 16
    assert ours == theirs


SHORT = """
acls --add --allow-principal User:ANONYMOUS --operation All --cluster
acls --add --allow-principal User:alice --operation Read --operation Write --topic orders
acls --add --allow-principal User:b --allow-host x --operation All --topic o --resource-pattern-type PREFIXED
acls --add --deny-principal User:eve --deny-host 10.0.0.2 --operation Describe --group *
acls --add --allow-principal User:p --producer --topic orders --transactional-id tx --idempotent
acls --add --allow-principal User:c --consumer --topic orders --group readers
acls --list --topic orders --resource-pattern-type match
acls --remove --allow-principal User:alice --operation Read --topic orders --force
acls --remove --topic orders --resource-pattern-type match --force
acls --list
"""
LONG = """
acls --list
acls --add --allow-principal User:ANONYMOUS --operation All --cluster
acls --add --allow-principal User:p --producer --topic orders
acls --add --allow-principal User:admin --operation Alter --cluster
acls --add --allow-principal User:owner --operation CreateTokens --user-principal User:alice
acls --add --allow-principal User:owner --operation Describe --delegation-token abc
acls --add --allow-principal alice --operation Read --topic orders
acls --add --allow-principal User:x --operation Read --topic orders --resource-pattern-type match
acls --list
acls --list --topic orders
acls --list --topic orders --resource-pattern-type any --principal User:alice
acls --list --group *
acls --remove --group * --force
acls --remove --allow-principal User:nobody --operation Read --topic none --force
acls --remove --transactional-id tx --force
acls --remove --user-principal User:alice --force
acls --remove --delegation-token abc --force
acls --remove --group readers --force
acls --list
acls --remove --cluster --force
acls --list
"""


@pytest.fixture(
    scope="module",
    params=[VERSIONS[0], pytest.param(VERSIONS[1], marks=pytest.mark.thorough("kafka-acls of 3.9.2"))],
)
def benches(
    request: pytest.FixtureRequest,
    brokers: tuple[BrokerProcess, BrokerProcess],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Benches]:
    """The tools beside both brokers."""
    kafka, ours = ({1: broker} for broker in brokers)
    place = tmp_path_factory.mktemp(f"tools-{request.param}")
    with side_by_side(request.param, ours, kafka, {}, place) as both:
        yield both


@pytest.mark.parametrize(
    "script",
    [SHORT, pytest.param(LONG, marks=pytest.mark.thorough("the short script"))],
    ids=("short", "long"),
)
def test_the_tool_prints_what_it_prints_with_kafka(benches: Benches, script: str) -> None:
    benches.compare(script)
