"""State of a fetcher for each of its partitions, and the requests that it sends besides Fetch."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kcompat.log.epochs import UNDEFINED
from kcompat.protocol.messages.list_offsets import ListOffsetsRequest
from kcompat.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from kcompat.replication.following.follower_fetch_session import PartitionFetch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.replication.following.follower_log import FollowerLog
    from kcompat.topics import TopicPartition

Epochs = OffsetForLeaderEpochRequest.OffsetForLeaderTopic
Offsets = ListOffsetsRequest.ListOffsetsTopic

BEHIND_MAX_BYTES: Final = 4 << 20
"""Maximum bytes of one fetch for a partition that is behind, unless `replica.fetch.max.bytes` is set.

The fixed work of a fetch is about as much as that for 1 MiB of records.
"""


class FetcherConfig(Struct, frozen=True, kw_only=True):
    """Limits of fetches (`replica.fetch.*`); times in ms."""

    max_wait_ms: int
    min_bytes: int
    partition_max_bytes: int
    behind_max_bytes: int
    """Maximum bytes, in place of `partition_max_bytes`, for a partition that is behind the leader's high
    watermark.
    """
    response_max_bytes: int
    backoff_ms: int
    truncates_on_fetch: bool
    """Whether leaders detect divergent logs in Fetch: true from `inter.broker.protocol.version` 2.7 on."""


class Stage(Enum):
    """Stage of a partition: the request that it needs next."""

    FETCHING = auto()
    TRUNCATING = auto()
    """Needs OffsetForLeaderEpoch, to learn where the last epoch of the log ends in the leader's log."""
    SEEKING_END = auto()
    """Needs ListOffsets for the end of the leader's log, because the fetch offset is outside that log."""
    SEEKING_START = auto()
    """Needs ListOffsets for the start of the leader's log."""


class FetchState(Struct):
    """Progress of one partition in fetching from its leader (Kafka's `PartitionFetchState`)."""

    log: FollowerLog
    leader_epoch: int
    stage: Stage
    failures: int = 0
    """Number of consecutive failed requests."""
    lag: int = -1
    """Number of offsets that the log is behind the leader's high watermark; -1 before the first response."""

    def next_fetch(self, config: FetcherConfig) -> PartitionFetch:
        """Return the fields of the next Fetch request for this partition."""
        log = self.log
        return PartitionFetch(
            log.topic_id,
            log.log_end_offset,
            log.log_start_offset,
            self.leader_epoch,
            log.latest_epoch if config.truncates_on_fetch else UNDEFINED,
            config.behind_max_bytes if self.lag > 0 else config.partition_max_bytes,
        )


def epochs_request(
    broker_id: int, about: Sequence[tuple[TopicPartition, FetchState]]
) -> OffsetForLeaderEpochRequest | None:
    """Return the OffsetForLeaderEpoch request for the last epoch of each of these logs; None without
    partitions.
    """
    topics: dict[str, Epochs] = {}
    for (topic, index), state in about:
        question = OffsetForLeaderEpochRequest.OffsetForLeaderPartition(
            index, state.leader_epoch, state.log.latest_epoch
        )
        topics.setdefault(topic, Epochs(topic)).partitions.append(question)
    return OffsetForLeaderEpochRequest(broker_id, list(topics.values())) if topics else None


def offsets_request(
    broker_id: int, about: Sequence[tuple[TopicPartition, FetchState]], timestamp: int
) -> ListOffsetsRequest | None:
    """Return the ListOffsets request for `timestamp` in each of these logs; None without partitions."""
    topics: dict[str, Offsets] = {}
    for (topic, index), state in about:
        question = ListOffsetsRequest.ListOffsetsPartition(index, state.leader_epoch, timestamp)
        topics.setdefault(topic, Offsets(topic)).partitions.append(question)
    return ListOffsetsRequest(broker_id, topics=list(topics.values())) if topics else None
