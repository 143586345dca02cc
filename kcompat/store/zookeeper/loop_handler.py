"""kazoo's callbacks on the event loop, in the one order in which its connection thread makes them.

kazoo knows threads, gevent and eventlet by handlers; this is one more. Its own handler for threads runs
answers and watches in two threads: an answer could then overtake a watch that fired before it.
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
    """kazoo runs callbacks in its own thread where a handler does not run."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, tls: ssl.SSLContext | None, patience_s: float
    ) -> None:
        """`patience_s`: how long a server may be silent while it is connected to and within an exchange."""
        self._loop = loop
        self._patience_s = patience_s
        self._tls = tls
        self._posted: deque[Callable[[], object]] = deque()
        self._is_woken = False
        self.problem: OSError | None = None
        """Reason why the last attempt to connect failed; None where it did not."""
        threads = SequentialThreadingHandler()
        self._select = threads.select
        self.create_socket_pair = threads.create_socket_pair
        self.event_object = threads.event_object
        self.lock_object = threads.lock_object
        self.rlock_object = threads.rlock_object
        self.spawn = threads.spawn
        self.completion_queue = self
        """Queue into which kazoo puts the callbacks of answers."""

    def put(self, callback: Callable[[], object]) -> None:
        """Call this on the loop after all earlier callbacks. May be called from any thread."""
        self._posted.append(callback)
        if not self._is_woken:
            self._is_woken = True
            with suppress(RuntimeError):  # the loop is closed: no caller is left
                self._loop.call_soon_threadsafe(self._run)

    def dispatch_callback(self, callback: Any) -> None:
        """Run the callback of a watch that has fired."""
        self.put(partial(callback.func, *callback.args))

    def async_result(self) -> Any:
        """Return a new object that will hold one answer."""
        return AsyncResult(self)

    def select(self, read: list[Any], write: list[Any], other: list[Any], timeout: float) -> Any:
        """Wait as `select.select`. kazoo waits for one socket in the middle of an exchange, and would wait as
        long as a session lasts: one that reaches a server just when it starts may never be answered.

        What comes in one record of TLS is decrypted as one: of an answer and a watch in it, the kernel has
        nothing more once the first is read.
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
        """Do nothing: the loop runs already."""

    def stop(self) -> None:
        """Do nothing: callbacks that were put are still called."""

    def _run(self) -> None:
        self._is_woken = False  # first: what is put from here on wakes the loop again
        while self._posted:
            with contained("an answer of ZooKeeper"):
                self._posted.popleft()()


def _has_decrypted(connection: Any) -> bool:
    pending = getattr(connection, "pending", None)  # of an encrypted one alone
    return pending is not None and pending() > 0
