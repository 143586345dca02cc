"""Persistent watches, made of ZooKeeper's one-time watches.

A watch that fires is set again, and the response has the node's present state: the reported events are the
differences to its state before. So no change is missed between the two, but several changes in between may be
reported as one. Watches are also set again when the session is connected again; then `MISSED` is reported.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from kazoo.exceptions import ConnectionLoss, NoNodeError
from kazoo.protocol.states import EventType as KazooEvent

from kcompat.store.interface import EventType, WatchEvent
from kcompat.store.subscribers import Subscribers
from kcompat.store.zookeeper.connection import is_end

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.store.interface import Watch
    from kcompat.store.zookeeper.connection import Answered, Send

_log = logging.getLogger(__name__)


class Watches:
    """The persistent watches of one `MetadataStore`."""

    def __init__(self, request: Callable[[Send, Answered], None], full_path: Callable[[str], str]) -> None:
        """Make an empty table. `request` sends a request at once; `full_path` returns a node's path in
        ZooKeeper.
        """
        self._request = request
        self._full_path = full_path
        self._listeners: Subscribers[str, WatchEvent] = Subscribers("a watch of the metadata store")
        self._nodes: dict[str, _Watched] = {}
        self._is_connected = False

    def add(self, path: str, listener: Callable[[WatchEvent], object]) -> Watch:
        """Call `listener` with every change of a node from now on."""
        subscription = self._listeners.add(path, listener)
        if path not in self._nodes:
            node = self._nodes[path] = _Watched(self, path, self._full_path(path))
            if self._is_connected:
                node.set()
        return subscription

    def suspend(self) -> None:
        """Note that the connection was lost, and ZooKeeper's watches with it."""
        self._is_connected = False
        for node in self._nodes.values():
            node.has_missed = True

    def resume(self) -> None:
        """Set all watches again on a new connection."""
        self._is_connected = True
        for node in list(self._nodes.values()):
            if self.is_wanted(node):
                node.set()

    def clear(self) -> None:
        """Remove all watches."""
        self._listeners.clear()
        self._nodes.clear()

    def is_wanted(self, node: _Watched) -> bool:
        """Return whether the node has a listener; without one, forget the node."""
        if node.path in self._listeners:
            return True
        self._nodes.pop(node.path, None)
        return False

    def notify(self, path: str, events: list[EventType]) -> None:
        """Report changes of a node to its listeners, in order."""
        for event in events:
            self._listeners.notify(path, WatchEvent(event, path))

    def request(self, send: Send, answered: Answered) -> None:
        """Send a request at once, ahead of all waiting requests."""
        self._request(send, answered)


class _Watched:
    """A watched node, with its last known state."""

    def __init__(self, watches: Watches, path: str, full_path: str) -> None:
        self.path = path
        self.has_missed = False
        self._watches = watches
        self._full_path = full_path
        self._known: tuple[Any] | None = None
        """Last known Stat of the node, in a tuple (a None in it: the node does not exist); None before the
        first response.
        """
        self._number = 0
        """Number of times that the watch was set, by which late responses to earlier settings are recognized.
        """

    def set(self) -> None:
        """Set ZooKeeper's watches on the node, and read its state."""
        self._number += 1
        number, path = self._number, self._full_path
        answers: list[Any] = []

        def answered(stat: Any, error: BaseException | None) -> None:
            if isinstance(error, NoNodeError):
                error = None
            if error is not None and not isinstance(error, ConnectionLoss) and not is_end(error):
                _log.error("%s cannot be watched: %r", self.path, error)
            answers.append(error or stat)
            if len(answers) == 2 and number == self._number:
                self._is_set(*answers)

        self._watches.request(lambda client: client.exists_async(path, self._fired), answered)
        self._watches.request(
            lambda client: client.get_children_async(path, self._fired, include_data=True), answered
        )

    def _fired(self, event: Any) -> None:
        if event.type != KazooEvent.NONE and self._watches.is_wanted(self):
            self.set()

    def _is_set(self, stat: Any, children: Any) -> None:
        if isinstance(stat, BaseException) or isinstance(children, BaseException):
            return  # set again with the connection
        now = stat
        if stat is not None and children is not None and children[1].pzxid > stat.pzxid:
            now = stat._replace(pzxid=children[1].pzxid)
        before, self._known = self._known, (now,)
        if self.has_missed:
            self.has_missed = False
            self._watches.notify(self.path, [EventType.MISSED])
        elif before is not None:
            self._watches.notify(self.path, differences(before[0], now))


def differences(before: Any, now: Any) -> list[EventType]:
    """Return the changes between two stats of a node (None: it does not exist), in the order in which they
    happened.
    """
    if before is None:
        return [] if now is None else [EventType.CREATED]
    if now is None:
        return [EventType.DELETED]
    if now.czxid != before.czxid:
        return [EventType.DELETED, EventType.CREATED]
    changes = []
    if now.mzxid != before.mzxid:
        changes.append((now.mzxid, EventType.CHANGED))
    if now.pzxid != before.pzxid:
        changes.append((now.pzxid, EventType.CHILDREN_CHANGED))
    return [event for _, event in sorted(changes)]
