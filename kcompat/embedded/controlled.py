"""The control port of embedded brokers, by which other programs control them over HTTP."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from typing import TYPE_CHECKING, Generic, TypeVar

from kcompat.embedded.settings import check_port
from kcompat.errors import UsageError

if TYPE_CHECKING:
    from contextlib import ExitStack

    from kcompat.embedded.thread import LoopThread
    from kcompat.instrumentation.control.port import ControlPort

Nodes = TypeVar("Nodes")

CLOSE_TIMEOUT_S = 10.0


class Controlled(ABC, Generic[Nodes]):
    """Base class of brokers that may have a control port."""

    _control_port: int | None = None
    _control: ControlPort | None = None

    @abstractmethod
    def _running(self) -> tuple[LoopThread, Nodes]:
        """Return the thread and the running brokers. Raises UsageError if they are not started."""

    @abstractmethod
    def _serve_control(self, port: ControlPort, nodes: Nodes) -> None:
        """Have a control port serve requests about these brokers, on their event loop."""

    @property
    def control_url(self) -> str:
        """Base URL of the control port, such as `http://127.0.0.1:8082`. Raises UsageError if the brokers are
        not started, or have no control port.
        """
        self._running()
        if self._control is None:
            raise UsageError("there is no control port: ask for one with control_port=0")
        return self._control.url

    def _choose_control_port(self, port: int | None) -> None:
        """Open a control port at each start, unless it is None. Raises UsageError if the value is not a
        port.
        """
        if port is not None:
            check_port(port, name="control_port")
        self._control_port = port

    def _bind_control(self, undo: ExitStack) -> None:
        """Bind the control port, if one was requested; `undo` closes it. Raises UsageError, StartError."""
        if self._control_port is None:
            return
        from kcompat.instrumentation.control.port import ControlPort  # late: most brokers do without

        self._control = ControlPort(self._control_port)
        undo.callback(self._control.close)

    def _start_control(self, thread: LoopThread, nodes: Nodes, undo: ExitStack) -> None:
        """Have the control port serve requests, if there is one, until `undo` stops it."""
        control = self._control
        if control is None:
            return

        def stop() -> None:
            with suppress(TimeoutError):  # a request that does not end is ended with the thread
                if thread.is_here:
                    thread.call(control.stop(), CLOSE_TIMEOUT_S)

        undo.callback(stop)
        thread.do(lambda: self._serve_control(control, nodes))
