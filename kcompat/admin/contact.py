"""Whether a client reaches brokers: the lines that Java's client logs, and the last failure."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Final, NamedTuple

from kcompat.admin.connection import LostConnectionError
from kcompat.admin.log_lines import NETWORK_CLIENT, log_line
from kcompat.peer.errors import PeerFault

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcompat.admin.connection import Node
    from kcompat.admin.errors import JavaError
    from kcompat.admin.settings import ClientSettings

_REFUSALS: Final = (PeerFault.REFUSED, PeerFault.TIMED_OUT, PeerFault.UNREACHABLE, PeerFault.UNKNOWN)


class Failure(NamedTuple):
    """A broker that a client could not reach, or that ended the connection."""

    settings: ClientSettings
    address: tuple[str, int]
    error: LostConnectionError | JavaError


_failures: list[Failure] = []  # at most one: of the client that last asked for something


def take_failure() -> Failure | None:
    """Return the failure of the last request in this process, and forget it; None if it was answered."""
    return _failures.pop() if _failures else None


class Contact:
    """The contact of one client to brokers."""

    def __init__(self, settings: ClientSettings, *, logs: bool) -> None:
        """Log as Java's client does if `logs` says so."""
        self._settings = settings
        self._logs = logs

    def made(self) -> None:
        """Take note that a broker has answered."""
        _failures.clear()

    def lost(self, node: Node, error: LostConnectionError | JavaError) -> None:
        """Take note that there was no answer."""
        _failures[:] = [Failure(self._settings, (node.host, node.port), error)]

    def unknown(self, broker_id: int, known: Iterable[int]) -> None:
        """Take note that a broker is not among the known ones; id -1 stands for a controller that is not
        there.
        """
        ids = ", ".join(map(str, sorted(known)))
        what = f"broker {broker_id} is not in the cluster, which has broker {ids}"
        if broker_id < 0:
            what = "the cluster has no controller now"
        error = LostConnectionError(PeerFault.UNKNOWN, what)
        _failures[:] = [Failure(self._settings, self._settings.bootstrap[0], error)]

    def not_made(self, node: Node, error: LostConnectionError | JavaError) -> None:
        """Take note that there is no connection, and log it."""
        self.lost(node, error)
        where = f"node {node.id} ({node.host}/{node.host}:{node.port})"
        if not isinstance(error, LostConnectionError):
            self._log("ERROR", f"Connection to {where} failed authentication due to: {error}")
        elif error.fault in _REFUSALS:
            self._log("WARN", f"Connection to {where} could not be established. Node may not be available.")
        else:
            self._log("WARN", f"Connection to {where} terminated during authentication: {error}")

    def _log(self, level: str, text: str) -> None:
        if self._logs:
            log_line(level, f"[AdminClient clientId={self._settings.client_id}] {text}", NETWORK_CLIENT)


def resolves(address: tuple[str, int]) -> bool:
    """Return whether the name of a host resolves; log it if not."""
    host, port = address
    try:
        socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):  # the latter of a name that cannot be one in DNS
        log_line(
            "WARN",
            f"Couldn't resolve server {host}:{port} from bootstrap.servers as DNS resolution failed for "
            f"{host}",
            "org.apache.kafka.clients.ClientUtils",
        )
        return False
    return True
