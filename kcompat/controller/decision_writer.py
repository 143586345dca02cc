"""Conditional writes that make a decision durable, guarded by the controller's epoch.

Each transaction first checks the version of `/controller_epoch`. If that check fails, another broker is the
controller. If another condition fails, some other writer has changed the nodes of the decision: they are read
again, and the event is decided anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from kcompat.cluster.znodes import CONTROLLER_EPOCH
from kcompat.controller import loading
from kcompat.store.interface import (
    BadVersionError,
    Check,
    Create,
    NodeExistsError,
    NoNodeError,
    SetData,
    StoreError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kcompat.controller.state import ControllerState, Decision, Event
    from kcompat.store.interface import MetadataStore, Op

T = TypeVar("T")

MAX_TRANSACTION_BYTES: Final = 512 * 1024
"""Bytes of one transaction at most, well below ZooKeeper's default of `jute.maxbuffer`, 1 MiB."""

_OVERHEAD: Final = 60
"""Approximate bytes of an operation in addition to its path and data."""

ATTEMPTS: Final = 5
"""Maximum number of attempts to decide one event while other writers keep changing its nodes."""


class ControllerMovedError(StoreError):
    """Error of a write with a stale controller epoch: another broker has been elected since."""


class DecisionWriter:
    """Writer of one event's decision: decides the event, and writes the consequences to the store."""

    def __init__(self, store: MetadataStore, state: ControllerState) -> None:
        self._store = store
        self._state = state

    async def carry_out(self, event: Event[T]) -> Decision[T]:
        """Decide the event, and return the decision once its writes are durable. Raises
        `ControllerMovedError` and the store's errors.
        """
        for attempt in range(ATTEMPTS):
            decision = event.decide(self._state)
            try:
                await self._write(decision.writes)
            except (BadVersionError, NodeExistsError, NoNodeError):
                await self._insist_on_office()
                if attempt == ATTEMPTS - 1:
                    raise
                paths = [op.path for op in decision.writes]
                self._state = await loading.refresh(self._store, self._state, paths)
            else:
                return decision
        raise AssertionError

    async def _write(self, ops: Sequence[Op]) -> None:
        guard = Check(CONTROLLER_EPOCH, self._state.epoch_version)
        for part in _parts(ops):
            await self._store.multi([guard, *part])

    async def _insist_on_office(self) -> None:
        stat = await self._store.exists(CONTROLLER_EPOCH)
        if stat is None or stat.version != self._state.epoch_version:
            raise ControllerMovedError(f"epoch {self._state.epoch} of this controller is over")


def _parts(ops: Sequence[Op]) -> Iterator[list[Op]]:
    """Split the operations, in order, into transactions of at most `MAX_TRANSACTION_BYTES`."""
    part: list[Op] = []
    size = 0
    for op in ops:
        data = op.data if isinstance(op, Create | SetData) else None
        weight = len(op.path) + len(data or b"") + _OVERHEAD
        if part and size + weight > MAX_TRANSACTION_BYTES:
            yield part
            part, size = [], 0
        part.append(op)
        size += weight
    if part:
        yield part
