"""Producer ids: the blocks that the controller allocates, and the ids that a broker takes from its block.

Kafka's counterparts: `ZkProducerIdManager` and `RPCProducerIdManager`. The ids left in a block when the
broker stops are lost: no id is assigned twice.
"""

from __future__ import annotations

from collections import deque
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
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from kcompat.store.interface import Create, SetData

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.controller.state import ControllerState
    from kcompat.store.interface import Op

MAX_PRODUCER_ID = 2**63 - 1
MAX_WAITING = 10_000


class AllocateProducerIds(Struct, frozen=True):
    """Event: allocate the next block of producer ids to a broker. No id is ever allocated twice in a
    cluster. The controller's own broker needs no `broker_epoch`.
    """

    broker_id: int
    broker_epoch: int | None = None

    def decide(self, state: ControllerState) -> Decision[ProducerIdBlock | ErrorCode]:
        """Allocate the block after the last one; answer UNKNOWN_SERVER_ERROR when the ids are used up."""
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
        """Return `error` itself."""
        return error


class ProducerIds:
    """The current block of producer ids, and the promises that wait for the next block."""

    def __init__(self, allocate: Callable[[], Promise[ProducerIdBlock | None]]) -> None:
        self._allocate = allocate
        self._next = 0
        self._last = -1
        self._waiting: deque[Promise[int | None]] = deque()

    @property
    def rest(self) -> tuple[int, int]:
        """First and last id of the current block that are not assigned yet; there are none if the first is
        larger.
        """
        return self._next, self._last

    def resume(self, rest: tuple[int, int]) -> None:
        """Assign the `rest` of a block that was allocated to this broker before ids of another block."""
        self._next, self._last = rest

    def next(self) -> Promise[int | None]:
        """Return a producer id; None if none is available now and the client should retry."""
        if self._next <= self._last:
            return Promise.resolved(self._take())
        promise: Promise[int | None] = Promise()
        if len(self._waiting) >= MAX_WAITING:
            promise.complete(None)
            return promise
        self._waiting.append(promise)
        if len(self._waiting) == 1:
            self._ask()
        return promise

    def _ask(self) -> None:
        self._allocate().then(self._allocated, self._failed)

    def _allocated(self, block: ProducerIdBlock | None) -> None:
        if block is None:
            waiting, self._waiting = self._waiting, deque()
            for promise in waiting:
                promise.complete(None)
            return
        self._next, self._last = block.first, block.last
        while self._waiting and self._next <= self._last:
            self._waiting.popleft().complete(self._take())
        if self._waiting:
            self._ask()

    def _failed(self, error: Exception) -> None:
        """Fail each waiting promise; the next call allocates again."""
        waiting, self._waiting = self._waiting, deque()
        for promise in waiting:
            promise.fail(error)

    def _take(self) -> int:
        self._next += 1
        return self._next - 1
