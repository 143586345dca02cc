"""The replay itself: sends requests, receives answers, and reports the differences."""

from __future__ import annotations

import time
from struct import error as StructError  # noqa: N812 - the module's own name says nothing
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kcompat.errors import UsageError
from kcompat.instrumentation.recording.decoding import as_values, read_response
from kcompat.instrumentation.recording.entry import RecordedRequest
from kcompat.instrumentation.recording.exchange import Fate
from kcompat.instrumentation.recording.outcome import refusals_of
from kcompat.instrumentation.replay.comparing import Comparison, Difference
from kcompat.instrumentation.replay.connection import TargetConnection, latest_versions
from kcompat.instrumentation.replay.correspondence import Correspondence
from kcompat.instrumentation.replay.rewriting import Rewriter, Rewritten
from kcompat.instrumentation.replay.script import script_of
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.schema import ProtocolViolation

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.instrumentation.recording.exchange import RecordedExchange
    from kcompat.instrumentation.recording.flight_reader import Flight
    from kcompat.instrumentation.replay.script import Step
    from kcompat.peer.client import PeerSecurity
    from kcompat.protocol.message import Message

PATIENCE_S: Final = 30.0
"""Longest time in seconds to wait for an answer. A request that waited longer in the recording counts as
unanswered.
"""
RETRY_S: Final = 10.0
"""Longest time in seconds for which a request is sent again while its errors say that the broker is not ready
yet.
"""
RETRY_PAUSE_S: Final = 0.1
MOST_TIMEOUTS: Final = 3
"""Number of requests in a row without an answer in time after which a replay ends; ApiVersions is not
counted.
"""
NOT_READY: Final = frozenset(
    {
        "CONCURRENT_TRANSACTIONS",
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "LEADER_NOT_AVAILABLE",
        "NOT_COORDINATOR",
        "NOT_LEADER_OR_FOLLOWER",
        "UNKNOWN_TOPIC_ID",
        "UNKNOWN_TOPIC_OR_PARTITION",
    }
)
"""Temporary errors: how long they last differs between brokers."""


class Report(Struct):
    """The result of a replay."""

    played: int = 0
    """Number of requests sent."""
    compared: int = 0
    """Number of answers compared."""
    differences: int = 0
    left_out: dict[str, int] = {}
    """Number of requests by the reason why they were not sent."""


class _Sent(Struct):
    request: Rewritten
    connection: TargetConnection
    recorded_connection: tuple[int, int]
    correlation_id: int


class Player:
    """A replay of one record to one broker."""

    def __init__(
        self,
        flight: Flight,
        address: tuple[str, int],
        tell: Callable[[RecordedRequest, Difference], object],
        patience_s: float = PATIENCE_S,
        security: PeerSecurity | None = None,
    ) -> None:
        """Prepare a replay; `tell` is called for each difference, and all connections have `security`. Raises
        UsageError if no broker answers, or if it refuses the login.
        """
        self._flight = flight
        self._address = address
        self._tell = tell
        self._patience_s = patience_s
        self._security = security
        try:
            latest = latest_versions(address, patience_s, security)
        except (OSError, ValueError, ProtocolViolation, StructError) as error:
            may_need_tls = security is None and isinstance(error, ConnectionError)
            advice = "; if its listener has TLS or a login, give --command-config" if may_need_tls else ""
            raise UsageError(f"no Kafka answers at {address[0]}:{address[1]}: {error}{advice}") from error
        self._ids = Correspondence()
        self._comparison = Comparison(self._ids)
        self._rewriter = Rewriter(self._ids, flight.names, latest)
        self._connections: dict[tuple[int, int], TargetConnection] = {}
        self._sent: dict[int, _Sent] = {}
        self._last_id = 0
        self._timeouts = 0
        """Number of the last requests in a row that were not answered in time."""
        self._report = Report()

    def play(self, speed: float | None = None) -> Report:
        """Play the record, and return the report. With `speed` 1 requests are sent at their recorded
        intervals, with 2 twice as fast, and without a speed as soon as their order allows.

        Raises:
            UsageError: the broker does not answer any more.
        """
        script = script_of(self._flight.seen)
        self._report.left_out = dict(script.left_out)
        began, first_ns = time.monotonic(), script.steps[0].at_ns if script.steps else 0
        try:
            for step in script.steps:
                if speed is not None:
                    due = began + (step.at_ns - first_ns) / 1e9 / speed
                    time.sleep(max(0.0, due - time.monotonic()))
                if step.sends:
                    self._send(step)
                else:
                    self._receive(step.exchange)
        finally:
            for connection in self._connections.values():
                connection.close()
        return self._report

    def _send(self, step: Step) -> None:
        exchange = step.exchange
        self._last_id += 1
        request = self._rewriter.rewritten(exchange.request, self._last_id)
        if isinstance(request, str):
            self._report.left_out[request] = self._report.left_out.get(request, 0) + 1
            return
        try:
            connection = self._connection(step.connection)
            connection.send(request.frame)
        except OSError as error:
            self._lose(step.connection, error)
            self._differ(exchange, "answer", "an answer", f"none ({error})")
            return
        self._report.played += 1
        if exchange.fate is Fate.ANSWERED:
            self._sent[id(exchange)] = _Sent(request, connection, step.connection, self._last_id)

    def _connection(self, recorded: tuple[int, int]) -> TargetConnection:
        if recorded not in self._connections:
            self._connections[recorded] = TargetConnection(self._address, self._patience_s, self._security)
        return self._connections[recorded]

    def _lose(self, recorded: tuple[int, int], error: OSError) -> None:
        """Close a connection that failed; the next request opens it again. Raises UsageError if too many
        requests in a row had no answer in time.
        """
        if isinstance(error, TimeoutError):
            self._timeouts += 1
        if self._timeouts >= MOST_TIMEOUTS:
            host, port = self._address
            raise UsageError(
                f"the broker at {host}:{port} answered none of the last {MOST_TIMEOUTS} requests within "
                f"{self._patience_s:g} s each, so the replay was given up: see whether it hangs"
            ) from error
        connection = self._connections.pop(recorded, None)
        if connection is not None:
            connection.close()

    def _receive(self, exchange: RecordedExchange) -> None:
        sent = self._sent.pop(id(exchange), None)
        if sent is None:
            return  # not sent, which was told
        head = sent.request.head
        recorded = read_response(exchange.answer, head)
        if recorded is None:
            self._skip_answer(sent)
            return
        try:
            new = self._answer(sent, exchange, recorded)
        except OSError as error:
            self._lose(sent.recorded_connection, error)
            self._differ(exchange, "answer", "an answer", f"none ({error})")
            return
        self._note_answer(sent)
        if new is None:
            self._differ(exchange, "answer", "an answer", "bytes that are none")
            return
        self._report.compared += 1
        if _not_ready(recorded) and not _not_ready(new):
            return  # the recorded broker was not ready yet, and this one is
        times_ms = (exchange.at_ns / 1e6, time.time() * 1000)
        old, now = as_values(recorded, head.version), as_values(new, sent.request.version)
        for difference in self._comparison.differences(old, now, times_ms, sent.request.scope):
            self._report.differences += 1
            self._tell(self._request_of(exchange), difference)

    def _note_answer(self, sent: _Sent) -> None:
        """Reset the count of timeouts, unless the answer is one that a broker that hangs may give too."""
        if sent.request.head.key is not ApiKey.API_VERSIONS:
            self._timeouts = 0

    def _skip_answer(self, sent: _Sent) -> None:
        """Wait for an answer that is not compared, since the recorded answer was not kept."""
        try:
            sent.connection.receive(sent.correlation_id)
        except OSError as error:
            self._lose(sent.recorded_connection, error)
        else:
            self._note_answer(sent)

    def _answer(self, sent: _Sent, exchange: RecordedExchange, recorded: Message) -> Message | None:
        """Return the answer to a request; send it again while the broker is not ready for it."""
        head = sent.request.head._replace(version=sent.request.version)
        ends = time.monotonic() + RETRY_S
        while True:
            new = read_response([sent.connection.receive(sent.correlation_id)], head)
            is_early = new is not None and _not_ready(new) and not _not_ready(recorded)
            if not is_early or time.monotonic() > ends:
                return new
            time.sleep(RETRY_PAUSE_S)
            again = self._rewriter.rewritten(exchange.request, sent.correlation_id)
            assert isinstance(again, Rewritten), "it could be sent before"
            sent.connection.send(again.frame)

    def _differ(self, exchange: RecordedExchange, path: str, recorded: str, now: str) -> None:
        self._report.differences += 1
        self._tell(self._request_of(exchange), Difference(path, recorded, now))

    def _request_of(self, exchange: RecordedExchange) -> RecordedRequest:
        return RecordedRequest(exchange, -1, self._flight.names)


def _not_ready(response: Message) -> bool:
    """Return whether every error of a response is temporary."""
    errors = {refusal.error for refusal in refusals_of(response, {})}
    return bool(errors) and errors <= NOT_READY
