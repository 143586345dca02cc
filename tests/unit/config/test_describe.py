"""Entries as a Kafka 3.9.2 gave them for the same settings."""

from __future__ import annotations

import pytest

from kcompat.config.broker import BrokerConfig
from kcompat.config.describe import DescribedConfig, describe_broker, describe_cluster_default, describe_topic
from kcompat.config.rows import kafka_4_3
from kcompat.config.table import BROKER_KEYS
from kcompat.config.types import ConfigType
from kcompat.protocol.constants import ConfigSource

STATIC = {"broker.id": "1", "log.retention.hours": "100", "num.partitions": "3", "foo.bar": "baz"}


def plain(entry: DescribedConfig) -> tuple[object, ...]:
    synonyms = [(synonym.name, synonym.value, int(synonym.source)) for synonym in entry.synonyms]
    return (entry.value, int(entry.source), entry.read_only, entry.sensitive, synonyms, int(entry.type))


def topic(config: BrokerConfig, name: str, **overrides: str) -> tuple[object, ...]:
    values = {key.replace("_", "."): value for key, value in overrides.items()}
    (entry,) = describe_topic(config, values, {name})
    return plain(entry)


def broker(config: BrokerConfig, name: str) -> tuple[object, ...]:
    (entry,) = describe_broker(config, {name})
    return plain(entry)


def test_an_override_of_a_topic_stands_before_its_broker_key() -> None:
    config = BrokerConfig(STATIC)
    assert topic(config, "segment.bytes", segment_bytes="2000") == (
        "2000", 1, False, False, [("segment.bytes", "2000", 1), ("log.segment.bytes", "1073741824", 5)], 3
    )  # fmt: skip
    assert topic(config, "cleanup.policy", cleanup_policy="compact, delete") == (
        "compact,delete", 1, False, False,
        [("cleanup.policy", "compact,delete", 1), ("log.cleanup.policy", "delete", 5)], 7
    )  # fmt: skip
    assert topic(config, "segment.bytes") == (
        "1073741824", 5, False, False, [("log.segment.bytes", "1073741824", 5)], 3
    )  # fmt: skip


def test_other_configurations_describe_a_topic_otherwise() -> None:
    before = BrokerConfig(STATIC)
    after = before.with_dynamic({"log.segment.bytes": "3000"}, {})
    shown = [topic(config, "segment.bytes")[0] for config in (before, after, before)]
    assert shown == ["1073741824", "3000", "1073741824"]
    assert topic(before, "segment.bytes", segment_bytes="5")[0] == "5"
    assert topic(before, "segment.bytes")[0] == "1073741824"


def test_hours_alone_are_no_synonym_of_a_topics_milliseconds() -> None:
    assert topic(BrokerConfig(STATIC), "retention.ms") == ("360000000", 5, False, False, [], 5)
    assert topic(BrokerConfig(STATIC), "flush.ms") == ("9223372036854775807", 5, False, False, [], 5)


def test_a_dynamic_value_brings_every_weaker_synonym() -> None:
    config = BrokerConfig(
        STATIC, dynamic={"log.retention.ms": "600000"}, dynamic_default={"log.retention.ms": "7"}
    )
    expected = [("log.retention.ms", "600000", 2), ("log.retention.ms", "7", 3),
                ("log.retention.hours", "100", 4), ("log.retention.hours", "168", 5)]  # fmt: skip
    assert topic(config, "retention.ms") == ("600000", 2, False, False, expected, 5)
    assert broker(config, "log.retention.ms") == ("600000", 2, False, False, expected, 5)
    assert broker(config, "log.retention.hours") == (
        "168", 4, True, False, [("log.retention.hours", "100", 4), ("log.retention.hours", "168", 5)], 3
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("log.retention.hours",
         ("100", 4, True, False, [("log.retention.hours", "100", 4), ("log.retention.hours", "168", 5)], 3)),
        ("log.retention.ms", (None, 5, False, False, [], 5)),
        ("node.id", ("1", 4, True, False, [("node.id", "1", 4), ("node.id", "-1", 5)], 3)),
        ("foo.bar", (None, 4, True, True, [("foo.bar", None, 4)], 0)),
        ("ssl.key.password", (None, 5, False, True, [], 9)),
        ("log.cleaner.io.max.bytes.per.second",
         ("1.7976931348623157E308", 5, False, False,
          [("log.cleaner.io.max.bytes.per.second", "1.7976931348623157E308", 5)], 6)),
    ],
)  # fmt: skip
def test_broker_entries(name: str, expected: tuple[object, ...]) -> None:
    assert broker(BrokerConfig(STATIC), name) == expected


def test_keys_kafka_does_not_list_as_dynamic_are_read_only_even_when_set_so() -> None:
    config = BrokerConfig(
        STATIC,
        dynamic={
            "leader.replication.throttled.rate": "100",
            "listener.name.out.ssl.keystore.location": "/x",
            "listener.name.out.plain.sasl.jaas.config": "secret",
        },
    )
    assert broker(config, "leader.replication.throttled.rate") == (
        "100", 2, True, False, [("leader.replication.throttled.rate", "100", 2)], 5
    )  # fmt: skip
    assert broker(config, "listener.name.out.ssl.keystore.location") == (
        "/x", 2, True, False, [("listener.name.out.ssl.keystore.location", "/x", 2)], 2
    )  # fmt: skip
    assert broker(config, "listener.name.out.plain.sasl.jaas.config")[0] is None


def test_a_broker_shows_what_is_not_internal_and_what_was_given() -> None:
    config = BrokerConfig({**STATIC, "log.initial.task.delay.ms": "5"})
    names = {entry.name for entry in describe_broker(config)}
    visible = {name for name, key in BROKER_KEYS.items() if not key.internal}
    assert names == visible | {"foo.bar", "log.initial.task.delay.ms"}
    newer = {key.name for key in kafka_4_3.ROWS}
    assert len([entry for entry in describe_broker(BrokerConfig()) if entry.name not in newer]) == 315


def test_the_cluster_default_shows_what_is_set_there_alone() -> None:
    config = BrokerConfig(
        STATIC, dynamic={"log.retention.ms": "1"}, dynamic_default={"log.retention.ms": "7", "foo.baz": "x"}
    )
    unknown, retention = describe_cluster_default(config)
    assert plain(unknown) == (None, 3, True, True, [("foo.baz", None, 3)], 0)
    assert plain(retention) == ("7", 3, False, False, [("log.retention.ms", "7", 3)], 5)
    assert describe_cluster_default(config, {"num.partitions"}) == []


def test_a_value_that_another_broker_stored_is_shown_as_it_is() -> None:
    assert topic(BrokerConfig(), "segment.bytes", segment_bytes="1")[0] == "1"


def test_numbers_of_the_protocol() -> None:
    assert [int(source) for source in ConfigSource] == list(range(9))
    assert [int(kind) for kind in ConfigType] == list(range(10))
