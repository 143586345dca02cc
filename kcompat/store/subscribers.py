"""Listeners by the key that they subscribed to, called in the order of their subscriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from kcompat.faults import contained

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

Key = TypeVar("Key", bound="Hashable | None")
Event = TypeVar("Event")


class Subscribers(Generic[Key, Event]):
    """Listeners by key. An exception of a listener is logged, and the other listeners are still called."""

    def __init__(self, what: str) -> None:
        """Make a table without listeners; `what` names a listener in log messages."""
        self._what = what
        self._listeners: dict[Key, list[Subscription[Key, Event]]] = {}

    def add(self, key: Key, listener: Callable[[Event], object]) -> Subscription[Key, Event]:
        """Call `listener` with every later event of `key`."""
        subscription = Subscription(self._listeners, key, listener)
        self._listeners.setdefault(key, []).append(subscription)
        return subscription

    def notify(self, key: Key, event: Event) -> None:
        """Call the present listeners of `key` with an event."""
        for subscription in tuple(self._listeners.get(key, ())):
            with contained(self._what):
                subscription.listener(event)

    def watched(self) -> list[Key]:
        """Return the keys with listeners."""
        return list(self._listeners)

    def __contains__(self, key: Key) -> bool:
        return key in self._listeners

    def clear(self) -> None:
        """Remove all listeners."""
        self._listeners.clear()


class Subscription(Generic[Key, Event]):
    """Subscription of one listener to a key, which can be cancelled."""

    __slots__ = ("_key", "_listeners", "listener")

    def __init__(
        self,
        listeners: dict[Key, list[Subscription[Key, Event]]],
        key: Key,
        listener: Callable[[Event], object],
    ) -> None:
        self._listeners = listeners
        self._key = key
        self.listener = listener

    def cancel(self) -> None:
        """Remove the listener; harmless when repeated."""
        listeners = self._listeners.get(self._key, [])
        if self in listeners:
            listeners.remove(self)
            if not listeners:
                del self._listeners[self._key]
