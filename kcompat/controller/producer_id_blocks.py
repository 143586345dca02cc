"""The event that hands out blocks of producer ids. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kcompat.cluster.znodes import (
    PRODUCER_ID_BLOCK,
    PRODUCER_ID_BLOCK_SIZE,
    ProducerIdBlock,
    encode_producer_ids,
)
from kcompat.controller.state import ABSENT, Decision
from kcompat.protocol.errors import ErrorCode
from kcompat.store.interface import Create, SetData

if TYPE_CHECKING:
    from kcompat.controller.state import ControllerState
    from kcompat.store.interface import Op

MAX_PRODUCER_ID = 2**63 - 1


class AllocateProducerIds(Struct, frozen=True):
    """Take the next block of producer ids for a broker; no id is handed out twice while the cluster lives.

    The controller's own broker needs no `broker_epoch`.
    """

    broker_id: int
    broker_epoch: int | None = None

    def decide(self, state: ControllerState) -> Decision[ProducerIdBlock | ErrorCode]:
        """The block behind the last one; UNKNOWN_SERVER_ERROR when the ids are used up."""
        if self.broker_epoch is not None:
            broker = state.brokers.get(self.broker_id)
            if broker is None:
                return Decision(state, ErrorCode.BROKER_ID_NOT_REGISTERED)
            if broker.epoch != self.broker_epoch:
                return Decision(state, ErrorCode.STALE_BROKER_EPOCH)
        first = state.last_producer_id + 1
        block = ProducerIdBlock(self.broker_id, first, first + PRODUCER_ID_BLOCK_SIZE - 1)
        if block.last > MAX_PRODUCER_ID:
            return Decision(state, ErrorCode.UNKNOWN_SERVER_ERROR)
        data, version = encode_producer_ids(block), state.producer_ids_version
        write: Op = (
            Create(PRODUCER_ID_BLOCK, data)
            if version == ABSENT
            else SetData(PRODUCER_ID_BLOCK, data, version)
        )
        after = replace(state, last_producer_id=block.last, producer_ids_version=version + 1)
        return Decision(after, block, [write])

    def refused(self, error: ErrorCode) -> ErrorCode:
        """The error itself."""
        return error
