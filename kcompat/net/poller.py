"""The sockets of all connections of one loop, in an epoll of their own that the loop watches as one file.

So all sockets that are ready together are known here, and answers can leave in groups: each send
wakes its peer, and peers woken one by one while the next request is being served cost a fifth of our time.

A poll is served by `_native` where it was built, else by its twin `_python`: most requests come whole and
alone and are answered at once with a few bytes, and what Python does around such a one takes as long as
decoding and encoding it.
"""

from __future__ import annotations

import select
from typing import TYPE_CHECKING, Final

from kcompat import twins
from kcompat.net._python import READABLE, WRITABLE

if twins.native("kcompat.net._native"):
    from kcompat.net._native import serve
else:
    from kcompat.net._python import serve

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.net._python import Sends
    from kcompat.net.answers import Piece
    from kcompat.net.connection import Connection
    from kcompat.net.hub import Hub

POLLS_A_TURN: Final = 4
"""How often to look again while there is something: the loop takes as long for its own round as two requests.
More would keep those waiting whom the loop wakes."""


class Poller:
    """Calls the connections of `hub` whose sockets are ready, as a loop calls its readers and writers."""

    __slots__ = ("_epoll", "_hub", "_readers", "_sends", "_turns", "_writers")

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._epoll = select.epoll()
        self._readers: dict[int, Connection] = {}
        self._writers: dict[int, Connection] = {}
        self._sends: Sends = []
        self._turns = False
        hub.loop.add_reader(self._epoll.fileno(), self._turn)

    def close(self) -> None:
        """Watch nothing any more."""
        if not self._epoll.closed:
            self._hub.loop.remove_reader(self._epoll.fileno())
            self._epoll.close()

    def add_reader(self, fd: int, connection: Connection) -> None:
        """Call `on_readable` whenever `fd` has something to read, or was hung up."""
        self._readers[fd] = connection
        self._watch(fd, fd in self._writers)

    def add_writer(self, fd: int, connection: Connection) -> None:
        """Call `on_writable` whenever `fd` takes something, or was hung up."""
        self._writers[fd] = connection
        self._watch(fd, fd in self._readers)

    def remove_reader(self, fd: int) -> None:
        """No more calls for reading; nothing happens if there were none."""
        if self._readers.pop(fd, None) is not None:
            self._forget(fd, WRITABLE if fd in self._writers else 0)

    def remove_writer(self, fd: int) -> None:
        """No more calls for writing; nothing happens if there were none."""
        if self._writers.pop(fd, None) is not None:
            self._forget(fd, READABLE if fd in self._readers else 0)

    def _watch(self, fd: int, known: bool) -> None:
        if known:
            self._epoll.modify(fd, READABLE | WRITABLE)
        else:
            self._epoll.register(fd, READABLE if fd in self._readers else WRITABLE)

    def _forget(self, fd: int, left: int) -> None:
        if left:
            self._epoll.modify(fd, left)
        else:
            self._epoll.unregister(fd)

    def send_soon(self, send: Callable[[list[Piece]], object], pieces: list[Piece]) -> None:
        """Call `send(pieces)` before this poll ends; at once outside of a turn."""
        if self._turns:
            self._sends.append((send, pieces))
        else:
            send(pieces)

    def _turn(self) -> None:
        self._turns = True
        try:
            for _ in range(POLLS_A_TURN):
                if not serve(self._hub, self._epoll, self._readers, self._writers, self._sends):
                    break
        finally:
            self._turns = False
