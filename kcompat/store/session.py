"""The base of the sessions of every kind of store."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from kcompat.store.interface import ANY_VERSION, Create, Delete, SetData, Stat
from kcompat.store.subscribers import Subscribers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kcompat.store.interface import Op, OpResult, SessionState, Watch


class Session(ABC):
    """A session of a store: its state, its listeners, and operations on single nodes that are built on
    `multi`.
    """

    def __init__(self, session_id: int, state: SessionState) -> None:
        self._session_id = session_id
        self._state = state
        self._listeners: Subscribers[None, SessionState] = Subscribers("a listener to a session's state")

    @property
    def session_id(self) -> int:
        """Id of the session, which owns its ephemeral nodes; a new one after `renew`."""
        return self._session_id

    @property
    def state(self) -> SessionState:
        """State of the session as last reported."""
        return self._state

    def subscribe(self, listener: Callable[[SessionState], object]) -> Watch:
        """Call `listener` with every later state."""
        return self._listeners.add(None, listener)

    @abstractmethod
    async def multi(self, ops: Sequence[Op]) -> list[OpResult]:
        """Run all of `ops` as one transaction, or none of them."""

    async def create(
        self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequential: bool = False
    ) -> str:
        """Create a node and return its path."""
        (made,) = await self.multi([Create(path, data, ephemeral, sequential)])
        assert isinstance(made, str)
        return made

    async def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> Stat:
        """Replace a node's data."""
        (stat,) = await self.multi([SetData(path, data, version)])
        assert isinstance(stat, Stat)
        return stat

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        """Remove a node."""
        await self.multi([Delete(path, version)])
