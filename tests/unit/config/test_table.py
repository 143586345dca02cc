"""The table against what a running Kafka 3.9.2 says of its own keys."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kcompat.config.attributes import BrokerKeys
from kcompat.config.broker import BrokerConfig
from kcompat.config.keys import Effect
from kcompat.config.rows import kafka_4_3
from kcompat.config.table import (
    BROKER_KEYS,
    DYNAMIC_ONLY_KEYS,
    SECTIONS,
    TOPIC_CONFIG_SYNONYMS,
    TOPIC_KEYS,
    broker_key,
    broker_synonyms,
)
from kcompat.config.topic import TopicConfig, topic_config
from kcompat.config.types import ConfigType, format_value

KAFKA = json.loads(Path(__file__).with_name("kafka_3_9_2.json").read_text())
"""Taken from a running broker: keys with type, default, importance, scope, internal; and bounds."""

OTHER_DEFAULTS = {
    "group.consumer.migration.policy": "bidirectional",
    "group.coordinator.rebalance.protocols": "classic,consumer,streams",
    "group.initial.rebalance.delay.ms": "0",
}


def test_the_broker_keys_are_those_of_kafka() -> None:
    newer = {key.name for key in kafka_4_3.ROWS}
    assert [row[0] for row in KAFKA["broker"]] == [name for name in BROKER_KEYS if name not in newer]


def test_the_topic_keys_are_those_of_kafka() -> None:
    assert [row[0] for row in KAFKA["topic"]] == list(TOPIC_KEYS)


@pytest.mark.parametrize("row", KAFKA["broker"], ids=lambda row: row[0])
def test_a_broker_key_is_what_kafka_says(row: list[object]) -> None:
    name, kind, default, importance, scope, internal = row
    key = BROKER_KEYS[str(name)]
    assert (key.type.name, key.importance.name, key.scope.name, key.internal) == (
        kind,
        importance,
        scope,
        internal,
    )
    assert key.default == OTHER_DEFAULTS.get(key.name, default)


@pytest.mark.parametrize("row", KAFKA["topic"], ids=lambda row: row[0])
def test_a_topic_key_is_what_kafka_says(row: list[object]) -> None:
    name, kind, default, importance = row
    key = TOPIC_KEYS[str(name)]
    assert [key.type.name, key.default, key.importance.name] == [kind, default, importance]


@pytest.mark.parametrize(("name", "bounds"), KAFKA["bounds"].items())
def test_bounds_are_those_of_kafka(name: str, bounds: list[float | None]) -> None:
    table, _, key_name = name.partition(":")
    key = {"broker": BROKER_KEYS, "topic": TOPIC_KEYS}[table][key_name]
    low, high = bounds
    assert low is not None
    step = 0.5 if key.type is ConfigType.DOUBLE else 1
    for inside in (low, low if high is None else high):
        assert key.parse(f"{inside:.15g}") == inside
    for outside in (low - step, None if high is None else high + step):
        if outside is not None:
            with pytest.raises(Exception, match="Value must be"):
                key.parse(f"{outside:.15g}")


@pytest.mark.parametrize("key", [*BROKER_KEYS.values(), *TOPIC_KEYS.values()], ids=lambda key: key.name)
def test_defaults_are_canonical_and_allowed(key: object) -> None:
    assert format_value(key.default_value) == key.default  # type: ignore[attr-defined]
    if key.default:  # type: ignore[attr-defined]
        assert key.parse(key.default) == key.default_value  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "key",
    [*BROKER_KEYS.values(), *TOPIC_KEYS.values(), *DYNAMIC_ONLY_KEYS.values()],
    ids=lambda key: key.name,
)
def test_every_key_has_a_sentence_and_every_lack_of_effect_a_reason(key: object) -> None:
    assert key.doc.endswith(".")  # type: ignore[attr-defined]
    assert (key.effect is Effect.YES) == (key.reason == "")  # type: ignore[attr-defined]


def test_no_key_stands_in_two_sections() -> None:
    names = [key.name for _, rows in SECTIONS for key in rows]
    assert len(names) == len(set(names))


def test_topic_keys_take_their_defaults_from_keys_of_the_same_type() -> None:
    for name, synonyms in TOPIC_CONFIG_SYNONYMS.items():
        for synonym in synonyms:
            kinds = {BROKER_KEYS[synonym.name].type, TOPIC_KEYS[name].type}
            assert len(kinds) == 1 or kinds == {ConfigType.LONG, ConfigType.INT}, name


def test_the_topic_snapshot_has_a_field_of_the_right_type_for_each_key() -> None:
    config = topic_config(BrokerConfig(), {})
    assert {name.replace(".", "_") for name in TOPIC_KEYS} == set(TopicConfig.__struct_fields__)
    python = {"BOOLEAN": bool, "INT": int, "LONG": int, "DOUBLE": float, "STRING": str, "LIST": list}
    for name, key in TOPIC_KEYS.items():
        assert type(getattr(config, name.replace(".", "_"))) is python[key.type.name], name


def test_every_attribute_of_the_broker_snapshot_reads_the_key_it_is_named_for() -> None:
    config = BrokerConfig()
    keys = {name: value.name for name, value in vars(BrokerKeys).items() if type(value).__name__ == "_Key"}
    assert len(keys) > 25
    for attribute, name in keys.items():
        assert name.replace(".", "_") == attribute
        assert getattr(config, attribute) == BROKER_KEYS[name].default_value
        expected = bool if BROKER_KEYS[name].type is ConfigType.BOOLEAN else int
        assert type(getattr(config, attribute)) is expected, attribute


@pytest.mark.parametrize(
    ("name", "synonyms"),
    [
        ("num.partitions", ("num.partitions",)),
        ("log.retention.ms", ("log.retention.ms", "log.retention.minutes", "log.retention.hours")),
        ("log.retention.hours", ("log.retention.ms", "log.retention.minutes", "log.retention.hours")),
        ("log.roll.ms", ("log.roll.ms", "log.roll.hours")),
        ("log.roll.jitter.hours", ("log.roll.jitter.ms", "log.roll.jitter.hours")),
        ("log.flush.interval.ms", ("log.flush.interval.ms", "log.flush.scheduler.interval.ms")),
        ("log.flush.scheduler.interval.ms", ("log.flush.scheduler.interval.ms",)),
        ("listener.name.out.ssl.key.password", ("listener.name.out.ssl.key.password", "ssl.key.password")),
        ("listener.name.out.plain.sasl.jaas.config",
         ("listener.name.out.plain.sasl.jaas.config", "sasl.jaas.config")),
    ],
)  # fmt: skip
def test_synonyms(name: str, synonyms: tuple[str, ...]) -> None:
    assert broker_synonyms(name) == synonyms


def test_a_listener_prefix_keeps_the_type_of_its_key() -> None:
    key = broker_key("listener.name.out.plain.sasl.jaas.config")
    assert key is not None
    assert key.type is ConfigType.PASSWORD
    assert broker_key("listener.name.out.nonsense") is None
    assert broker_key("nonsense") is None
