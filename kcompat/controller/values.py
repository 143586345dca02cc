"""Arguments and results of calls to the controller: topic specifications and outcomes."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.uuids import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

USE_DEFAULT = -1
"""Number of partitions or replication factor that stands for the broker's default."""


class TopicSpec(Struct, frozen=True):
    """A topic to create. `assignments` are (partition index, broker ids) as the client sent them; if empty,
    the controller chooses.
    """

    name: str
    num_partitions: int = USE_DEFAULT
    replication_factor: int = USE_DEFAULT
    assignments: Sequence[tuple[int, Sequence[int]]] = ()
    configs: Sequence[tuple[str, str | None]] = ()


class TopicResult(Struct, frozen=True):
    """The result for one topic to create; `configs` are the topic's own."""

    name: str
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    topic_id: bytes = ZERO_UUID
    num_partitions: int = -1
    replication_factor: int = -1
    configs: Mapping[str, str] = {}


class PartitionsSpec(Struct, frozen=True):
    """A topic to extend to `count` partitions. `assignments` are the replicas of the new ones; if None, the
    controller chooses.
    """

    name: str
    count: int
    assignments: Sequence[Sequence[int]] | None = None


class ElectionType(IntEnum):
    """Types of election of ElectLeaders; the codes are Kafka's."""

    PREFERRED = 0
    UNCLEAN = 1


class TopicOutcome(Struct, frozen=True):
    """Result of a request for one topic or partition."""

    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


class TopicRefusedError(Exception):
    """Refusal of one topic of a request; the other topics are processed."""

    def __init__(self, error: ErrorCode, message: str | None) -> None:
        super().__init__(message)
        self.error = error
        self.message = message
