"""Ports to observe the connections of a broker, and to observe or change the answers to their frames, at no
cost if they are not used.

An `Interception` passes frames from connections to their handlers. With interceptors, each frame goes through
all of them, the first added outermost. An interceptor sees the frame and its answer, and may replace the
answer.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeAlias
from weakref import WeakSet

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.net.answers import Answer, Connection, FrameHandler

    Serve: TypeAlias = Callable[[Connection, memoryview], Answer]
    """A function that answers a frame, as `FrameHandler.on_frame` does."""
    from kcompat.security.principals import Principal


class Interceptor(Protocol):
    """An observer of frames, or a function that answers them instead of the handler."""

    def intercept(self, serve: Serve, connection: Connection, frame: memoryview) -> Answer:
        """Return the answer to a frame. `serve` passes the frame on, and returns the answer."""


class Interception:
    """The interceptors of one broker, which apply to all its connections, including open ones."""

    def __init__(self) -> None:
        self._interceptors: list[Interceptor] = []
        self._intercepted: WeakSet[_Intercepted] = WeakSet()

    def around(self, handler: FrameHandler) -> FrameHandler:
        """Return a handler that passes frames through the current interceptors to `handler`."""
        intercepted = _Intercepted(handler)
        intercepted.pass_through(self._interceptors)
        self._intercepted.add(intercepted)
        return intercepted

    def add(self, interceptor: Interceptor) -> None:
        """Pass frames through one more interceptor, closest to the handler; do nothing if it was added
        before.
        """
        if not any(each is interceptor for each in self._interceptors):
            self._replace([*self._interceptors, interceptor])

    def remove(self, interceptor: Interceptor) -> None:
        """Remove an interceptor; do nothing if it was not added."""
        self._replace([each for each in self._interceptors if each is not interceptor])

    def _replace(self, interceptors: list[Interceptor]) -> None:
        self._interceptors = interceptors
        for each in self._intercepted:
            each.pass_through(interceptors)


class _Intercepted:
    """A frame handler whose `on_frame` is that of the wrapped handler as long as there is no interceptor."""

    __slots__ = ("__weakref__", "_handler", "ends_wait", "max_frame", "on_frame")

    def __init__(self, handler: FrameHandler) -> None:
        self._handler = handler
        self.max_frame = handler.max_frame
        self.ends_wait = handler.ends_wait
        self.on_frame: Serve = handler.on_frame

    def pass_through(self, interceptors: list[Interceptor]) -> None:
        """Serve frames through these interceptors, the first one outermost."""
        serve: Serve = self._handler.on_frame
        for interceptor in reversed(interceptors):
            serve = partial(interceptor.intercept, serve)
        self.on_frame = serve


class ObservedConnection(Protocol):
    """The part of a connection that an observer reads."""

    listener_name: str
    peer_host: str
    peer_port: int
    local_address: tuple[str, int]
    principal: Principal


class ConnectionObserver(Protocol):
    """An observer of the connections of one broker, in `Hub.observers`. Its methods must not raise."""

    def opened(self, connection: ObservedConnection) -> None:
        """Handle an accepted connection."""

    def closed(self, connection: ObservedConnection, reason: str) -> None:
        """Handle the end of a connection; `reason` is one of the counters `Hub.closed`."""

    def complained(self, host: str, message: str) -> None:
        """Handle a message about a peer, such as the reason why its connection is about to be closed."""
