"""What consumer groups read of the configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from kcompat.group.assignors.range import RangeAssignor
from kcompat.group.assignors.uniform import UniformAssignor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kcompat.group.assignors.spec import Assignor

INT_MAX = 2**31 - 1
ASSIGNORS: Mapping[str, Assignor] = {
    assignor.name: assignor for assignor in (UniformAssignor(), RangeAssignor())
}


class ConsumerGroupConfig(Struct, frozen=True):
    """A snapshot of the broker's settings for consumer groups, with the defaults of Kafka 3.9. Times in ms.

    `assignors`: the first is the default.
    """

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    max_size: int = INT_MAX
    regex_refresh_interval_ms: int = 600_000
    assignors: tuple[str, ...] = tuple(ASSIGNORS)

    @classmethod
    def read(cls, get: Callable[[str], Any]) -> ConsumerGroupConfig:
        """The settings, by Kafka's names."""
        return cls(
            session_timeout_ms=get("group.consumer.session.timeout.ms"),
            heartbeat_interval_ms=get("group.consumer.heartbeat.interval.ms"),
            max_size=get("group.consumer.max.size"),
            assignors=tuple(assignor_name(name) for name in get("group.consumer.assignors")),
        )


def assignor_name(configured: str) -> str:
    """The name of an assignor, which Kafka's configuration may call by its class."""
    for assignor in ASSIGNORS.values():
        if configured == f"org.apache.kafka.coordinator.group.assignor.{type(assignor).__name__}":
            return assignor.name
    return configured
