"""The name by which other machines may know this host, looked up without blocking the event loop."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")

logger = logging.getLogger(__name__)

PATIENCE_S: Final = 5.0
"""Longest time in seconds to wait for name servers.

A resolver with default settings asks a silent server twice, for 5 s each time.
"""


class Names(Protocol):
    """Queries to a name resolver. All but `own` may block for long, and raise OSError without an answer."""

    def own(self) -> str:
        """Return the name that this host gives itself."""

    def addresses_of(self, name: str) -> Sequence[str]:
        """Return the addresses of a host, IPv4 addresses first."""

    def name_of(self, address: str) -> str:
        """Return the name of the host with an address."""


class SystemNames:
    """`Names` of this host's own resolver."""

    def own(self) -> str:
        return socket.gethostname()

    def addresses_of(self, name: str) -> Sequence[str]:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
        found.sort(key=lambda entry: entry[0] != socket.AF_INET)
        return [str(address[0]) for *_, address in found]

    def name_of(self, address: str) -> str:
        return socket.getnameinfo((address, 0), socket.NI_NAMEREQD)[0]


def canonical_name(names: Names) -> str:
    """Return the name that Kafka registers, Java's `InetAddress.getLocalHost().getCanonicalHostName()`.

    This is the name of the host's first address if that name resolves to the address again, else the address.
    Raises OSError where this host does not know its own address.
    """
    address = names.addresses_of(names.own())[0]
    with suppress(OSError):
        name = names.name_of(address)
        if address in names.addresses_of(name):
            return name
    return address


async def host_name(names: Names | None = None, patience_s: float = PATIENCE_S) -> str:
    """Return the canonical name of this host. If it is not found in time, log a warning and return the name
    that the host gives itself.

    The lookup runs in a daemon thread, so a silent name server does not delay the end of the process.
    """
    names = names or SystemNames()
    loop = asyncio.get_running_loop()
    found: asyncio.Future[str] = loop.create_future()

    def ask() -> None:
        try:
            name = canonical_name(names)
        except (OSError, UnicodeError) as error:  # the latter of a name that cannot be one in DNS
            tell(found.set_exception, error)
        else:
            tell(found.set_result, name)

    def tell(settle: Callable[[T], object], outcome: T) -> None:
        with suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(lambda: found.done() or settle(outcome))

    threading.Thread(target=ask, name="lookup of this host", daemon=True).start()
    try:
        return await asyncio.wait_for(found, patience_s)
    except (OSError, UnicodeError) as error:
        name = names.own()
        reason = "no name server answers" if isinstance(error, TimeoutError) else error
        logger.warning(
            "The canonical name of this host is not known (%s): clients and brokers are told %s. Set "
            "advertised.listeners where they cannot reach that.",
            reason,
            name,
        )
        return name
