"""A listening socket that accepts connections in batches."""

from __future__ import annotations

import errno
import logging
import os
import select
import socket
from functools import partial
from typing import TYPE_CHECKING, Final

from kcompat import capabilities
from kcompat.descriptors import explained
from kcompat.logger_names import ACCEPTOR
from kcompat.net.listener import ListenerError
from kcompat.net.loop_poller import LoopPoller
from kcompat.net.loopback import LOCALHOST, bind_localhost
from kcompat.net.plain import PlainConnection
from kcompat.net.sockets import bound, hang_up
from kcompat.notices.causes import TOO_MANY_CONNECTIONS

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from kcompat.net.answers import FrameHandler
    from kcompat.net.hub import Hub
    from kcompat.net.listener import BoundListener
    from kcompat.net.poller import Poller
    from kcompat.security.tls_server import TlsServer

logger = logging.getLogger(ACCEPTOR)

ACCEPT_BATCH: Final = 64
"""Maximum number of connections accepted per event, so that a burst of them does not delay existing
connections.
"""
RETRY_S: Final = 0.5
"""Seconds without accepting after descriptors or `max.connections` were used up."""


def system_poller(hub: Hub) -> Poller:
    """Return the fastest poller that this system has."""
    if capabilities.has(select, "epoll") and capabilities.has(os, "sendfile"):
        from kcompat.net.epoll import EpollPoller  # late: other systems cannot import it

        return EpollPoller(hub)
    return LoopPoller(hub)


def bind(
    name: str,
    host: str,
    port: int,
    *,
    backlog: int = 50,
    buffers: tuple[int, int] = (-1, -1),
    protected: bool = False,
    tls: TlsServer | None = None,
    make_poller: Callable[[Hub], Poller] = system_poller,
) -> BoundListener:
    """Open a listening TCP socket, or one at each address of `localhost` (see `listener.Bind`).

    `make_poller` gives the connections of a hub their poller. Raises `ListenerError`.
    """
    if host == LOCALHOST:
        bind_at = partial(
            bind,
            name,
            backlog=backlog,
            buffers=buffers,
            protected=protected,
            tls=tls,
            make_poller=make_poller,
        )
        return bind_localhost(port, bind_at)
    try:
        sock = _listen(bound(host, port), backlog, *buffers)
    except OSError as error:
        raise ListenerError(f"Cannot listen on {host or '*'}:{port} ({name}): {_reason(error)}.") from error
    return PlainListener(name, sock, make_poller, protected=protected, tls=tls)


def _reason(error: OSError) -> str:
    """Return why an address cannot be bound to, and what to do."""
    if error.errno == errno.EADDRINUSE:
        return "the port is already in use; choose another, or stop what listens there"
    if error.errno == errno.EADDRNOTAVAIL or isinstance(error, socket.gaierror):
        return f"{error.strerror}; use localhost, or another name or address of this machine"
    if error.errno == errno.EACCES:
        return f"{error.strerror}; choose a port above 1023"
    return error.strerror or str(error)


class PlainListener:
    """A `BoundListener` on a bound and listening socket."""

    def __init__(
        self,
        name: str,
        sock: socket.socket,
        make_poller: Callable[[Hub], Poller],
        *,
        protected: bool,
        tls: TlsServer | None,
    ) -> None:
        self.name = name
        self.host, self.port = _address(sock.getsockname())
        self._is_protected = protected
        self._socket = sock
        self._make_poller = make_poller
        self._make_connection = _transport(tls)
        self._hub: Hub | None = None
        self._local: dict[tuple[str, int], tuple[str, int]] = {}
        self._retry: asyncio.TimerHandle | None = None

    def start(self, hub: Hub, handler: FrameHandler) -> None:
        self._hub = hub
        self._accept_on(hub, handler)

    def pause(self) -> None:
        if self._hub is not None and self._socket.fileno() >= 0:
            self._hub.loop.remove_reader(self._socket.fileno())
        self._hub = None
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None

    def close(self) -> None:
        self.pause()
        hang_up(self._socket)

    def _accept_on(self, hub: Hub, handler: FrameHandler) -> None:
        self._retry = None
        hub.loop.add_reader(self._socket.fileno(), self._accept, hub, handler)

    def _pause(self, hub: Hub, handler: FrameHandler, seconds: float) -> None:
        hub.loop.remove_reader(self._socket.fileno())
        self._retry = hub.loop.call_later(seconds, self._accept_on, hub, handler)

    def _accept(self, hub: Hub, handler: FrameHandler) -> None:
        for _ in range(ACCEPT_BATCH):
            if not self._has_room(hub):
                self._pause(hub, handler, RETRY_S)
                return
            try:
                sock, peer = self._socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                logger.error("Listener %s cannot accept: %s", self.name, explained(error))  # noqa: TRY400
                self._pause(hub, handler, RETRY_S)
                return
            if self._connect(hub, handler, sock, _address(peer)):
                pause_s = hub.pause_after_accept(self.name, protected=self._is_protected)
                if pause_s:
                    self._pause(hub, handler, pause_s)
                    return

    def _has_room(self, hub: Hub) -> bool:
        """Return whether one more connection may be accepted; the inter-broker listener makes room."""
        if hub.is_full_at(self.name):
            return False
        return not hub.is_full or (self._is_protected and hub.close_longest_idle(self.name))

    def _connect(self, hub: Hub, handler: FrameHandler, sock: socket.socket, peer: tuple[str, int]) -> bool:
        """Begin a connection; return False if its address may not have one more."""
        host = peer[0]
        refusal = _refusal(hub, host)
        if refusal is not None:
            sock.close()
            hub.closed[refusal] += 1
            hub.complain(host, TOO_MANY_CONNECTIONS, reason=refusal)
            return False
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            local = _address(sock.getsockname())
        except OSError:  # gone between accept and here
            sock.close()
            return True
        local = self._local.setdefault(local, local)  # one tuple for all that came to the same address
        self._make_connection(hub, hub.share(self._make_poller), sock, handler, self.name, peer, local)
        return True


def _refusal(hub: Hub, host: str) -> str | None:
    """Return the reason why an address may not have one more connection now, or None."""
    if not hub.admits(host):
        return "too many connections of one address"
    if not hub.admits_now(host):
        return "too many new connections of one address"
    return None


def _transport(tls: TlsServer | None) -> Callable[..., object]:
    """Return the class of a listener's connections."""
    if tls is None:
        return PlainConnection
    from kcompat.net.tls import TlsConnection  # late: it imports OpenSSL

    return partial(TlsConnection, server=tls)


def _address(name: tuple[str, int] | tuple[str, int, int, int]) -> tuple[str, int]:
    """Return host and port of a socket address; an IPv4 address mapped into IPv6 is written as IPv4."""
    return name[0].removeprefix("::ffff:"), name[1]


def _listen(sock: socket.socket, backlog: int, receive_buffer: int, send_buffer: int) -> socket.socket:
    """Make a bound socket listen; accepted sockets inherit the sizes of its buffers."""
    try:
        for option, size in ((socket.SO_RCVBUF, receive_buffer), (socket.SO_SNDBUF, send_buffer)):
            if size >= 0:
                sock.setsockopt(socket.SOL_SOCKET, option, size)
        sock.listen(backlog)
    except BaseException:
        sock.close()
        raise
    return sock
