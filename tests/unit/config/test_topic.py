from __future__ import annotations

import pytest

from kcompat.config.broker import BrokerConfig
from kcompat.config.errors import ConfigError
from kcompat.config.topic import check_new_topic, check_topic_overrides, topic_config, topic_default


@pytest.mark.parametrize(
    ("static", "name", "value"),
    [
        ({}, "retention.ms", 604_800_000),
        ({"log.retention.hours": "100"}, "retention.ms", 360_000_000),
        ({"log.retention.hours": "100", "log.retention.minutes": "5"}, "retention.ms", 300_000),
        ({"log.retention.minutes": "5", "log.retention.ms": "7"}, "retention.ms", 7),
        ({"log.retention.hours": "-1"}, "retention.ms", -1),
        ({"log.retention.ms": "-2"}, "retention.ms", -1),
        ({"log.roll.hours": "2"}, "segment.ms", 7_200_000),
        ({"log.roll.hours": "2", "log.roll.ms": "9"}, "segment.ms", 9),
        ({"log.roll.jitter.hours": "1"}, "segment.jitter.ms", 3_600_000),
        ({}, "flush.ms", 2**63 - 1),
        ({"log.flush.scheduler.interval.ms": "5"}, "flush.ms", 5),
        ({"log.flush.interval.ms": "3"}, "flush.ms", 3),
        ({"message.max.bytes": "77"}, "max.message.bytes", 77),
        ({}, "remote.storage.enable", False),
    ],
)
def test_what_a_topic_takes_from_its_broker(static: dict[str, str], name: str, value: object) -> None:
    assert topic_default(BrokerConfig(static), name) == value


def test_overrides_count_before_the_broker() -> None:
    config = topic_config(
        BrokerConfig(dynamic_default={"log.segment.bytes": "100"}),
        {"retention.ms": " 5 ", "cleanup.policy": "compact, delete", "of.a.newer.kafka": "x"},
    )
    assert (config.retention_ms, config.segment_bytes) == (5, 100)
    assert config.cleanup_policy == ["compact", "delete"]


def test_the_older_timestamp_bound_counts_where_the_newer_ones_are_unset() -> None:
    broker = BrokerConfig({"log.message.timestamp.difference.max.ms": "10"})
    config = topic_config(broker, {"message.timestamp.after.max.ms": "3"})
    assert config.message_timestamp_before_max_ms == 10
    assert config.message_timestamp_after_max_ms == 3


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"foo": "1"}, "Unknown topic config name: foo"),
        ({"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"},
         "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)"),
        ({"remote.storage.enable": "true"},
         "Tiered Storage functionality is disabled in the broker. Topic cannot be "
         "configured with remote log storage."),
    ],
)  # fmt: skip
def test_overrides_that_are_refused(overrides: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_topic_overrides(overrides, BrokerConfig())
    assert str(caught.value) == message


def test_a_new_topic() -> None:
    assert check_new_topic({"retention.ms": "5"}, BrokerConfig()) == {"retention.ms": "5"}
    with pytest.raises(ConfigError, match=r"^Null value not supported for topic configs: retention.ms$"):
        check_new_topic({"retention.ms": None}, BrokerConfig())
