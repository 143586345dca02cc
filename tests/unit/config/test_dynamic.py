"""Alterations as they were played to a Kafka 3.9.2 (KRaft); codes and words are its answers."""

from __future__ import annotations

import pytest

from kcompat.config.broker import BrokerConfig
from kcompat.config.dynamic import (
    Alteration,
    ConfigChange,
    change_broker,
    change_group,
    change_topic,
    replace_all,
)
from kcompat.protocol.errors import ErrorCode

SET, DELETE, APPEND, SUBTRACT = range(4)
STATIC = BrokerConfig({"broker.id": "1"})
THROTTLED = "leader.replication.throttled.replicas"


def topic(
    current: dict[str, str], *alterations: tuple[str, int, str | None], name: str = "t1"
) -> ConfigChange:
    return change_topic(STATIC, name, current, [Alteration(*alteration) for alteration in alterations])


def broker(
    *alterations: tuple[str, int, str | None], current: dict[str, str] | None = None, default: bool = False
) -> ConfigChange:
    return change_broker(
        STATIC,
        current or {},
        [Alteration(*alteration) for alteration in alterations],
        cluster_default=default,
    )


@pytest.mark.parametrize(
    ("current", "alterations", "stored"),
    [
        ({}, [("retention.ms", SET, "5000")], {"retention.ms": "5000"}),
        ({"segment.bytes": "20"}, [("retention.ms", SET, " 5 ")],
         {"segment.bytes": "20", "retention.ms": " 5 "}),
        ({"retention.ms": "5"}, [("retention.ms", DELETE, None)], {}),
        ({}, [("retention.ms", DELETE, None)], {}),
        ({}, [("no.such.key", DELETE, None)], {}),
        ({}, [("cleanup.policy", APPEND, "compact")], {"cleanup.policy": "delete,compact"}),
        ({"cleanup.policy": "delete,compact"}, [("cleanup.policy", APPEND, "compact")],
         {"cleanup.policy": "delete,compact"}),
        ({"cleanup.policy": "compact"}, [("cleanup.policy", APPEND, "compact,delete")],
         {"cleanup.policy": "compact,delete"}),
        ({"cleanup.policy": "delete, compact"}, [("cleanup.policy", SUBTRACT, "delete")],
         {"cleanup.policy": "compact"}),
        ({"cleanup.policy": "compact"}, [("cleanup.policy", SUBTRACT, "delete")],
         {"cleanup.policy": "compact"}),
        ({}, [("cleanup.policy", SUBTRACT, "delete")], {"cleanup.policy": ""}),
        ({}, [("cleanup.policy", SET, "")], {"cleanup.policy": ""}),
        ({THROTTLED: "0:1"}, [(THROTTLED, APPEND, "0:2")], {THROTTLED: "0:1,0:2"}),
        ({}, [(THROTTLED, SET, "*")], {THROTTLED: "*"}),
        ({}, [("preallocate", SET, "TRUE")], {"preallocate": "TRUE"}),
        ({}, [("retention.ms", SET, "\uff11\u0661")], {"retention.ms": "\uff11\u0661"}),
        ({}, [("min.cleanable.dirty.ratio", SET, "0x1p-1")], {"min.cleanable.dirty.ratio": "0x1p-1"}),
        ({"cleanup.policy": "delete"}, [("cleanup.policy", APPEND, " compact\v,delete ")],
         {"cleanup.policy": "delete,compact"}),
        ({}, [("message.format.version", SET, "0.10.0")], {"message.format.version": "0.10.0"}),
        ({"retention.ms": "5"}, [], {"retention.ms": "5"}),
    ],
)  # fmt: skip
def test_topics(
    current: dict[str, str], alterations: list[tuple[str, int, str | None]], stored: object
) -> None:
    assert topic(current, *alterations) == ConfigChange(configs=stored)  # type: ignore[arg-type]


INVALID = "Invalid value {} for configuration {}: {}"
NAME_RULE = "contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"


@pytest.mark.parametrize(
    ("alterations", "message"),
    [
        ([("foo", SET, "1")], "Unknown topic config name: foo"),
        ([("retention.ms", SET, "abc")], INVALID.format("abc", "retention.ms", "Not a number of type LONG")),
        ([("retention.ms", SET, "-2")], INVALID.format("-2", "retention.ms", "Value must be at least -1")),
        ([("retention.ms", SET, "1000\u00a0")],
         INVALID.format("1000\u00a0", "retention.ms", "Not a number of type LONG")),
        ([("segment.bytes", SET, "1")], INVALID.format("1", "segment.bytes", "Value must be at least 14")),
        ([("segment.bytes", SET, "99999999999")],
         INVALID.format("99999999999", "segment.bytes", "Not a number of type INT")),
        ([("cleanup.policy", SET, "foo")],
         INVALID.format("foo", "cleanup.policy", "String must be one of: compact, delete")),
        ([("cleanup.policy", APPEND, "xx")],
         INVALID.format("xx", "cleanup.policy", "String must be one of: compact, delete")),
        ([("message.timestamp.type", SET, "foo")],
         INVALID.format("foo", "message.timestamp.type", "String must be one of: CreateTime, LogAppendTime")),
        ([("preallocate", SET, "yes")],
         INVALID.format("yes", "preallocate", "Expected value to be either true or false")),
        ([("min.cleanable.dirty.ratio", SET, "1.5")],
         INVALID.format("1.5", "min.cleanable.dirty.ratio", "Value must be no more than 1")),
        ([("min.cleanable.dirty.ratio", SET, "x")],
         INVALID.format("x", "min.cleanable.dirty.ratio", "Not a number of type DOUBLE")),
        ([(THROTTLED, SET, "x")],
         INVALID.format("[x]", THROTTLED, f"{THROTTLED} must be the literal '*' or a list of replicas in the "
                        "following format: [partitionId]:[brokerId],[partitionId]:[brokerId],...")),
        ([("message.format.version", SET, "x")],
         INVALID.format("x", "message.format.version", "Version x is not a valid version")),
        ([("compression.gzip.level", SET, "0")],
         INVALID.format("0", "compression.gzip.level", "Value must be between 1 and 9 or equal to -1")),
        ([("retention.ms", APPEND, "1")], "Can't APPEND to key retention.ms because its type is not LIST."),
        ([("retention.ms", SUBTRACT, "1")],
         "Can't SUBTRACT to key retention.ms because its type is not LIST."),
        ([("foo", APPEND, "1")], "Can't APPEND to key foo because its type is not LIST."),
    ],
)  # fmt: skip
def test_topics_refuse_what_is_not_allowed(alterations: list[tuple[str, int, str]], message: str) -> None:
    assert topic({}, *alterations) == ConfigChange(ErrorCode.INVALID_CONFIG, message)


@pytest.mark.parametrize("key", [THROTTLED, "follower.replication.throttled.replicas"])
@pytest.mark.parametrize(
    ("value", "is_allowed"),
    [
        ("*", True), ("", True), (" ", True), ("0:1", True), ("0:1 ,0:2", True), ("0:1,,0:2", True),
        ("0:1,", True), ("none", False), ("NONE", False), ("none,0:1", False), ("*,0:1", False),
        ("**", False), ("a:1", False), ("0:٣", False), ("-1:1", False), ("0:1:2", False), ("0 :1", False),
    ],
)  # fmt: skip
def test_throttled_replicas(key: str, value: str, is_allowed: bool) -> None:
    change = topic({}, (key, SET, value))
    assert change.error is (ErrorCode.NONE if is_allowed else ErrorCode.INVALID_CONFIG)


@pytest.mark.parametrize(
    ("alterations", "error", "message"),
    [
        ([("cleanup.policy", APPEND, None), ("retention.ms", SET, None)], ErrorCode.INVALID_REQUEST,
         "Null value not supported for : cleanup.policy, retention.ms"),
        ([("retention.ms", SET, "1"), ("retention.ms", DELETE, None)], ErrorCode.INVALID_REQUEST,
         "Error due to duplicate config keys"),
        ([("retention.ms", SET, None), ("retention.ms", SET, None)], ErrorCode.INVALID_REQUEST,
         "Error due to duplicate config keys"),
        ([("retention.ms", 9, "1")], ErrorCode.UNKNOWN_SERVER_ERROR, None),
        ([("retention.ms", -1, "1")], ErrorCode.UNKNOWN_SERVER_ERROR, None),
    ],
)  # fmt: skip
def test_malformed_alterations(
    alterations: list[tuple[str, int, str | None]], error: ErrorCode, message: str | None
) -> None:
    assert topic({}, *alterations) == ConfigChange(error, message)


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("", ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed."),
        ("a b", ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: 'a b' {NAME_RULE}"),
    ],
)
def test_topic_names(name: str, error: ErrorCode, message: str) -> None:
    assert topic({}, ("retention.ms", SET, "1"), name=name) == ConfigChange(error, message)


def test_replacing_forgets_what_was_set() -> None:
    change = change_topic(STATIC, "t1", {}, replace_all([("segment.bytes", "20")]))
    assert change == ConfigChange(configs={"segment.bytes": "20"})


def test_a_stored_key_that_is_unknown_stops_later_changes_as_in_kafka() -> None:
    assert topic({"foo": "1"}, ("retention.ms", SET, "1")).error is ErrorCode.INVALID_CONFIG


NOT_DYNAMIC = "Cannot update these configs dynamically: "
PER_LISTENER = (
    "These security configs can be dynamically updated only per-listener using the listener prefix: "
)
NOT_FOR_ALL = "Cannot update these configs at default cluster level, broker id must be specified: "


@pytest.mark.parametrize(
    ("alterations", "default", "message"),
    [
        ([("log.dirs", SET, "/x")], False, NOT_DYNAMIC + "Set(log.dirs)"),
        ([("num.partitions", SET, "2"), ("log.dirs", SET, "x")], True,
         NOT_DYNAMIC + "Set(num.partitions, log.dirs)"),
        ([("group.coordinator.new.enable", SET, "true")], False,
         NOT_DYNAMIC + "Set(group.coordinator.new.enable)"),
        ([("ssl.key.password", SET, "s")], False, PER_LISTENER + "HashSet(ssl.key.password)"),
        ([("ssl.keystore.location", SET, "/x")], True, PER_LISTENER + "HashSet(ssl.keystore.location)"),
        ([("listeners", SET, "PLAINTEXT://:1")], True, NOT_FOR_ALL + "Set(listeners)"),
        ([("listener.name.out.ssl.client.auth", SET, "none")], True,
         NOT_FOR_ALL + "Set(listener.name.out.ssl.client.auth)"),
        ([("listener.name.out.foo", SET, "none")], True, NOT_FOR_ALL + "Set(listener.name.out.foo)"),
        ([("log.cleaner.threads", SET, "x")], False,
         INVALID.format("x", "log.cleaner.threads", "Not a number of type INT")),
        ([("num.io.threads", SET, "0")], False,
         INVALID.format("0", "num.io.threads", "Value must be at least 1")),
        ([("leader.replication.throttled.rate", SET, "-1")], True,
         INVALID.format("-1", "leader.replication.throttled.rate", "Value must be at least 0")),
        ([("listener.name.plaintext.max.connections", SET, "x")], False,
         INVALID.format("x", "max.connections", "Not a number of type INT")),
        ([("log.retention.ms", SET, "0")], False,
         "requirement failed: log.retention.ms must be unlimited (-1) or, greater than or equal to 1"),
        ([("log.roll.ms", SET, "0")], True,
         "requirement failed: log.roll.ms must be greater than or equal to 1"),
        ([("num.io.threads", SET, "17")], False, "Dynamic thread count update validation failed for "
         "num.io.threads=17, value should not be greater than double the current value 8"),
        ([("num.io.threads", SET, "3")], True, "Dynamic thread count update validation failed for "
         "num.io.threads=3, value should be at least half the current value 8"),
        ([("advertised.listeners", SET, "x")], False,
         "Error creating broker listeners from 'x': Unable to parse x to a broker endpoint, "
         "which is of the form NAME://HOST:PORT"),
        ([("listeners", SET, "PLAINTEXT://:1")], False,
         "Listeners cannot be changed while this broker runs; change its properties and start it again"),
        ([("advertised.listeners", SET, "PLAINTEXT://a:1")], False,
         "Listeners cannot be changed while this broker runs; change its properties and start it again"),
        ([("listener.name.out.ssl.engine.factory.class", SET, "a.B")], False,
         "listener.name.out.ssl.engine.factory.class=a.B is not supported: "
         "there is no Java virtual machine to load classes into"),
        ([("listener.name.out.ssl.keystore.password", SET, "secret")], False,
         "listener.name.out.ssl.keystore.password is a secret, and no secret is stored: "
         "set it in the broker's properties"),
        ([("listener.name.out.plain.sasl.jaas.config", SET, "secret")], False,
         "listener.name.out.plain.sasl.jaas.config cannot be changed while this broker runs; change its "
         "properties and start it again"),
        ([("listener.name.out.sasl.server.max.receive.size", SET, "1")], False,
         "listener.name.out.sasl.server.max.receive.size cannot be changed while this broker runs; change "
         "its properties and start it again"),
        ([("sasl.enabled.mechanisms", SET, "PLAIN")], False,
         "sasl.enabled.mechanisms cannot be changed while this broker runs; change its properties and start "
         "it again"),
        ([("sasl.enabled.mechanisms", APPEND, "PLAIN")], False,
         "sasl.enabled.mechanisms cannot be changed while this broker runs; change its properties and start "
         "it again"),
        ([("security.providers", SET, "a.B")], True,
         "Cannot update these configs dynamically: Set(security.providers)"),
        ([("super.users", SET, "User:a")], False,
         "super.users cannot be changed while this broker runs; change its properties and start it again"),
        ([("log.retention.ms", 9, "1")], False, "Unknown operations type 9"),
        ([("log.retention.ms", SET, None)], False, "Null value not supported for : log.retention.ms"),
        ([("log.retention.ms", SET, "1"), ("log.retention.ms", SET, "1")], False,
         "Error due to duplicate config keys"),
    ],
)  # fmt: skip
def test_brokers_refuse_what_is_not_allowed(
    alterations: list[tuple[str, int, str | None]], default: bool, message: str
) -> None:
    assert broker(*alterations, default=default) == ConfigChange(ErrorCode.INVALID_REQUEST, message)


def test_brokers_append_to_lists_only() -> None:
    assert broker(("log.cleanup.policy", APPEND, "compact")).configs == {
        "log.cleanup.policy": "delete,compact"
    }
    assert broker(("log.retention.ms", APPEND, "1")) == ConfigChange(
        ErrorCode.INVALID_CONFIG, "Config value append is not allowed for config key: log.retention.ms"
    )


@pytest.mark.parametrize(
    ("alteration", "default"),
    [
        (("foo.bar", SET, "2"), False),
        (("foo.bar", SET, "2"), True),
        (("log.retention.ms", SET, "-2"), False),
        (("max.connections.per.ip.overrides", SET, "127.0.0.1:5"), True),
        (("num.network.threads", SET, "1"), True),
        (("listener.name.out.ssl.client.auth", SET, "none"), False),
        (("sasl.enabled.mechanisms", SET, "GSSAPI"), False),
        (("listener.name.out.num.partitions", SET, "1"), False),
        (("listener.name.plaintext.max.connections", SET, "5"), True),
        (("listener.name.plaintext.max.connection.creation.rate", SET, "5"), True),
        (("max.connection.creation.rate", SET, "5"), True),
        (("leader.replication.throttled.rate", SET, "100"), False),
        (("listeners", SET, "PLAINTEXT://:9092"), False),
    ],
)
def test_brokers_accept(alteration: tuple[str, int, str], default: bool) -> None:
    assert broker(alteration, default=default) == ConfigChange(configs={alteration[0]: alteration[2]})


def test_a_setting_that_a_kafka_has_stored_stops_no_other_change() -> None:
    stored = {"sasl.oauthbearer.scope": "x"}
    change = broker(("message.max.bytes", SET, "6"), current=stored, default=True)
    assert change.configs == {**stored, "message.max.bytes": "6"}
    assert broker(("sasl.oauthbearer.scope", DELETE, None), current=stored).configs == {}


def test_a_broker_change_keeps_the_rest_and_drops_what_is_deleted() -> None:
    change = broker(
        ("log.retention.ms", DELETE, None), current={"log.retention.ms": "5", "message.max.bytes": "6"}
    )
    assert change.configs == {"message.max.bytes": "6"}


def test_the_session_of_a_group_must_be_longer_than_the_interval_of_its_heartbeats() -> None:
    config = BrokerConfig({"broker.id": "1", "group.consumer.min.session.timeout.ms": "1000"})
    change = change_group(config, "g", {}, replace_all([("consumer.session.timeout.ms", "5000")]))
    message = "consumer.session.timeout.ms must be greater than consumer.heartbeat.interval.ms"
    assert (change.error, change.message) == (ErrorCode.INVALID_CONFIG, message)
    longer = change_group(config, "g", {}, replace_all([("consumer.session.timeout.ms", "5001")]))
    assert longer.configs == {"consumer.session.timeout.ms": "5001"}
