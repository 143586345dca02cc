"""Stages of each request and the time spent in each, for the request log and the log of slow requests.

An interceptor measures them. It is attached to a broker that has one of these logs, and to no other.
"""

from __future__ import annotations

from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Final, Protocol

from msgspec import Struct

from kcompat.net.answers import CLOSE, Waiting
from kcompat.protocol.api_keys import API_FACTS, ApiKey, response_class
from kcompat.protocol.compiling import read_request_header
from kcompat.protocol.schema import ProtocolViolation
from kcompat.security.sasl.exchange import SaslExchange

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence

    from kcompat.net.answers import Answer, Connection, Settled
    from kcompat.net.interception import Serve

HEAD: Final = 1024
"""Bytes that are kept of a request: enough for its header, unless its client id is longer."""
_NS_PER_MS: Final = 1e6


class Stages(Struct, gc=False):
    """One request that was answered, and the time in ns that it spent in each stage."""

    head: bytes
    """The first bytes of the frame."""
    connection: Connection
    queue_ns: int
    """Time spent waiting for requests that the event loop has begun before in the same iteration."""
    local_ns: int
    """Time in the handler."""
    remote_ns: int = 0
    """Time after the handler in which the answer waited: for data, replicas, other members."""
    send_ns: int = 0
    """Time from the answer to the end of the event that hands it to the socket."""
    answer: Settled = None

    @property
    def total_ns(self) -> int:
        """Time in all stages."""
        return self.queue_ns + self.local_ns + self.remote_ns + self.send_ns


class Described(Struct, frozen=True):
    """The parts of a request and its answer that the logs show."""

    key: ApiKey
    version: int
    correlation_id: int
    client_id: str | None
    throttle_ms: int
    """Time in ms for which the answer asks the client to wait."""


class StageLog(Protocol):
    """A log of requests."""

    def is_wanted(self, stages: Stages) -> bool:
        """Return whether the log has a line about a request. Called for each request."""

    def write(self, stages: Stages, described: Described) -> None:
        """Log a request."""


class StageTimer:
    """An interceptor that measures requests, and passes each to the logs that want it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, logs: Sequence[StageLog]) -> None:
        self._call_soon = loop.call_soon
        self._logs = logs
        self._iteration_began_ns = 0  # 0: no request has come in this iteration

    def intercept(self, serve: Serve, connection: Connection, frame: memoryview) -> Answer:
        """Serve the frame and measure it. The bytes of logins are not read."""
        if isinstance(connection.context, SaslExchange):
            return serve(connection, frame)
        began = perf_counter_ns()
        if not self._iteration_began_ns:
            self._iteration_began_ns = began
            self._call_soon(self._iteration_over)
        queue_ns = began - self._iteration_began_ns
        head = bytes(frame[:HEAD])
        answer = serve(connection, frame)
        now = perf_counter_ns()
        self._follow(Stages(head, connection, queue_ns, now - began), answer, now)
        return answer

    def _iteration_over(self) -> None:
        self._iteration_began_ns = 0

    def _follow(self, stages: Stages, answer: Answer, served_ns: int) -> None:
        while isinstance(answer, Waiting):
            if not answer.promise.done:
                answer.promise.then(lambda later: self._follow(stages, later, served_ns))
                return
            answer = answer.promise.value
        answered_ns = perf_counter_ns()
        if answer is not CLOSE:
            stages.remote_ns = answered_ns - served_ns
            stages.answer = answer
            self._call_soon(self._sent, stages, answered_ns)

    def _sent(self, stages: Stages, answered_ns: int) -> None:
        stages.send_ns = perf_counter_ns() - answered_ns
        wanted = [log for log in self._logs if log.is_wanted(stages)]
        if wanted:
            described = describe(stages)
            if described is not None:
                for log in wanted:
                    log.write(stages, described)


def describe(stages: Stages) -> Described | None:
    """Read the header of a request and the throttle time of its answer; return None for a damaged header."""
    head = memoryview(stages.head)
    try:
        key, version = ApiKey(int.from_bytes(head[:2], "big")), int.from_bytes(head[2:4], "big")
        facts = API_FACTS[key]
        correlation_id, client_id, _ = read_request_header(head, facts.request_header_version(version))
    except (ProtocolViolation, ValueError, KeyError):
        return None
    return Described(key, version, correlation_id, client_id, _throttle_ms(stages, key, version))


def _throttle_ms(stages: Stages, key: ApiKey, version: int) -> int:
    """Return the throttle time in an answer; 0 if it has none or its records are files."""
    try:
        body = memoryview(b"".join(stages.answer or ()))  # type: ignore[arg-type]
        header_size = 4 + (5 if API_FACTS[key].response_header_version(version) else 4)
        response: Any = response_class(key).decode(body, version, header_size)
    except (TypeError, ValueError, ProtocolViolation):
        return 0
    return getattr(response, "throttle_time_ms", 0)


def milliseconds(ns: int) -> float:
    """Return a time in ns in ms, with the digits that Kafka shows."""
    return round(ns / _NS_PER_MS, 3)
