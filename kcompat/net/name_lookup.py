"""Lookup of host names without blocking the event loop."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    Address: TypeAlias = tuple[socket.AddressFamily, tuple[Any, ...]]


def look_up(
    loop: asyncio.AbstractEventLoop, host: str, port: int, found: Callable[[Sequence[Address]], object]
) -> None:
    """Look up the addresses of a host and pass them to `found`, later and from the loop; none if the name is
    unknown.

    A numeric address needs no resolver. A name is looked up in a daemon thread, so a silent name server
    blocks neither the loop nor the end of the process.
    """
    try:
        numeric = _ask(host, port, socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        threading.Thread(
            target=_ask_aside, args=(loop, host, port, found), name=f"lookup of {host}", daemon=True
        ).start()
        return
    loop.call_soon(found, numeric)


def _ask_aside(
    loop: asyncio.AbstractEventLoop, host: str, port: int, found: Callable[[Sequence[Address]], object]
) -> None:
    try:
        addresses = _ask(host, port)
    except (OSError, UnicodeError):  # the latter of a name that cannot be one in DNS
        addresses = []
    with suppress(RuntimeError):  # the loop was closed meanwhile
        loop.call_soon_threadsafe(found, addresses)


def _ask(host: str, port: int, flags: int = 0) -> list[Address]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)
    return [(family, address) for family, _, _, _, address in found]
