"""The base of the sessions of every kind of store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.store.single_operations import SingleOperations
from kcompat.store.subscribers import Subscribers

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.store.interface import SessionState, Watch


class Session(SingleOperations):
    """A session with a state that others are told of."""

    def __init__(self, session_id: int, state: SessionState) -> None:
        self._session_id = session_id
        self._state = state
        self._listeners: Subscribers[None, SessionState] = Subscribers("a listener to a session's state")

    @property
    def session_id(self) -> int:
        """The id that its ephemeral nodes carry; another after `renew`."""
        return self._session_id

    @property
    def state(self) -> SessionState:
        """The state last told."""
        return self._state

    def subscribe(self, listener: Callable[[SessionState], object]) -> Watch:
        """Report every later state."""
        return self._listeners.add(None, listener)
