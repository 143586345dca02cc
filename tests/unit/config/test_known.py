from __future__ import annotations

import json
from pathlib import Path

import pytest

from kcompat import Broker, Cluster
from kcompat.config.known import NEWER_KEYS, insist_on_known, is_known, meant_key
from kcompat.config.table import BROKER_KEYS, TOPIC_KEYS, broker_key
from kcompat.errors import ConfigError

NEWER = json.loads(Path(__file__).with_name("kafka_4_3_0.json").read_text())
"""The names of the keys of a Kafka 4.3.0: `AbstractKafkaConfig.CONFIG_DEF` and `LogConfig`."""


@pytest.mark.parametrize("name", [*BROKER_KEYS, *NEWER["broker"]])
def test_every_key_of_kafka_is_known(name: str) -> None:
    assert is_known(name)


def test_keys_that_are_only_known_are_those_of_a_newer_kafka_without_a_row() -> None:
    assert NEWER_KEYS.issubset(NEWER["broker"])
    assert not any(broker_key(name) for name in NEWER_KEYS)


@pytest.mark.parametrize(
    "name",
    [
        "listener.name.internal.ssl.keystore.location",
        "listener.name.internal.my.own.thing",
        "confluent.metrics.reporter.bootstrap.servers",
        "cruise.control.metrics.reporter.bootstrap.servers",
        "config.providers.env.class",
        "allow.everyone.if.no.acl.found",
        "metrics.jmx.exclude",
        "rlmm.config.remote.log.metadata.topic.num.partitions",
        "leader.replication.throttled.rate",
    ],
)
def test_keys_of_plugins_are_known(name: str) -> None:
    insist_on_known([name])


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("num.partitons", "num.partitions"),
        ("Num.Partitions", "num.partitions"),
        ("num_partitions", "num.partitions"),
        ("log.retention.hour", "log.retention.hours"),
        ("auto.create.topic.enable", "auto.create.topics.enable"),
        ("message.max.byte", "message.max.bytes"),
        ("advertised.listener", "advertised.listeners"),
        *((name, key) for name, key in (
            ("retention.ms", "log.retention.ms"),
            ("cleanup.policy", "log.cleanup.policy"),
            ("max.message.bytes", "message.max.bytes"),
        )),
        ("foo.bar", None),
        ("bootstrap.servers", None),
        ("host.name", None),
    ],
)  # fmt: skip
def test_what_a_misspelt_key_stands_for(name: str, meant: str | None) -> None:
    assert not is_known(name)
    assert meant_key(name) == meant


def test_every_topic_key_stands_for_a_broker_key_that_there_is() -> None:
    assert {meant_key(name) for name in TOPIC_KEYS} <= {None, *BROKER_KEYS}


@pytest.mark.parametrize("kind", [Broker, Cluster])
@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "num.partitons",
            r"^num\.partitons is not a key of Kafka's brokers: did you mean num\.partitions\?$",
        ),
        ("foo.bar", r"^foo\.bar is not a key of Kafka's brokers: `kcompat config` lists them$"),
    ],
)
def test_a_broker_with_a_misspelt_key_is_refused(kind: type[Broker], name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        kind(config={name: 4})
