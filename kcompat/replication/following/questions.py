"""What a fetcher asks beside Fetch: where an epoch ended in the leader's log, and where that log ends or
starts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.messages.list_offsets import ListOffsetsRequest
from kcompat.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.replication.following.fetch_state import Following
    from kcompat.replication.following.follower_fetch_session import Key

Epochs = OffsetForLeaderEpochRequest.OffsetForLeaderTopic
Offsets = ListOffsetsRequest.ListOffsetsTopic


def ask_epochs(broker_id: int, about: Sequence[tuple[Key, Following]]) -> OffsetForLeaderEpochRequest | None:
    """Where the last epoch of each of these ended; None where there are none."""
    topics: dict[str, Epochs] = {}
    for (topic, index), following in about:
        question = OffsetForLeaderEpochRequest.OffsetForLeaderPartition(
            index, following.leader_epoch, following.log.latest_epoch
        )
        topics.setdefault(topic, Epochs(topic)).partitions.append(question)
    return OffsetForLeaderEpochRequest(broker_id, list(topics.values())) if topics else None


def ask_offsets(
    broker_id: int, about: Sequence[tuple[Key, Following]], timestamp: int
) -> ListOffsetsRequest | None:
    """The offset that `timestamp` stands for in the log of each of these; None where there are none."""
    topics: dict[str, Offsets] = {}
    for (topic, index), following in about:
        question = ListOffsetsRequest.ListOffsetsPartition(index, following.leader_epoch, timestamp)
        topics.setdefault(topic, Offsets(topic)).partitions.append(question)
    return ListOffsetsRequest(broker_id, topics=list(topics.values())) if topics else None
