"""A topology matched with the topics of the cluster, or the reason why it does not match them.

Kafka's counterparts: `ConfiguredTopology`, `ConfiguredSubtopology`, `ConfiguredInternalTopic`;
`StreamsGroupHeartbeatResponse.Status`.
"""

from __future__ import annotations

from enum import IntEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.group.kinds.streams.topology import UNDECIDED

if TYPE_CHECKING:
    from collections.abc import Mapping


class StatusCode(IntEnum):
    """Problems of a streams group, with the codes of the protocol."""

    STALE_TOPOLOGY = 0
    MISSING_SOURCE_TOPICS = 1
    INCORRECTLY_PARTITIONED_TOPICS = 2
    MISSING_INTERNAL_TOPICS = 3
    SHUTDOWN_APPLICATION = 4
    ASSIGNMENT_DELAYED = 5


class Status(Struct, frozen=True):
    """Problem of a streams group, with a message."""

    code: StatusCode
    detail: str


class InternalTopic(Struct, frozen=True):
    """Topic that the coordinator creates; a `replication_factor` of 0 means the broker's default."""

    name: str
    partitions: int
    replication_factor: int = UNDECIDED
    configs: tuple[tuple[str, str], ...] = ()


class ConfiguredSubtopology(Struct, frozen=True):
    """Subtopology with its number of tasks; topics are by name."""

    tasks: int
    source_topics: frozenset[str]
    repartition_source_topics: Mapping[str, InternalTopic]
    repartition_sink_topics: frozenset[str]
    state_changelog_topics: Mapping[str, InternalTopic]


_NO_TOPICS: Mapping[str, InternalTopic] = MappingProxyType({})


class ConfiguredTopology(Struct, frozen=True):
    """Topology matched with existing topics; `missing` are the topics to create.

    `subtopologies` are by id, in order; None if they are unknown.
    """

    epoch: int
    subtopologies: Mapping[str, ConfiguredSubtopology] | None
    missing: Mapping[str, InternalTopic] = _NO_TOPICS
    problem: Status | None = None

    @property
    def is_ready(self) -> bool:
        """Whether tasks can be assigned."""
        return self.problem is None
