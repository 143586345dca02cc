"""The handler of DescribeConfigs."""

from __future__ import annotations

import pytest

from kcompat.config.rows import kafka_4_3
from kcompat.protocol.errors import ErrorCode
from kcompat.security.authorizer import CLUSTER, Resource
from kcompat.security.operations import Operation
from support.asking import Denying
from support.config_handlers import BROKER, CLIENT_METRICS, GROUP, LOGGER, SET, TOPIC, ConfigFixture


@pytest.fixture
def fixture() -> ConfigFixture:
    return ConfigFixture()


def test_what_is_set_is_described(fixture: ConfigFixture) -> None:
    assert fixture.increment((TOPIC, "t1", [("retention.ms", SET, "5")])) == [(0, None, TOPIC, "t1")]
    assert fixture.increment((BROKER, "", [("message.max.bytes", SET, "77")])) == [(0, None, BROKER, "")]
    assert fixture.increment((BROKER, "1", [("log.segment.bytes", SET, "99")])) == [(0, None, BROKER, "1")]
    assert fixture.stored == {
        ("topics", "t1"): {"retention.ms": "5"},
        ("brokers", "<default>"): {"message.max.bytes": "77"},
        ("brokers", "1"): {"log.segment.bytes": "99"},
    }
    (result,) = fixture.describe(
        (TOPIC, "t1", ["retention.ms", "max.message.bytes", "segment.bytes", "nonsense"])
    )
    assert [(row.name, row.value, row.config_source, row.config_type) for row in result.configs] == [
        ("max.message.bytes", "77", 3, 3),
        ("retention.ms", "5", 1, 5),
        ("segment.bytes", "99", 2, 3),
    ]


def test_configs_of_a_topic_of_other_brokers_are_read_once(fixture: ConfigFixture) -> None:
    fixture.configs.unread = {("topics", "t1"): {"retention.ms": "5"}, ("topics", "t2"): {}}
    for _ in range(2):
        results = fixture.describe(*((TOPIC, name, ["retention.ms"]) for name in ("t1", "t2", "absent")))
        assert [row.value for result in results for row in result.configs] == ["5", "604800000"]
    assert sorted(fixture.configs.refreshed) == [("topics", "t1"), ("topics", "t2")]


def test_synonyms_and_documentation_come_when_asked_for(fixture: ConfigFixture) -> None:
    (silent,) = fixture.describe((TOPIC, "t1", ["segment.bytes"]))
    assert (silent.configs[0].synonyms, silent.configs[0].documentation) == ([], None)
    (full,) = fixture.describe(
        (TOPIC, "t1", ["segment.bytes"]), include_synonyms=True, include_documentation=True
    )
    synonym = full.configs[0].synonyms[0]
    assert (synonym.name, synonym.value, synonym.source) == ("log.segment.bytes", "1073741824", 5)
    assert full.configs[0].documentation == "Largest size of a segment file."


@pytest.mark.parametrize("version", range(5))
def test_every_version_is_answered(fixture: ConfigFixture, version: int) -> None:
    fixture.replace((TOPIC, "t1", {"retention.ms": "5"}))
    topic, broker = fixture.describe((TOPIC, "t1", None), (BROKER, "1", []), version=version)
    assert len(topic.configs) == 36
    newer = {key.name for key in kafka_4_3.ROWS}
    assert len([row for row in broker.configs if row.name not in newer]) == 316
    defaults = {row.name for row in topic.configs if row.is_default}
    assert len(defaults) == (35 if version == 0 else 0)
    assert "retention.ms" not in defaults


@pytest.mark.parametrize(
    ("kind", "name", "error", "message"),
    [
        (TOPIC, "nope", 3, ""),
        (TOPIC, "", 17, "Topic name is invalid: the empty string is not allowed"),
        (BROKER, "2", 42, "Unexpected broker id, expected 1 or empty string, but received 2"),
        (BROKER, "x", 42, "Broker id must be an integer, but it is: x"),
        (BROKER, "1 ", 42, "Broker id must be an integer, but it is: 1 "),
        (BROKER, "1_0", 42, "Broker id must be an integer, but it is: 1_0"),
        (BROKER, "4294967297", 42, "Broker id must be an integer, but it is: 4294967297"),
        (BROKER, "٢", 42, "Unexpected broker id, expected 1 or empty string, but received 2"),
        (LOGGER, "", 42, "Broker id must not be empty"),
        (LOGGER, "2", 42, "Unexpected broker id, expected 1 but received 2"),
        (LOGGER, "x", 42, "Broker id must be an integer, but it is: x"),
        (LOGGER, "\u00a01", 42, "Broker id must be an integer, but it is: \u00a01"),
        (CLIENT_METRICS, "", 42, "Client metrics subscription name must not be empty"),
        (CLIENT_METRICS, "s", 0, ""),
        (GROUP, "", 42, "Group name must not be empty"),
        (0, "x", 42, ErrorCode.INVALID_REQUEST.message),
        (BROKER, "", 0, ""),
    ],
)
def test_resources_that_have_nothing_to_show(
    fixture: ConfigFixture, kind: int, name: str, error: int, message: str
) -> None:
    (result,) = fixture.describe((kind, name, None))
    assert (result.error_code, result.error_message, result.configs) == (error, message, [])
    assert (result.resource_type, result.resource_name) == (kind, name)


def test_a_group_shows_what_it_sets_itself_and_what_the_broker_gives(fixture: ConfigFixture) -> None:
    fixture.store("groups", "g", {"consumer.session.timeout.ms": "50000"})
    (result,) = fixture.describe((GROUP, "g", None), include_synonyms=True)
    assert [
        (row.name, row.value, row.config_source, [(s.name, s.value, s.source) for s in row.synonyms])
        for row in result.configs
        if row.name.startswith("consumer.")
    ] == [
        ("consumer.heartbeat.interval.ms", "5000", 5, [("group.consumer.heartbeat.interval.ms", "5000", 5)]),
        (
            "consumer.session.timeout.ms",
            "50000",
            8,
            [
                ("consumer.session.timeout.ms", "50000", 8),
                ("group.consumer.session.timeout.ms", "45000", 5),
            ],
        ),
        ("consumer.assignment.interval.ms", "0", 5, [("consumer.assignment.interval.ms", "0", 5)]),
    ]
    (one,) = fixture.describe((GROUP, "never", ["consumer.session.timeout.ms"]))
    assert [(row.name, row.value, row.read_only) for row in one.configs] == [
        ("consumer.session.timeout.ms", "45000", False)
    ]


def test_needs_to_describe_the_configs_of_the_group(fixture: ConfigFixture) -> None:
    fixture.services.server.authorizer = Denying((Operation.DESCRIBE_CONFIGS, Resource.group("g")))
    denied, shown = fixture.describe((GROUP, "g", None), (GROUP, "other", None))
    assert (denied.error_code, denied.error_message, denied.configs) == (
        30,
        ErrorCode.GROUP_AUTHORIZATION_FAILED.message,
        [],
    )
    assert shown.error_code == 0


def test_a_resource_may_repeat_but_not_without_end(fixture: ConfigFixture) -> None:
    results = fixture.describe(*[(TOPIC, "t1", ["retention.ms"])] * 1000)
    assert [result.error_code for result in results[:101]] == [0] * 101
    assert {result.error_code for result in results[101:]} == {42}


def test_needs_to_describe_the_configs_of_the_topic_or_the_cluster(fixture: ConfigFixture) -> None:
    fixture.services.server.authorizer = Denying(
        *(
            (Operation.DESCRIBE_CONFIGS, resource)
            for resource in (CLUSTER, Resource.topic("t1"), Resource.topic("none"))
        )
    )
    asked: list[tuple[int, str, list[str] | None]] = [
        (TOPIC, "t1", None),
        (TOPIC, "none", None),
        (TOPIC, "t2", []),
        (BROKER, "1", None),
        (77, "x", None),
    ]
    assert [row.error_code for row in fixture.describe(*asked)] == [29, 29, 0, 31, 42]


def test_settings_of_share_groups(fixture: ConfigFixture) -> None:
    fixture.store("groups", "g", {"share.auto.offset.reset": "earliest"})
    (result,) = fixture.describe((GROUP, "g", None))
    shown = {row.name.removeprefix("share."): row.value for row in result.configs if "share." in row.name}
    assert shown == {
        "heartbeat.interval.ms": "5000",
        "session.timeout.ms": "45000",
        "record.lock.duration.ms": "30000",
        "delivery.count.limit": "5",
        "partition.max.record.locks": "200",
        "assignment.interval.ms": "1000",
        "auto.offset.reset": "earliest",
        "isolation.level": "read_uncommitted",
        "renew.acknowledge.enable": "true",
    }
