"""One session with ZooKeeper, for which one kazoo client is used.

After a session has expired, a kazoo client would open another one and send requests that were meant for the
old session in it. Therefore the client is discarded when its session ends.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import ConnectionClosedError, ConnectionLoss, SessionExpiredError

from kcompat.store.interface import SessionState
from kcompat.store.zookeeper.loop_handler import LoopHandler

if TYPE_CHECKING:
    import ssl

    from kcompat.store.zookeeper.settings import ZooKeeperSettings

Send = Callable[[Any], Any]
"""Function that sends a request with a kazoo client and returns kazoo's result object."""

Answered = Callable[[Any, BaseException | None], object]
"""Callback that takes the value of a response, or its error."""

_STATES = {
    KazooState.CONNECTED: SessionState.CONNECTED,
    KazooState.SUSPENDED: SessionState.SUSPENDED,
    KazooState.LOST: SessionState.EXPIRED,
}
PATIENCE = 0.2
"""Fraction of the session timeout after which the client leaves a silent server and connects to another one.
"""

_STOP_S = 5.0
"""Seconds to wait for a client to stop. A client whose server is silent stops later."""

_log = logging.getLogger(__name__)
_kazoo_log = logging.getLogger(f"{__name__}.kazoo")
_kazoo_log.setLevel(logging.ERROR)  # states are reported; the attempts to connect need no log lines


class EnsembleConnection:
    """One session and its successive connections, from `start` to the end of the session."""

    def __init__(
        self,
        settings: ZooKeeperSettings,
        tls: ssl.SSLContext | None,
        on_state: Callable[[SessionState], object],
    ) -> None:
        """Prepare the session. `told` is called with each state on the running loop, in order with responses
        and watch events.
        """
        self._on_state = on_state
        patience_s = settings.session_timeout_ms / 1000 * PATIENCE
        self._handler = LoopHandler(asyncio.get_running_loop(), tls, patience_s)
        self._lock = threading.Lock()
        self._is_over = False
        self._client = KazooClient(
            settings.servers,
            timeout=settings.session_timeout_ms / 1000,
            handler=self._handler,
            auth_data=[(credential.scheme, credential.text) for credential in settings.credentials],
            connection_retry={"max_tries": -1, "delay": 0.05, "max_delay": 0.5},
            use_ssl=tls is not None,
            logger=_kazoo_log,
        )
        self._client.add_listener(self._state_changed)

    @property
    def session_id(self) -> int:
        """Id of the session; 0 before the first connection."""
        known = self._client.client_id
        return 0 if known is None else int(known[0])

    @property
    def last_zxid(self) -> int:
        """Highest transaction id that a response has contained."""
        return int(self._client.last_zxid)

    @property
    def problem(self) -> OSError | None:
        """Reason why the last attempt to connect to a server failed; None if it succeeded."""
        return self._handler.problem

    def start(self) -> None:
        """Start to connect; the outcome is reported as a state."""
        self._client.start_async()

    def request(self, send: Send, answered: Answered) -> None:
        """Send a request in this session; `answered(value, error)` is called on the loop."""
        with self._lock:  # a request that is let in after the end would be sent in the session after it
            if self._is_over:
                self._handler.put(partial(answered, None, SessionExpiredError()))
                return
            if not self._client.connected:  # kazoo would send it before lost requests
                self._handler.put(partial(answered, None, ConnectionLoss()))
                return
            result = send(self._client)
        result.rawlink(lambda result: answered(result.value, result.exception))

    async def stop(self) -> None:
        """End the session, unless it has ended, and stop its thread."""
        with self._lock:
            self._is_over = True
        stopped: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        thread = threading.Thread(target=self._stop, args=(stopped,), name="zookeeper-stop", daemon=True)
        thread.start()
        try:
            await asyncio.wait_for(stopped, _STOP_S)
        except TimeoutError:
            _log.warning("ZooKeeper does not answer: its session ends by itself")

    def _stop(self, stopped: asyncio.Future[None]) -> None:
        """Stop the client in a new thread, because this call waits for kazoo's thread."""
        try:
            self._client.stop()
            self._client.close()
        except Exception:
            _log.debug("the end of a ZooKeeper client", exc_info=True)
        self._handler.put(partial(_complete, stopped))

    def _state_changed(self, state: str) -> None:
        """Report a state. Called in kazoo's thread, before kazoo discards the session."""
        if state == KazooState.LOST:
            with self._lock:
                self._is_over = True
        self._handler.put(partial(self._on_state, _STATES[state]))


def is_end(error: BaseException) -> bool:
    """Return whether an error of kazoo means that the session has ended."""
    return isinstance(error, SessionExpiredError | ConnectionClosedError)


def _complete(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
