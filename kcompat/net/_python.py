"""Pure-Python implementation of `_native`: one poll of the connections of a loop; alignment of file data."""

from __future__ import annotations

import select
from typing import TYPE_CHECKING

from kcompat.net.sizes import EVENTS_A_POLL, GRAIN, SENDS_AT_ONCE

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from kcompat.net.answers import Piece
    from kcompat.net.hub import Hub
    from kcompat.net.poller import Reader, Watched

    Sends: TypeAlias = list[tuple[Callable[[list[Piece]], object], list[Piece]]]
    Serve: TypeAlias = Callable[[Hub, select.epoll, dict[int, Reader], dict[int, Watched], Sends], int]


def serve(
    hub: Hub,  # noqa: ARG001 - whose scratch buffer and limits the native one uses
    epoll: select.epoll,
    readers: dict[int, Reader],
    writers: dict[int, Watched],
    sends: Sends,
) -> int:
    """Poll once for ready sockets, call their connections, and send the answers that those left in `sends`.

    Returns the number of ready sockets.
    """
    readable, writable = select.EPOLLIN, select.EPOLLOUT
    ready = epoll.poll(0, EVENTS_A_POLL)
    try:
        for fd, events in ready:
            # looked up one by one: an earlier connection may have removed a later one
            if events & ~writable and (reader := readers.get(fd)) is not None:
                (reader if callable(reader) else reader.on_readable)()
            if events & ~readable and (connection := writers.get(fd)) is not None:
                connection.on_writable()
            if len(sends) >= SENDS_AT_ONCE:
                _send_all(sends)
    finally:
        _send_all(sends)
    return len(ready)


def misfit(data: memoryview, position: int) -> int:
    """Return the shift in bytes at which `data` would be copied fastest to `position` of a file.

    `data` is not empty; the result is below `GRAIN`, and 0 for read-only memory, whose address is not known.
    """
    import ctypes  # late: it takes a millisecond, and a broker of small batches never needs it

    if data.readonly:
        return 0
    return (position - ctypes.addressof(ctypes.c_char.from_buffer(data))) % GRAIN


def _send_all(sends: Sends) -> None:
    for send, pieces in sends:
        send(pieces)
    sends.clear()
