"""Linux's poller: the sockets of all connections of a loop in an epoll that the loop watches as one file.

So all sockets that are ready together are known here, and answers can leave in groups: each send wakes its
peer, and peers woken one by one while the next request is being served cost a fifth of the broker's time.

A poll is served by `_native` where it was built, else by the pure-Python implementation `_python`. Most
requests come whole and alone and are answered at once with a few bytes; the Python code around such a request
takes as long as decoding and encoding it.
"""

from __future__ import annotations

import os
import select
from typing import TYPE_CHECKING, Final

from kcompat import capabilities

if capabilities.native("kcompat.net._native"):
    from kcompat.net._native import serve
else:
    from kcompat.net._python import serve

if TYPE_CHECKING:
    from collections.abc import Callable
    from socket import socket

    from kcompat.net._python import Sends, Serve
    from kcompat.net.answers import Piece
    from kcompat.net.hub import Hub
    from kcompat.net.poller import Reader, Watched

READABLE: Final = select.EPOLLIN
WRITABLE: Final = select.EPOLLOUT

POLLS_AN_ITERATION: Final = 4
"""Maximum number of polls in a row while sockets are ready: an iteration of the loop costs as much as two
requests. With more polls, the loop's other callbacks would wait too long.
"""


class EpollPoller:
    """A `Poller` on one epoll for all sockets of a loop, which the loop watches as one file."""

    __slots__ = ("_epoll", "_hub", "_is_serving", "_readers", "_sends", "_serve", "_writers")

    def __init__(self, hub: Hub, serve: Serve = serve) -> None:
        """Make the poller of a hub's loop; `serve` makes one poll: `_native.serve` or `_python.serve`."""
        self._hub = hub
        self._serve = serve
        self._epoll = select.epoll()
        self._readers: dict[int, Reader] = {}
        self._writers: dict[int, Watched] = {}
        self._sends: Sends = []
        self._is_serving = False
        hub.loop.add_reader(self._epoll.fileno(), self._iterate)

    def close(self) -> None:
        if not self._epoll.closed:
            self._hub.loop.remove_reader(self._epoll.fileno())
            self._epoll.close()

    def add_reader(self, fd: int, reader: Reader) -> None:
        self._readers[fd] = reader
        self._watch(fd, fd in self._writers)

    def add_writer(self, fd: int, connection: Watched) -> None:
        self._writers[fd] = connection
        self._watch(fd, fd in self._readers)

    def remove_reader(self, fd: int) -> None:
        if self._readers.pop(fd, None) is not None:
            self._forget(fd, WRITABLE if fd in self._writers else 0)

    def remove_writer(self, fd: int) -> None:
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
        if self._is_serving:
            self._sends.append((send, pieces))
        else:
            send(pieces)

    def send_file(self, sock: socket, file: int, position: int, count: int) -> int:
        return os.sendfile(sock.fileno(), file, position, count)

    def _iterate(self) -> None:
        self._is_serving = True
        self._hub.iteration.begin()
        try:
            for _ in range(POLLS_AN_ITERATION):
                if not self._serve(self._hub, self._epoll, self._readers, self._writers, self._sends):
                    break
        finally:
            self._is_serving = False
            self._hub.iteration.end()
