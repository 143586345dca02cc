"""The sockets of all connections of one loop, in an epoll of their own that the loop watches as one file.

So all sockets that are ready together are known here, and answers can leave in groups: each send
wakes its peer, and peers woken one by one while the next request is being served cost a fifth of our time.
"""

from __future__ import annotations

import select
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from kcompat.net.answers import Piece

    Sends = list[tuple[Callable[[list[Piece]], object], list[Piece]]]

READABLE: Final = select.EPOLLIN
WRITABLE: Final = select.EPOLLOUT

SENDS_AT_ONCE: Final = 8
"""Connections whose answers leave together. With more the peers have nothing to do meanwhile."""
EVENTS_A_POLL: Final = 256
POLLS_A_TURN: Final = 4
"""How often to look again while there is something: the loop takes as long for its own round as two requests.
More would keep those waiting whom the loop wakes."""


class Poller:
    """Calls back for sockets that are ready, as `loop.add_reader` and `add_writer` do."""

    __slots__ = ("_epoll", "_loop", "_readers", "_sends", "_writers")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._epoll = select.epoll()
        self._readers: dict[int, Callable[[], object]] = {}
        self._writers: dict[int, Callable[[], object]] = {}
        self._sends: Sends | None = None
        loop.add_reader(self._epoll.fileno(), self._turn)

    def close(self) -> None:
        """Watch nothing any more."""
        if not self._epoll.closed:
            self._loop.remove_reader(self._epoll.fileno())
            self._epoll.close()

    def add_reader(self, fd: int, callback: Callable[[], object]) -> None:
        """Call back whenever `fd` has something to read, or was hung up."""
        self._readers[fd] = callback
        self._watch(fd, fd in self._writers)

    def add_writer(self, fd: int, callback: Callable[[], object]) -> None:
        """Call back whenever `fd` takes something, or was hung up."""
        self._writers[fd] = callback
        self._watch(fd, fd in self._readers)

    def remove_reader(self, fd: int) -> None:
        """No more callbacks for reading; nothing happens if there were none."""
        if self._readers.pop(fd, None) is not None:
            self._forget(fd, WRITABLE if fd in self._writers else 0)

    def remove_writer(self, fd: int) -> None:
        """No more callbacks for writing; nothing happens if there were none."""
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
        """Call `send(pieces)` before this turn ends; at once outside of a turn."""
        if self._sends is None:
            send(pieces)
        else:
            self._sends.append((send, pieces))

    def _turn(self) -> None:
        sends = self._sends = []
        try:
            for _ in range(POLLS_A_TURN):
                ready = self._epoll.poll(0, EVENTS_A_POLL)
                if not ready:
                    break
                self._call_back(ready, sends)
                _send_all(sends)
        finally:
            self._sends = None
            _send_all(sends)

    def _call_back(self, ready: list[tuple[int, int]], sends: Sends) -> None:
        readers, writers = self._readers, self._writers
        for fd, events in ready:
            # looked up one by one: an earlier callback may have removed a later one
            if events & ~WRITABLE and (callback := readers.get(fd)) is not None:
                callback()
            if events & ~READABLE and (callback := writers.get(fd)) is not None:
                callback()
            if len(sends) >= SENDS_AT_ONCE:
                _send_all(sends)


def _send_all(sends: Sends) -> None:
    for send, pieces in sends:
        send(pieces)
    sends.clear()
