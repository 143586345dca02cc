"""The configs that a group may override: keys, bounds on a broker, effective values (KIP-848, KIP-932,
KIP-1071).

Kafka's counterpart: `GroupConfig`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kcompat.config.errors import ConfigError
from kcompat.config.keys import ConfigKey
from kcompat.config.start_strategy import StartStrategy
from kcompat.config.types import ConfigType
from kcompat.config.validators import OneOf, Range

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kcompat.config.attributes import BrokerKeys
    from kcompat.config.types import Value


Bounds = tuple[int, int]
"""Least and greatest value that a broker allows a group for a numeric config."""

NO_BOUNDS: Final[Bounds] = (-(2**31), 2**31 - 1)
"""Bounds of a config that the broker does not bound."""


class GroupKey(Struct, frozen=True):
    """Config key of groups.

    `broker_key` is the broker key of its default, `least` and `most` those of its bounds; None where there is
    no such broker key.
    """

    row: ConfigKey
    broker_key: str | None = None
    least: str | None = None
    most: str | None = None

    @property
    def name(self) -> str:
        """Kafka's name of the key."""
        return self.row.name


HEARTBEAT_INTERVAL = "consumer.heartbeat.interval.ms"
SESSION_TIMEOUT = "consumer.session.timeout.ms"
ASSIGNMENT_INTERVAL = "consumer.assignment.interval.ms"
SHARE_HEARTBEAT_INTERVAL = "share.heartbeat.interval.ms"
SHARE_SESSION_TIMEOUT = "share.session.timeout.ms"
SHARE_ASSIGNMENT_INTERVAL = "share.assignment.interval.ms"
RECORD_LOCK_DURATION = "share.record.lock.duration.ms"
DELIVERY_COUNT_LIMIT = "share.delivery.count.limit"
MAX_RECORD_LOCKS = "share.partition.max.record.locks"
AUTO_OFFSET_RESET = "share.auto.offset.reset"
ISOLATION_LEVEL = "share.isolation.level"
RENEW_ACKNOWLEDGE = "share.renew.acknowledge.enable"
STREAMS_HEARTBEAT_INTERVAL = "streams.heartbeat.interval.ms"
STREAMS_SESSION_TIMEOUT = "streams.session.timeout.ms"
STREAMS_ASSIGNMENT_INTERVAL = "streams.assignment.interval.ms"
STREAMS_INITIAL_DELAY = "streams.initial.rebalance.delay.ms"
STREAMS_STANDBY_REPLICAS = "streams.num.standby.replicas"


def _bounded(name: str, default: str, least: int, doc: str) -> GroupKey:
    """Return a numeric key whose default and bounds for groups are set by broker keys."""
    kind, _, what = name.partition(".")
    row = ConfigKey(name, ConfigType.INT, default, doc, validator=Range(least))
    return GroupKey(row, f"group.{kind}.{what}", f"group.{kind}.min.{what}", f"group.{kind}.max.{what}")


_KEYS = (
    _bounded(HEARTBEAT_INTERVAL, "5000", 1, "Heartbeat interval given to members of a consumer group."),
    _bounded(SESSION_TIMEOUT, "45000", 1, "Session timeout of members of a consumer group."),
    GroupKey(
        ConfigKey(
            ASSIGNMENT_INTERVAL,
            ConfigType.INT,
            "0",
            "How long a consumer group keeps a target assignment at least before it makes another. Kafka "
            "4.3 has the default 1000.",
            validator=Range(0, 15_000),
        )
    ),
    _bounded(SHARE_HEARTBEAT_INTERVAL, "5000", 1, "Heartbeat interval given to members."),
    _bounded(SHARE_SESSION_TIMEOUT, "45000", 1, "Session timeout of members."),
    _bounded(RECORD_LOCK_DURATION, "30000", 1000, "How long an acquired record stays locked."),
    _bounded(DELIVERY_COUNT_LIMIT, "5", 2, "Deliveries of a record before it is given up."),
    _bounded(MAX_RECORD_LOCKS, "200", 100, "Records acquired at one time in one partition."),
    _bounded(
        SHARE_ASSIGNMENT_INTERVAL, "1000", 0, "How long a target assignment of a share group lasts at least."
    ),
    _bounded(STREAMS_HEARTBEAT_INTERVAL, "5000", 1, "Heartbeat interval given to members."),
    _bounded(STREAMS_SESSION_TIMEOUT, "45000", 1, "Session timeout of members."),
    GroupKey(
        ConfigKey(
            STREAMS_STANDBY_REPLICAS,
            ConfigType.INT,
            "0",
            "Standby replicas of each task of a streams group that keeps state.",
            validator=Range(0),
        ),
        "group.streams.num.standby.replicas",
        most="group.streams.max.standby.replicas",
    ),
    _bounded(
        STREAMS_ASSIGNMENT_INTERVAL,
        "1000",
        0,
        "How long a target assignment of a streams group lasts at least.",
    ),
    GroupKey(
        ConfigKey(
            STREAMS_INITIAL_DELAY,
            ConfigType.INT,
            "3000",
            "How long a streams group without members waits for more after the first has come.",
            validator=Range(0),
        ),
        "group.streams.initial.rebalance.delay.ms",
    ),
    GroupKey(
        ConfigKey(
            AUTO_OFFSET_RESET,
            ConfigType.STRING,
            "latest",
            "Where a share group starts in a partition: `latest`, `earliest`, or `by_duration:` and how long "
            "ago, as in `PT1H`.",
            validator=StartStrategy(),
        )
    ),
    GroupKey(
        ConfigKey(
            ISOLATION_LEVEL,
            ConfigType.STRING,
            "read_uncommitted",
            "Whether records of aborted transactions are delivered to a share group.",
            validator=OneOf(("read_committed", "read_uncommitted")),
        )
    ),
    GroupKey(
        ConfigKey(
            RENEW_ACKNOWLEDGE,
            ConfigType.BOOLEAN,
            "true",
            "Whether members of a share group may prolong the locks of their records.",
        )
    ),
)

GROUP_KEYS: Mapping[str, GroupKey] = {key.name: key for key in _KEYS}
"""Keys of groups by name, in the order in which Kafka checks their bounds."""

_LONGER = (
    (SESSION_TIMEOUT, HEARTBEAT_INTERVAL),
    (SHARE_SESSION_TIMEOUT, SHARE_HEARTBEAT_INTERVAL),
    (STREAMS_SESSION_TIMEOUT, STREAMS_HEARTBEAT_INTERVAL),
)
"""Pairs of keys; the value of the first must be greater than that of the second."""


_JUDGED_WHERE_SET = frozenset({SHARE_ASSIGNMENT_INTERVAL, STREAMS_ASSIGNMENT_INTERVAL})
"""Keys whose bounds are checked only if the group overrides them."""


def group_row(name: str) -> ConfigKey | None:
    """Return the table row of a key; None for one that groups do not have."""
    key = GROUP_KEYS.get(name)
    return None if key is None else key.row


def group_default(config: BrokerKeys, key: GroupKey) -> Value:
    """Return the value of a key for a group that does not override it: the broker's, or the key's default."""
    return key.row.default_value if key.broker_key is None else config.get(key.broker_key)


def effective(name: str, overrides: Mapping[str, str], config: BrokerKeys) -> Value:
    """Return the effective value of a group config: the group's override, clamped to the broker's current
    bounds, or else the broker's default.
    """
    key = GROUP_KEYS[name]
    if name not in overrides:
        return group_default(config, key)
    return bounded(name, overrides[name], group_bounds(name, config.integer))


def group_bounds(name: str, integer: Callable[[str], int]) -> Bounds:
    """Return the bounds of a group config; `integer` returns the value of a broker key."""
    key, (least, most) = GROUP_KEYS[name], NO_BOUNDS
    return (
        least if key.least is None else integer(key.least),
        most if key.most is None else integer(key.most),
    )


def bounded(name: str, text: str, bounds: Bounds) -> Value:
    """Return the value of a group's override; a number outside the bounds becomes the closest one within."""
    value, (least, most) = GROUP_KEYS[name].row.parse(text), bounds
    return min(max(value, least), most) if isinstance(value, int) else value


def check_group_overrides(overrides: Mapping[str, str], config: BrokerKeys) -> None:
    """Check the configs that a client wants to set for a group, by Kafka's rules.

    Raises:
        ConfigError: an unknown key, a value that is not allowed or not within the bounds of the broker, or
            two values that contradict each other; to be answered with INVALID_CONFIG(40).
    """
    for name in overrides:
        if name not in GROUP_KEYS:
            raise ConfigError(f"Unknown group config name: {name}")
    values = {
        name: key.row.parse(overrides[name]) if name in overrides else group_default(config, key)
        for name, key in GROUP_KEYS.items()
    }
    for name, key in GROUP_KEYS.items():
        value = values[name]
        if not isinstance(value, int) or (name in _JUDGED_WHERE_SET and name not in overrides):
            continue
        if key.least is not None and value < config.integer(key.least):
            raise ConfigError(f"{name} must be greater than or equal to {key.least}")
        if key.most is not None and value > config.integer(key.most):
            raise ConfigError(f"{name} must be less than or equal to {key.most}")
    for longer, shorter in _LONGER:
        if values[longer] <= values[shorter]:  # type: ignore[operator]
            raise ConfigError(f"{longer} must be greater than {shorter}")
