"""What a group may set for itself: the keys, their bounds on a broker, and what is in force (KIP-848).

Kafka's counterpart: `GroupConfig`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.config.errors import ConfigError
from kcompat.config.keys import ConfigKey
from kcompat.config.types import ConfigType
from kcompat.config.validators import Range

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.config.attributes import BrokerKeys
    from kcompat.config.types import Value


class GroupKey(Struct, frozen=True):
    """One key of groups. `twin` is the broker key that gives its default, and `least` and `most` those that
    bound it; None where a broker has none.
    """

    row: ConfigKey
    twin: str | None = None
    least: str | None = None
    most: str | None = None

    @property
    def name(self) -> str:
        """What it is called."""
        return self.row.name


HEARTBEAT_INTERVAL = "consumer.heartbeat.interval.ms"
SESSION_TIMEOUT = "consumer.session.timeout.ms"
ASSIGNMENT_INTERVAL = "consumer.assignment.interval.ms"

_KEYS = (
    GroupKey(
        ConfigKey(
            HEARTBEAT_INTERVAL,
            ConfigType.INT,
            "5000",
            "Heartbeat interval given to members of a consumer group.",
            validator=Range(1),
        ),
        "group.consumer.heartbeat.interval.ms",
        "group.consumer.min.heartbeat.interval.ms",
        "group.consumer.max.heartbeat.interval.ms",
    ),
    GroupKey(
        ConfigKey(
            SESSION_TIMEOUT,
            ConfigType.INT,
            "45000",
            "Session timeout of members of a consumer group.",
            validator=Range(1),
        ),
        "group.consumer.session.timeout.ms",
        "group.consumer.min.session.timeout.ms",
        "group.consumer.max.session.timeout.ms",
    ),
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
)

GROUP_KEYS: Mapping[str, GroupKey] = {key.name: key for key in _KEYS}
"""Keys of groups by name, in the order in which Kafka judges their bounds."""

_LONGER = ((SESSION_TIMEOUT, HEARTBEAT_INTERVAL),)
"""Pairs of keys of which the first must be greater."""


def group_row(name: str) -> ConfigKey | None:
    """The row of a key; None for one that groups do not have."""
    key = GROUP_KEYS.get(name)
    return None if key is None else key.row


def group_default(config: BrokerKeys, key: GroupKey) -> Value:
    """What a key is where the group does not set it."""
    return key.row.default_value if key.twin is None else config.get(key.twin)


def check_group_overrides(overrides: Mapping[str, str], config: BrokerKeys) -> None:
    """What a client wants to set for a group, judged as Kafka judges it.

    Raises:
        ConfigError: an unknown key, a value that is not allowed or not within the bounds of the broker, or
            two that contradict each other; to be answered with INVALID_CONFIG(40).
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
        assert isinstance(value, int)
        if key.least is not None and value < config.integer(key.least):
            raise ConfigError(f"{name} must be greater than or equal to {key.least}")
        if key.most is not None and value > config.integer(key.most):
            raise ConfigError(f"{name} must be less than or equal to {key.most}")
    for longer, shorter in _LONGER:
        if values[longer] <= values[shorter]:  # type: ignore[operator]
            raise ConfigError(f"{longer} must be greater than {shorter}")
