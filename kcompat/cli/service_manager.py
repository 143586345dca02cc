"""The states that systemd is told of a service with Type=notify, by the protocol of sd_notify(3)."""

from __future__ import annotations

import logging
import os
import socket
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

logger = logging.getLogger(__name__)

SOCKET_VARIABLE: Final = "NOTIFY_SOCKET"
"""Environment variable with the path of systemd's datagram socket; one that begins with `@` is abstract."""
READY: Final = b"READY=1"
STOPPING: Final = b"STOPPING=1"
TIMEOUT_S: Final = 1
"""Seconds that a service manager may take to read the states before this one."""


def report_service(undo: AsyncExitStack) -> None:
    """Report that the service is ready, and when `undo` begins to close that it is stopping.

    Does nothing where no service manager waits for this process.
    """
    address = os.environ.get(SOCKET_VARIABLE, "")
    if not address:
        return
    _send(address, READY)
    undo.callback(_send, address, STOPPING)


def _send(address: str, state: bytes) -> None:
    """Send one state. The broker serves clients also where that fails."""
    place = f"\0{address[1:]}" if address.startswith("@") else address
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection:
            connection.settimeout(TIMEOUT_S)
            connection.sendto(state, place)
    except OSError as error:
        logger.warning(
            "The service manager cannot be told %s at %s=%s: %s",
            state.decode(),
            SOCKET_VARIABLE,
            address,
            error,
        )
