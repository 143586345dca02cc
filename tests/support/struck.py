"""Faults of requests without a broker: a server of frames, a connection, and what they saw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kcompat.instrumentation.exchange import ReceivedRequest
from kcompat.instrumentation.faults.error_responses import error_response
from kcompat.instrumentation.faults.request_fault import Surroundings
from kcompat.net.interception import Interception
from kcompat.protocol.errors import ErrorCode
from support.raw_client import request_frame
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.net.answers import Answer, Connection
    from kcompat.protocol.message import Message


class StruckConnection:
    """The part of a connection that faults use."""

    peer_host = "10.0.0.7"
    peer_port = 50000

    def __init__(self) -> None:
        self.muted_ms = 0.0
        self._closed: list[Callable[[], object]] = []

    def mute(self, ms: float) -> None:
        self.muted_ms = ms

    def when_closed(self, callback: Callable[[], object]) -> None:
        self._closed.append(callback)

    def end(self) -> None:
        """The connection has closed."""
        for callback in self._closed:
            callback()


class StruckServer:
    """A broker that answers each request with a row for each of its elements, without errors; a Produce with
    acks=0 not at all.
    """

    max_frame: int | None = None

    def __init__(self) -> None:
        self.interception = Interception()
        self.clock = VirtualClock(0)
        self.topic_names: dict[bytes, str] = {}
        self.served: list[Any] = []
        """The requests that were served."""
        self.surroundings = Surroundings(
            self.interception,
            self.clock,
            self.topic_names.get,
            lambda _, name: name == "broker-2-fetcher-0",
        )
        self.handler = self.interception.around(self)

    def on_frame(self, connection: Connection, frame: memoryview) -> Answer:
        request = ReceivedRequest.read(frame)
        assert request is not None
        message = request.message
        self.served.append(message)
        if getattr(message, "acks", None) == 0:
            return None
        response = error_response(request.key, request.version, message, ErrorCode.NONE, in_rows=True)
        return request.answer_of(response)

    def ends_wait(self, frame: memoryview) -> bool:
        return True

    def send(
        self, message: Message, version: int, connection: Any = None, client_id: str | None = "raw"
    ) -> Answer:
        """Return the answer to a request, through the faults there are."""
        frame = memoryview(bytearray(request_frame(message, version, 5, client_id)[4:]))
        peer: Any = connection or StruckConnection()
        answer = self.handler.on_frame(peer, frame)
        frame[:] = bytes(len(frame))  # as the buffer of a connection, which is used again
        return answer


def response_in_answer(message: Message, version: int, answer: Answer) -> Any:
    """The response that an answer to a request carries."""
    request = ReceivedRequest.read(memoryview(bytearray(request_frame(message, version)[4:])))
    assert request is not None
    assert isinstance(answer, list)
    return request.response_of(answer)
