"""Who wants to write in a transaction, at the leader of a partition (KIP-890)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.replication.role import NO_EPOCH

if TYPE_CHECKING:
    from kcompat.log.verification import Verification
    from kcompat.protocol.errors import ErrorCode
    from kcompat.replication.partition import Partition


def begin_verification(
    partition: Partition, producer_id: int, epoch: int, sequence: int, now_ms: int, *, adds: bool
) -> Verification | ErrorCode:
    """See `ProducerState.begin_verification`; an error where this broker does not lead."""
    return partition.check_epoch(NO_EPOCH) or partition.log.producer_state.begin_verification(
        producer_id, epoch, sequence, now_ms, adds=adds
    )
