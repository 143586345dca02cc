"""Reading of a partition for a fetch (Kafka's `Partition.readRecords`).

Exceptions of a log that cannot be read are not caught here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from kcompat.protocol.constants import NO_EPOCH
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kcompat.log.converted import ConvertedRange
    from kcompat.log.files import FileRange
    from kcompat.log.log import Log
    from kcompat.replication.leading.leader import Leader

READ_UNCOMMITTED = 0
READ_COMMITTED = 1
CONSUMER = -1
NO_REPLICA = -1


class FetchSpec(Struct):
    """Fields of one partition in a fetch; offsets and epochs as in FetchRequest, -1 for an absent epoch."""

    offset: int
    max_bytes: int
    leader_epoch: int = NO_EPOCH
    last_fetched_epoch: int = NO_EPOCH
    log_start_offset: int = -1
    """Log start offset of a follower; -1 from other clients."""


class ReplicaChoice(Protocol):
    """Rule that directs a consumer to a replica that is nearer than the leader (KIP-392)."""

    def choose(self, leader: Leader, offset: int) -> int:
        """Return the id of the broker to read from; `NO_REPLICA` to read from this one."""


class PartitionReader(Struct, frozen=True):
    """Client or follower that fetches, and the way it reads (Kafka's `FetchParams`)."""

    isolation_level: int = READ_UNCOMMITTED
    replica_id: int = CONSUMER
    """Id of the follower's broker; `CONSUMER` for any other client."""
    broker_epoch: int = -1
    """Broker epoch of the follower's registration; -1 if the request has none."""
    leader_only: bool = True
    """Whether the reader can read from the leader only."""
    choice: ReplicaChoice | None = None

    @property
    def is_replica(self) -> bool:
        """Whether the reader is a follower, which reads up to the log end."""
        return self.replica_id >= 0


ANY_CONSUMER = PartitionReader()


class Fetched(Struct):
    """Response to a fetch for one partition. Its offsets are those seen before the read."""

    error: ErrorCode
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    records: FileRange | ConvertedRange | bytes = b""
    aborted: list[tuple[int, int]] | None = None
    diverging: tuple[int, int] | None = None
    preferred_replica: int = NO_REPLICA
    is_awaited: bool = False
    """Whether the reader is a follower that has to fetch again at once."""

    @property
    def ends_wait(self) -> bool:
        """Whether the response must be sent without waiting for more records."""
        return (
            bool(self.error)
            or self.diverging is not None
            or self.preferred_replica != NO_REPLICA
            or self.is_awaited
        )


def read(
    log: Log,
    spec: FetchSpec,
    answer: Fetched,
    upper: int,
    max_bytes: int,
    min_one_batch: bool,
    *,
    aborted: bool,
) -> Fetched:
    """Fill in the `answer` with records from the batch that contains `spec.offset` on, below `upper`; the
    last batch may be incomplete.

    With `aborted`, the aborted transactions in the records are added.
    """
    offset = spec.offset
    if offset == log.log_end_offset and spec.last_fetched_epoch == log.epochs.latest and not aborted:
        return answer  # the usual case for followers
    if spec.last_fetched_epoch != NO_EPOCH:
        epoch, end_offset = log.end_offset_for_epoch(spec.last_fetched_epoch)
        if epoch == NO_EPOCH or offset < log.log_start_offset:
            return Fetched(ErrorCode.OFFSET_OUT_OF_RANGE)
        if epoch < spec.last_fetched_epoch or end_offset < offset:
            answer.diverging = (epoch, end_offset)  # KIP-595
            return answer
    if offset < log.log_start_offset or offset > log.log_end_offset:
        return Fetched(ErrorCode.OFFSET_OUT_OF_RANGE)
    data: FileRange | None = None
    if offset < upper:
        if max_bytes < 0:
            return Fetched(ErrorCode.UNKNOWN_SERVER_ERROR)
        data = log.read(offset, max_bytes, upper, min_one_batch)
        if data is not None:
            answer.records = data
            if aborted:
                answer.aborted = log.aborted_transactions(offset, upper, data)
    if aborted and data is None:
        answer.aborted = []
    return answer
