"""Streams groups: the keys that Kafka 4.3 has for them."""

from __future__ import annotations

from kcompat.config.keys import ConfigKey
from kcompat.config.types import ConfigType
from kcompat.config.validators import Range

INT = ConfigType.INT

# fmt: off
ROWS: tuple[ConfigKey, ...] = (
    ConfigKey("group.streams.assignment.interval.ms", INT, "1000",
              "How long a target assignment of a streams group lasts at least.", validator=Range(0)),
    ConfigKey("group.streams.heartbeat.interval.ms", INT, "5000", "Heartbeat interval given to members.",
              validator=Range(1)),
    ConfigKey("group.streams.initial.rebalance.delay.ms", INT, "3000",
              "How long a streams group without members waits for more after the first has come.",
              validator=Range(0)),
    ConfigKey("group.streams.max.assignment.interval.ms", INT, "15000",
              "Longest time that a streams group may have a target assignment last at least.",
              validator=Range(0)),
    ConfigKey("group.streams.max.heartbeat.interval.ms", INT, "15000",
              "Longest heartbeat interval that a streams group may set for itself.", validator=Range(1)),
    ConfigKey("group.streams.max.session.timeout.ms", INT, "60000",
              "Longest session timeout that a streams group may set for itself.", validator=Range(1)),
    ConfigKey("group.streams.max.size", INT, "2147483647", "Members a streams group may have.",
              validator=Range(1)),
    ConfigKey("group.streams.max.standby.replicas", INT, "2",
              "Most standby replicas that a streams group may set for itself.", validator=Range(0)),
    ConfigKey("group.streams.min.assignment.interval.ms", INT, "0",
              "Shortest time that a streams group may have a target assignment last at least.",
              validator=Range(0)),
    ConfigKey("group.streams.min.heartbeat.interval.ms", INT, "5000",
              "Shortest heartbeat interval that a streams group may set for itself.", validator=Range(1)),
    ConfigKey("group.streams.min.session.timeout.ms", INT, "45000",
              "Shortest session timeout that a streams group may set for itself.", validator=Range(1)),
    ConfigKey("group.streams.num.standby.replicas", INT, "0",
              "Standby replicas of each task that keeps state.", validator=Range(0)),
    ConfigKey("group.streams.session.timeout.ms", INT, "45000", "Session timeout of members.",
              validator=Range(1)),
)
# fmt: on
