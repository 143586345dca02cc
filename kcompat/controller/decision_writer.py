"""How a decision becomes durable: conditional writes, guarded by the controller's epoch.

Each transaction first checks the version of `/controller_epoch`. If that fails, another broker is the
controller. If the guard holds and something else does not, somebody else has written what the decision is
about: it is read again, and the event is decided anew on what is there.
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
"""A ZooKeeper server takes requests up to `jute.maxbuffer`, 1 MiB unless it is told otherwise."""

_OVERHEAD: Final = 60
"""Bytes of an operation beside its path and its data, about."""

ATTEMPTS: Final = 5
"""How often an event is decided, where others keep writing what it is about."""


class ControllerMovedError(StoreError):
    """Another broker has been elected since."""


class DecisionWriter:
    """Decides one event and writes what follows."""

    def __init__(self, store: MetadataStore, state: ControllerState) -> None:
        self._store = store
        self._state = state

    async def carry_out(self, event: Event[T]) -> Decision[T]:
        """The decision, when it is durable. Raises `ControllerMovedError` and the store's errors."""
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
    """The operations in order, in transactions that are not too large."""
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
