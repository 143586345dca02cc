"""Callbacks of kazoo on the event loop, in the order in which kazoo's connection thread makes them.

kazoo supports threads, gevent and eventlet through handlers; this module is another handler. kazoo's handler
for threads runs responses and watches in two threads, so a response could overtake a watch that fired before
it.
"""

from __future__ import annotations

import socket
import time
from collections import deque
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from kazoo.handlers.threading import AsyncResult, KazooTimeoutError, SequentialThreadingHandler

from kcompat.faults import contained

if TYPE_CHECKING:
    import asyncio
    import ssl
    from collections.abc import Callable


class LoopHandler:
    """A handler of kazoo (`kazoo.interfaces.IHandler`) that puts callbacks on the event loop."""

    name = "event_loop_handler"
    timeout_exception = KazooTimeoutError
    sleep_func = staticmethod(time.sleep)
    running = True
    """Flag that kazoo reads: if a handler is not running, kazoo runs callbacks in its own thread."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, tls: ssl.SSLContext | None, patience_s: float
    ) -> None:
        """Make a handler for `loop`. `patience_s` is the longest silence in seconds of a server, during
        connecting and within a request.
        """
        self._loop = loop
        self._patience_s = patience_s
        self._tls = tls
        self._posted: deque[Callable[[], object]] = deque()
        self._is_woken = False
        self.problem: OSError | None = None
        """Reason why the last attempt to connect failed; None if it succeeded."""
        threads = SequentialThreadingHandler()
        self._select = threads.select
        self.create_socket_pair = threads.create_socket_pair
        self.event_object = threads.event_object
        self.lock_object = threads.lock_object
        self.rlock_object = threads.rlock_object
        self.spawn = threads.spawn
        self.completion_queue = self
        """Object with the `put` that kazoo calls with the callback of each response: this handler."""

    def put(self, callback: Callable[[], object]) -> None:
        """Run `callback` on the loop after all earlier callbacks. May be called from any thread."""
        self._posted.append(callback)
        if not self._is_woken:
            self._is_woken = True
            with suppress(RuntimeError):  # the loop is closed: no caller is left
                self._loop.call_soon_threadsafe(self._run)

    def dispatch_callback(self, callback: Any) -> None:
        """Run the callback of a watch that has fired on the loop."""
        self.put(partial(callback.func, *callback.args))

    def async_result(self) -> Any:
        """Return a new object that will hold one response."""
        return AsyncResult(self)

    def select(self, read: list[Any], write: list[Any], other: list[Any], timeout: float) -> Any:
        """Wait for sockets as `select.select` does, but no longer than `patience_s` for a single socket.

        kazoo waits for a single socket within a request, with the session timeout as the limit. A server that
        is just starting may never respond to such a request.

        A TLS socket with decrypted bytes counts as readable: one TLS record may contain a response and a
        watch event, and after the first is read the kernel reports nothing more.
        """
        if len(read) == 1:
            timeout = min(timeout, self._patience_s)
        decrypted = [] if self._tls is None else [each for each in read if _has_decrypted(each)]
        if not decrypted:
            return self._select(read, write, other, timeout)
        readable, writable, odd = self._select(read, write, other, 0)
        return [*decrypted, *(each for each in readable if each not in decrypted)], writable, odd

    def create_connection(self, address: tuple[str, int], hostname: str, timeout: float, **_: object) -> Any:
        """Return a socket connected to a server, through TLS if configured. May raise OSError."""
        try:
            connection = self._connect(address, hostname, min(timeout, self._patience_s))
        except OSError as error:
            self.problem = error
            raise
        self.problem = None
        return connection

    def _connect(self, address: tuple[str, int], hostname: str, timeout: float) -> socket.socket:
        plain = socket.create_connection(address, timeout)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._tls is None:
            return plain
        try:
            return self._tls.wrap_socket(plain, server_hostname=hostname)
        except BaseException:
            plain.close()
            raise

    def start(self) -> None:
        """Do nothing: the loop is already running."""

    def stop(self) -> None:
        """Do nothing: callbacks that were queued are still called."""

    def _run(self) -> None:
        self._is_woken = False  # first, so that later callbacks wake the loop again
        while self._posted:
            with contained("an answer of ZooKeeper"):
                self._posted.popleft()()


def _has_decrypted(connection: Any) -> bool:
    pending = getattr(connection, "pending", None)  # only TLS sockets have it
    return pending is not None and pending() > 0
