"""Throttles of a reassignment: the replicas and brokers that are throttled, and setting and clearing
throttles.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import msgspec

from kcompat.admin.configs import DELETE, SET, alter_configs
from kcompat.protocol.constants import ConfigResourceType

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from kcompat.admin.client import AdminClient
    from kcompat.admin.topics import Reassignment
    from kcompat.topics import TopicPartition

    Replicas = Mapping[TopicPartition, list[int]]

LEADER_REPLICAS: Final = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS: Final = "follower.replication.throttled.replicas"
RATES: Final = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
DIRECTORY_RATE: Final = "replica.alter.log.dirs.io.max.bytes.per.second"


class Move(msgspec.Struct, frozen=True):
    """The move of a partition: the brokers to read from, and the brokers to copy to."""

    sources: frozenset[int]
    destinations: frozenset[int]


def moves(
    ongoing: Mapping[TopicPartition, Reassignment], proposed: Replicas, current: Replicas
) -> dict[TopicPartition, Move]:
    """Return the moves that are under way and those that are proposed (`calculateProposedMoveMap`)."""
    found = {
        each: Move(frozenset(row.replicas) - frozenset(row.adding), frozenset(row.adding))
        for each, row in ongoing.items()
    }
    for each, replicas in proposed.items():
        sources = found[each].sources if each in found else frozenset(current[each])
        found[each] = Move(sources, frozenset(replicas) - sources)
    return found


def throttled_replicas(found: Mapping[TopicPartition, Move], *, of_leaders: bool) -> dict[str, str]:
    """Return the value of a topic's config of throttled replicas, such as `0:1,0:2`, by topic."""
    parts: dict[str, set[str]] = {}
    for (topic, index), move in found.items():
        brokers = move.sources if of_leaders else move.destinations
        parts.setdefault(topic, set()).update(f"{index}:{broker}" for broker in brokers)
    return {topic: ",".join(sorted(texts)) for topic, texts in parts.items()}


def moving_brokers(found: Mapping[TopicPartition, Move]) -> list[int]:
    """Return the brokers that take part in moves, in order."""
    return sorted({broker for move in found.values() for broker in move.sources | move.destinations})


def throttle_moves(admin: AdminClient, found: Mapping[TopicPartition, Move], rate: int) -> None:
    """Limit the moves to `rate` bytes a second, and print the limit. Raises JavaError."""
    leaders = throttled_replicas(found, of_leaders=True)
    followers = throttled_replicas(found, of_leaders=False)
    for topic, replicas in leaders.items():
        changes = {LEADER_REPLICAS: (SET, replicas), FOLLOWER_REPLICAS: (SET, followers[topic])}
        alter_configs(admin, (ConfigResourceType.TOPIC, topic), changes)
    for broker in moving_brokers(found):
        alter_configs(
            admin, (ConfigResourceType.BROKER, str(broker)), {name: (SET, str(rate)) for name in RATES}
        )
    sys.stdout.write(f"The inter-broker throttle limit was set to {rate} B/s\n")


def throttle_directories(admin: AdminClient, brokers: Iterable[int], rate: int) -> None:
    """Limit moves between log directories to `rate` bytes a second, and print the limit. Raises JavaError."""
    for broker in brokers:
        alter_configs(admin, (ConfigResourceType.BROKER, str(broker)), {DIRECTORY_RATE: (SET, str(rate))})
    sys.stdout.write(f"The replica-alter-dir throttle limit was set to {rate} B/s\n")


def clear_throttles(admin: AdminClient, brokers: Collection[int], topics: Collection[str]) -> None:
    """Remove the throttles of brokers and topics, and print that. Raises JavaError."""
    _say("broker", list(map(str, sorted(brokers))))
    for broker in sorted(brokers):
        changes: dict[str, tuple[int, str | None]] = dict.fromkeys((*RATES, DIRECTORY_RATE), (DELETE, None))
        alter_configs(admin, (ConfigResourceType.BROKER, str(broker)), changes)
    _say("topic", sorted(topics))
    for topic in sorted(topics):
        names = (LEADER_REPLICAS, FOLLOWER_REPLICAS)
        alter_configs(admin, (ConfigResourceType.TOPIC, topic), dict.fromkeys(names, (DELETE, None)))


def _say(kind: str, names: list[str]) -> None:
    plural = "" if len(names) == 1 else "s"
    sys.stdout.write(f"Clearing {kind}-level throttles on {kind}{plural} {','.join(names)}\n")
