"""What to fetch next of a partition: what comes behind the log end, or behind what is still to be appended.

The latter lets the leader send while the follower writes. A fetch says that the follower has everything below
its offset. To say so too early is harmless as long as the offset is below the high watermark, which never
falls: the leader lets nobody into the ISR at such an offset, and cannot raise the high watermark because of
it. So only who is far behind asks ahead, and takes more at a time then. If the append fails, the early answer
is for an offset at which the log does not end, and counts for nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.log.epochs import UNDEFINED
from kcompat.records.batch import iter_headers
from kcompat.records.layout import MAGIC
from kcompat.replication.follower_session import Asked

if TYPE_CHECKING:
    from kcompat.protocol.messages.fetch import FetchResponse
    from kcompat.replication.fetch_state import FetcherConfig, Following


def ask_next(following: Following, config: FetcherConfig) -> Asked:
    """What to ask where all is appended."""
    log = following.log
    return Asked(
        log.topic_id,
        log.log_end_offset,
        log.log_start_offset,
        following.leader_epoch,
        log.latest_epoch if config.truncates_on_fetch else UNDEFINED,
        config.partition_max_bytes,
    )


def ask_ahead(
    following: Following, asked: Asked, answer: FetchResponse.PartitionData, config: FetcherConfig
) -> Asked | None:
    """What to ask next, though what the `answer` has brought is not appended; None where the follower is not
    behind by as much again, at the least.

    Kafka's leaders can show a high watermark that is a little lower than before, once their log has moved to
    another directory: hence the distance.
    """
    records = answer.records
    if not isinstance(records, memoryview) or answer.high_watermark <= asked.offset:
        return None  # who is in sync is spared the rest
    if not following.log.asks_ahead:
        return None
    end, last_epoch = asked.offset, UNDEFINED
    for _, header in iter_headers(records):
        if header.magic != MAGIC:
            return None
        if header.leader_epoch > following.leader_epoch:
            break  # this and what follows will not be appended
        end, last_epoch = header.last_offset + 1, header.leader_epoch
    if not asked.offset < end <= answer.high_watermark - (end - asked.offset):
        return None
    return Asked(
        asked.topic_id,
        end,
        following.log.log_start_offset,
        asked.leader_epoch,
        last_epoch if config.truncates_on_fetch else UNDEFINED,
        config.behind_max_bytes,
    )
