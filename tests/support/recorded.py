"""Recorded exchanges without a broker: an interceptor, a connection, and the exchanges it gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from kcompat.instrumentation.recording.capture import Capture, Keeping
from kcompat.protocol.api_keys import API_FACTS, response_class
from kcompat.protocol.compiling import compile_framer
from kcompat.security.principals import ANONYMOUS
from support.raw_client import request_frame

if TYPE_CHECKING:
    from kcompat.instrumentation.recording.exchange import RecordedExchange
    from kcompat.net.answers import Answer, Connection
    from kcompat.protocol.message import Message

KEEPING = Keeping(frame=8192)


class FakeConnection:
    """The facts of a connection that a recorder reads."""

    peer_host = "127.0.0.1"
    peer_port = 40000
    listener_name = "PLAINTEXT"
    principal = ANONYMOUS
    context: object = None


class Heard:
    """A sink that keeps the exchanges and counts the late answers."""

    def __init__(self) -> None:
        self.exchanges: list[RecordedExchange] = []
        self.settled = 0

    def add(self, exchange: RecordedExchange) -> None:
        self.exchanges.append(exchange)

    def settle(self, exchange: RecordedExchange) -> None:
        assert exchange in self.exchanges
        self.settled += 1


def frame_of(request: Message, version: int, correlation_id: int = 1, client_id: str = "app") -> bytes:
    """A request as an interceptor gets it: without its length prefix."""
    return request_frame(request, version, correlation_id, client_id)[4:]


def answer_of(response: Message, version: int, correlation_id: int = 1) -> list[Any]:
    """The pieces of a response, as a dispatcher makes them."""
    facts = API_FACTS[response.api_key]
    framer = compile_framer(response_class(response.api_key), version)
    return framer(response, correlation_id, facts.response_header_version(version))


def exchange_of(
    frame: bytes, answer: Answer, keeping: Keeping = KEEPING, context: object = None
) -> RecordedExchange:
    """The exchange that is recorded of a frame and its answer."""
    heard = Heard()
    connection = FakeConnection()
    connection.context = context
    Capture(heard, keeping).intercept(
        lambda _connection, _frame: answer, cast("Connection", connection), memoryview(bytearray(frame))
    )
    (exchange,) = heard.exchanges
    return exchange
