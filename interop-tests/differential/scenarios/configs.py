"""DescribeConfigs, AlterConfigs and IncrementalAlterConfigs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from differential.catalogue import scenario
from kcompat.config.rows import kafka_4_3
from kcompat.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from differential.play import Play

DESCRIBE, ALTER, CHANGE = ApiKey.DESCRIBE_CONFIGS, ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS
TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)

ODD_IDS = ("1 ", "\u00a01", "1_0", "4294967297", "\u0669", "+9")
"""Names of brokers that are no number to Java, or another one than they seem."""

SAMPLE = [
    "auto.create.topics.enable", "background.threads", "broker.id", "compression.type", "log.cleaner.threads",
    "log.cleanup.policy", "log.flush.interval.ms", "log.retention.bytes", "log.retention.hours",
    "log.retention.ms",
    "log.roll.hours", "log.roll.ms", "log.segment.bytes", "max.connections", "max.connections.per.ip",
    "message.max.bytes", "min.insync.replicas", "num.io.threads", "num.partitions",
    "offsets.retention.minutes",
    "ssl.keystore.password", "sasl.jaas.config", "unclean.leader.election.enable",
    "group.min.session.timeout.ms",
    "log.message.timestamp.type", "leader.replication.throttled.rate",
]  # fmt: skip
"""Broker settings of every kind: dynamic for one or for all brokers, read-only, lists, passwords,
synonyms."""


STARTED_WITH = frozenset(
    {
        "advertised.listeners", "controller.listener.names", "controller.quorum.voters",
        "group.coordinator.rebalance.protocols", "group.initial.rebalance.delay.ms",
        "listener.security.protocol.map", "listeners", "log.dirs", "offsets.topic.replication.factor",
        "process.roles", "transaction.state.log.min.isr", "transaction.state.log.replication.factor",
    }
)  # fmt: skip
"""Broker settings that the test starts the two brokers with, each in its own way."""


def describe(
    play: Play, version: int, kind: int, name: str, keys: list[str] | None = None, **fields: bool
) -> Any:
    """Describe one resource."""
    resource = {"resource_type": kind, "resource_name": name, "configuration_keys": keys}
    return play.call(DESCRIBE, version, resources=[resource], **fields)


@scenario(DESCRIBE)
def describe_topic(play: Play, version: int) -> None:
    topic = play.topic(retention_ms="123456", cleanup_policy="compact")
    describe(play, version, TOPIC, topic)
    describe(play, version, TOPIC, topic, include_synonyms=True)
    describe(play, version, TOPIC, topic, include_documentation=True)
    for keys in (["retention.ms", "segment.bytes"], ["no.such.key"], []):
        describe(play, version, TOPIC, topic, keys)


@scenario(DESCRIBE)
def describe_what_is_not_there(play: Play, version: int) -> None:
    topic = play.topic()
    for kind, name in (
        (TOPIC, play.name("never")), (TOPIC, "no good"), (TOPIC, ""), (77, topic), (0, topic), (1, topic),
        (BROKER, "99"), (BROKER, "one"), (BROKER_LOGGER, "99"), (BROKER_LOGGER, ""), (BROKER_LOGGER, "x"),
        *((kind, name) for kind in (BROKER, BROKER_LOGGER) for name in ODD_IDS),
    ):  # fmt: skip
        describe(play, version, kind, name)
    play.call(DESCRIBE, version, resources=[])


@scenario(DESCRIBE)
def describe_two_resources(play: Play, version: int) -> None:
    topic = play.topic()
    rows = [
        {"resource_type": TOPIC, "resource_name": topic, "configuration_keys": ["retention.ms"]},
        {"resource_type": BROKER, "resource_name": "1", "configuration_keys": ["log.retention.ms"]},
    ]
    play.call(DESCRIBE, version, resources=rows)
    play.call(DESCRIBE, version, resources=[rows[0], rows[0]])


@scenario(DESCRIBE)
def describe_broker(play: Play, version: int) -> None:
    describe(play, version, BROKER, "1", SAMPLE)
    describe(play, version, BROKER, "1", SAMPLE, include_synonyms=True)
    describe(play, version, BROKER, "1", ["no.such.key"])


@scenario(DESCRIBE)
def describe_all_settings_of_a_broker(play: Play, version: int) -> None:
    def comparable(answer: Any) -> None:
        rows = answer.results[0].configs
        left_out = STARTED_WITH | {key.name for key in kafka_4_3.ROWS}
        answer.results[0].configs = [row for row in rows if row.name not in left_out]

    resource = {"resource_type": BROKER, "resource_name": "1", "configuration_keys": None}
    for fields in ({}, {"include_synonyms": True}, {"include_documentation": True}):
        play.call(DESCRIBE, version, trim=comparable, resources=[resource], **fields)


@scenario(DESCRIBE)
def describe_default_broker(play: Play, version: int) -> None:
    describe(play, version, BROKER, "")
    describe(play, version, BROKER, "", ["log.retention.ms"], include_synonyms=True)


def alter(
    play: Play, version: int, kind: int, name: str, *, only: bool = False, **configs: str | None
) -> None:
    """Replace a resource's configs; names have _ for their dots."""
    rows = [{"name": key.replace("_", "."), "value": value} for key, value in configs.items()]
    resource = {"resource_type": kind, "resource_name": name, "configs": rows}
    play.call(ALTER, version, resources=[resource], validate_only=only)


def settled(play: Play, topic: str, **expected: str) -> None:
    """Wait until a topic shows these values, then record what it shows of its own."""
    names = {key.replace("_", "."): value for key, value in expected.items()}

    def shown() -> bool:
        resource = {"resource_type": TOPIC, "resource_name": topic, "configuration_keys": list(names)}
        rows = play.do(DESCRIBE, 1, resources=[resource]).results[0].configs
        return {row.name: row.value for row in rows} == names

    play.until(shown, f"{topic} shows {names}")

    def own_rows(answer: Any) -> None:
        answer.results[0].configs = [row for row in answer.results[0].configs if row.config_source == 1]

    resource = {"resource_type": TOPIC, "resource_name": topic, "configuration_keys": None}
    play.call(DESCRIBE, 1, trim=own_rows, resources=[resource])


@scenario(ALTER)
def alter_topic(play: Play, version: int) -> None:
    topic = play.topic(retention_ms="1000")
    alter(play, version, TOPIC, topic, segment_bytes="1048576")
    settled(play, topic, segment_bytes="1048576", retention_ms="-1")
    alter(play, version, TOPIC, topic, only=True, segment_bytes="2097152")
    alter(play, version, TOPIC, topic)
    settled(play, topic, segment_bytes="1073741824")


@scenario(ALTER)
def alter_topic_badly(play: Play, version: int) -> None:
    topic = play.topic()
    for configs in (
        {"retention_ms": "soon"}, {"no_such_key": "1"}, {"retention_ms": None}, {"segment_bytes": "1"},
        {"cleanup_policy": "burn"}, {"retention_ms": ""}, {"remote_storage_enable": "true"},
    ):  # fmt: skip
        alter(play, version, TOPIC, topic, **configs)
    settled(play, topic, segment_bytes="1073741824")


@scenario(ALTER)
def alter_what_is_not_there(play: Play, version: int) -> None:
    topic = play.topic()
    for kind, name in (
        (TOPIC, play.name("never")), (TOPIC, "no good"), (TOPIC, ""), (77, topic), (0, topic), (BROKER, "99"),
        (BROKER, "one"), (BROKER_LOGGER, "99"), (BROKER_LOGGER, "1"), *((BROKER, name) for name in ODD_IDS),
    ):  # fmt: skip
        alter(play, version, kind, name, retention_ms="1")
    play.call(ALTER, version, resources=[])


@scenario(ALTER, until=0)
def alter_one_resource_twice(play: Play, version: int) -> None:
    topic = play.topic()
    rows = [{"name": "retention.ms", "value": "1"}]
    resource = {"resource_type": TOPIC, "resource_name": topic, "configs": rows}
    play.call(ALTER, version, resources=[resource, resource], patience_s=1)


@scenario(ALTER)
def alter_broker_badly(play: Play, version: int) -> None:
    for configs in (
        {"broker_id": "7"}, {"log_retention_ms": "soon"}, {"no_such_key": "1"}, {"num_io_threads": "0"},
        {"log_dirs": "elsewhere"}, {"message_max_bytes": "-1"}, {"advertised_listeners": "nonsense"},
    ):  # fmt: skip
        alter(play, version, BROKER, "1", only=True, **configs)
        alter(play, version, BROKER, "", only=True, **configs)


Op = tuple[int, str, str | None]


def change(play: Play, version: int, kind: int, name: str, *ops: Op, only: bool = False) -> None:
    """Change configs of a resource one by one."""
    rows = [{"config_operation": op, "name": key, "value": value} for op, key, value in ops]
    resource = {"resource_type": kind, "resource_name": name, "configs": rows}
    play.call(CHANGE, version, resources=[resource], validate_only=only)


@scenario(CHANGE)
def change_topic(play: Play, version: int) -> None:
    topic = play.topic(retention_ms="1000")
    throttled = "leader.replication.throttled.replicas"
    change(play, version, TOPIC, topic, (SET, "segment.bytes", "1048576"))
    settled(play, topic, segment_bytes="1048576", retention_ms="1000")
    change(play, version, TOPIC, topic, (SET, "segment.bytes", "2097152"), only=True)
    change(play, version, TOPIC, topic, (APPEND, "cleanup.policy", "compact"))
    settled(play, topic, cleanup_policy="delete,compact")
    change(play, version, TOPIC, topic, (APPEND, "cleanup.policy", "compact"))
    change(play, version, TOPIC, topic, (SUBTRACT, "cleanup.policy", "delete"))
    settled(play, topic, cleanup_policy="compact")
    change(play, version, TOPIC, topic, (APPEND, throttled, "0:1"))
    settled(play, topic, **{throttled.replace(".", "_"): "0:1"})
    change(play, version, TOPIC, topic, (SUBTRACT, throttled, "0:1"), (DELETE, "retention.ms", None))
    settled(play, topic, retention_ms="-1", **{throttled.replace(".", "_"): ""})
    change(play, version, TOPIC, topic, (DELETE, "retention.ms", "5"), (SET, "flush.ms", "7"))
    settled(play, topic, flush_ms="7")
    change(play, version, TOPIC, topic)


@scenario(CHANGE)
def change_topic_badly(play: Play, version: int) -> None:
    topic = play.topic()
    for op in (
        (APPEND, "retention.ms", "1"), (SUBTRACT, "retention.ms", "1"), (SET, "no.such.key", "1"),
        (DELETE, "no.such.key", None), (SET, "retention.ms", "soon"), (SET, "retention.ms", None),
        (APPEND, "cleanup.policy", "burn"), (SUBTRACT, "cleanup.policy", "compact"),
        (APPEND, "no.such.key", "1"), (APPEND, "cleanup.policy", None),
        (SUBTRACT, "cleanup.policy", "delete"), (SET, "cleanup.policy", ""), (SET, "", "1"),
        (SET, "leader.replication.throttled.replicas", "none"), (SET, "retention.ms", "1000\u00a0"),
        (SET, "retention.ms", " \u2003 "), (SET, "preallocate", "yes "),
        (SET, "cleanup.policy", "delete\u00a0"),
    ):  # fmt: skip
        change(play, version, TOPIC, topic, op)
    change(play, version, TOPIC, topic, (SET, "retention.ms", "1"), (SET, "retention.ms", "2"))
    change(play, version, TOPIC, topic, (SET, "retention.ms", "1"), (DELETE, "retention.ms", None))


@scenario(CHANGE)
def change_topic_to_odd_numbers(play: Play, version: int) -> None:
    topic = play.topic()
    change(play, version, TOPIC, topic, (SET, "retention.ms", "\u0661\uff12"))
    settled(play, topic, retention_ms="12")
    change(play, version, TOPIC, topic, (SET, "min.cleanable.dirty.ratio", "0x1p-2"))
    settled(play, topic, min_cleanable_dirty_ratio="0.25")
    change(play, version, TOPIC, topic, (SET, "preallocate", " fal\u017fe\u001f"))
    change(play, version, TOPIC, topic, (SET, "cleanup.policy", "delete ,\tcompact"))
    settled(play, topic, cleanup_policy="delete,compact", preallocate="false")


@scenario(CHANGE, since=1)
def change_by_an_unknown_operation(play: Play, version: int) -> None:
    """This makes a KRaft controller step down for a second or two."""
    change(play, version, TOPIC, play.topic(), (9, "retention.ms", "1"))


@scenario(CHANGE)
def change_what_is_not_there(play: Play, version: int) -> None:
    topic = play.topic()
    for kind, name in (
        (TOPIC, play.name("never")), (TOPIC, "no good"), (TOPIC, ""), (77, topic), (0, topic), (BROKER, "99"),
        (BROKER, "one"), (BROKER_LOGGER, "99"), (BROKER_LOGGER, ""),
        *((kind, name) for kind in (BROKER, BROKER_LOGGER) for name in ODD_IDS),
    ):  # fmt: skip
        change(play, version, kind, name, (SET, "retention.ms", "1"))
    play.call(CHANGE, version, resources=[])


@scenario(CHANGE)
def change_two_resources(play: Play, version: int) -> None:
    topic = play.topic()
    rows = [{"config_operation": SET, "name": "retention.ms", "value": "77"}]
    good = {"resource_type": TOPIC, "resource_name": topic, "configs": rows}
    bad = {"resource_type": TOPIC, "resource_name": play.name("never"), "configs": rows}
    play.call(CHANGE, version, resources=[good, bad], validate_only=False)
    settled(play, topic, retention_ms="77")


@scenario(CHANGE, until=0)
def change_one_resource_twice(play: Play, version: int) -> None:
    topic = play.topic()
    rows = [{"config_operation": SET, "name": "retention.ms", "value": "77"}]
    resource = {"resource_type": TOPIC, "resource_name": topic, "configs": rows}
    play.call(CHANGE, version, resources=[resource, resource], patience_s=1)


@scenario(CHANGE, since=1)
def change_broker(play: Play, version: int) -> None:
    key = "log.cleaner.backoff.ms"

    def shows(value: str) -> bool:
        resource = {"resource_type": BROKER, "resource_name": "1", "configuration_keys": [key]}
        return bool(play.do(DESCRIBE, 1, resources=[resource]).results[0].configs[0].value == value)

    for name, value in (("", "11111"), ("1", "22222")):
        change(play, version, BROKER, name, (SET, key, value))
        play.until(lambda value=value: shows(value), f"{key} is {value}")  # type: ignore[misc]
        describe(play, 4, BROKER, "1", [key], include_synonyms=True)
        describe(play, 4, BROKER, "")
    for name, value in (("1", "11111"), ("", "15000")):
        change(play, version, BROKER, name, (DELETE, key, None))
        play.until(lambda value=value: shows(value), f"{key} is {value} again")  # type: ignore[misc]
    for op in (
        (SET, "broker.id", "7"), (SET, "num.io.threads", "0"), (SET, "log.retention.ms", "soon"),
        (SET, "num.io.threads", "1000"), (SET, "listeners", "nonsense"), (SET, "max.connections", "5"),
    ):  # fmt: skip
        change(play, version, BROKER, "1", op, only=True)
        change(play, version, BROKER, "", op, only=True)
