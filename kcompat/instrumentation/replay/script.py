"""The order of a replay: when each request is sent, and when the replay waits for its answer.

Requests keep the order of their recorded beginnings, and each is sent only after the answers that preceded it
in the recording. Requests that were in flight together are in flight together again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kcompat.instrumentation.recording.exchange import Fate, RecordedExchange
from kcompat.instrumentation.request_head import read_head
from kcompat.protocol.api_keys import API_FACTS, ApiKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kcompat.instrumentation.recording.exchange import RecordedEvent

LOGINS: Final = frozenset({ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE})


class Step(Struct, frozen=True):
    """A step of the replay: send the request of `exchange`, or wait for its answer."""

    at_ns: int
    """Time of the step in the recording, in nanoseconds since the epoch."""
    exchange: RecordedExchange
    sends: bool
    connection: tuple[int, int]
    """The recorded connection: id of the broker, and number of the connection."""


class Script(Struct, frozen=True):
    """The steps of a replay in order, and the requests that are left out."""

    steps: Sequence[Step]
    left_out: dict[str, int]
    """Number of requests by the reason why they are not sent."""


def script_of(seen: Iterable[tuple[int, RecordedExchange | RecordedEvent]]) -> Script:
    """Return the script of a record. Logins, whose secrets were not recorded, requests between brokers, and
    requests that were not recorded whole are left out.
    """
    steps: list[tuple[int, int, Step]] = []
    left_out: dict[str, int] = {}
    for order, (broker_id, exchange) in enumerate(seen):
        if not isinstance(exchange, RecordedExchange):
            continue
        reason = _reason_to_leave_out(exchange)
        if reason is not None:
            left_out[reason] = left_out.get(reason, 0) + 1
            continue
        connection = broker_id, exchange.mark
        steps.append((exchange.at_ns, order, Step(exchange.at_ns, exchange, True, connection)))
        if exchange.fate is Fate.ANSWERED:
            end_ns = exchange.at_ns + exchange.duration_ns
            steps.append((end_ns, order, Step(end_ns, exchange, False, connection)))
    steps.sort(key=lambda each: each[:2])
    return Script([step for *_, step in steps], left_out)


def _reason_to_leave_out(exchange: RecordedExchange) -> str | None:
    head = read_head(exchange.request)
    if head.key is None or not head.body_at:
        return "no request, or a login token"
    if head.key in LOGINS:
        return "a login"
    if API_FACTS[head.key].cluster_action or _is_follower(exchange.request, head.body_at):
        return "between brokers"
    if exchange.fate is Fate.CLOSED:
        return "closed by the broker"
    return None


def _is_follower(request: bytes, body_at: int) -> bool:
    """Return whether a request is the fetch of a follower, by the replica id at the beginning of its body."""
    is_old_fetch = request[:2] == b"\0\x01" and request[2:4] < b"\0\x0f"
    return is_old_fetch and request[body_at : body_at + 4] != b"\xff\xff\xff\xff"
