"""The event that hands out blocks of producer ids. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kcompat.cluster.store import Create, SetData
from kcompat.cluster.znodes import (
    PRODUCER_ID_BLOCK,
    PRODUCER_ID_BLOCK_SIZE,
    ProducerIdBlock,
    encode_producer_ids,
)
from kcompat.controller.state import ABSENT, Decision

if TYPE_CHECKING:
    from kcompat.cluster.store import Op
    from kcompat.controller.state import ControllerState
    from kcompat.protocol.errors import ErrorCode

MAX_PRODUCER_ID = 2**63 - 1


class AllocateProducerIds(Struct, frozen=True):
    """Take the next block of producer ids for a broker; no id is handed out twice while the cluster lives."""

    broker_id: int

    def decide(self, state: ControllerState) -> Decision[ProducerIdBlock | None]:
        """The block behind the last one; None when the ids are used up."""
        first = state.last_producer_id + 1
        block = ProducerIdBlock(self.broker_id, first, first + PRODUCER_ID_BLOCK_SIZE - 1)
        if block.last > MAX_PRODUCER_ID:
            return Decision(state, None)
        data, version = encode_producer_ids(block), state.producer_ids_version
        write: Op = (
            Create(PRODUCER_ID_BLOCK, data)
            if version == ABSENT
            else SetData(PRODUCER_ID_BLOCK, data, version)
        )
        after = replace(state, last_producer_id=block.last, producer_ids_version=version + 1)
        return Decision(after, block, [write])

    def refused(self, error: ErrorCode) -> ProducerIdBlock | None:  # noqa: ARG002
        """No block."""
        return None
