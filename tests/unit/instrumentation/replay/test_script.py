"""The order of a replay."""

from __future__ import annotations

import pytest

from kcompat.instrumentation.recording.exchange import Fate, RecordedEvent, RecordedExchange
from kcompat.instrumentation.replay.script import script_of
from kcompat.protocol.messages.fetch import FetchRequest
from kcompat.protocol.messages.heartbeat import HeartbeatRequest
from kcompat.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from kcompat.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kcompat.security.principals import ANONYMOUS
from support.recorded import frame_of

HEARTBEAT = frame_of(HeartbeatRequest(group_id="g"), 4)


def exchange(
    at_ns: int,
    duration_ns: int = 0,
    fate: Fate = Fate.ANSWERED,
    frame: bytes = HEARTBEAT,
    connection: int = 1,
) -> RecordedExchange:
    return RecordedExchange(
        at_ns, "h", 1, "L", ANONYMOUS, frame, len(frame), fate, duration_ns=duration_ns, mark=connection
    )


def order(*exchanges: RecordedExchange) -> list[str]:
    """The steps as words: `>` is sent, `<` is waited for, with the time of the request."""
    steps = script_of([(0, each) for each in exchanges]).steps
    return [f"{'>' if step.sends else '<'}{step.exchange.at_ns}" for step in steps]


def test_a_request_waits_for_what_was_answered_before_it() -> None:
    assert order(exchange(10, 5), exchange(20, 5)) == [">10", "<10", ">20", "<20"]


def test_what_was_on_its_way_at_the_same_time_is_so_again() -> None:
    assert order(exchange(10, 50), exchange(20, 5), exchange(30, 5)) == [
        ">10", ">20", "<20", ">30", "<30", "<10",
    ]  # fmt: skip


def test_what_was_not_answered_is_not_waited_for() -> None:
    assert order(exchange(10, fate=Fate.WAITING), exchange(20, fate=Fate.SILENT)) == [">10", ">20"]


def test_connections_are_those_of_the_recording() -> None:
    script = script_of([(0, exchange(1)), (0, exchange(2, connection=2)), (1, exchange(3))])
    assert [step.connection for step in script.steps if step.sends] == [(0, 1), (0, 2), (1, 1)]


@pytest.mark.parametrize(
    ("left_out", "reason"),
    [
        (exchange(1, frame=frame_of(SaslHandshakeRequest(), 1)), "a login"),
        (exchange(1, frame=b""), "no request, or a login token"),
        (exchange(1, frame=frame_of(LeaderAndIsrRequest(), 4)), "between brokers"),
        (exchange(1, frame=frame_of(FetchRequest(replica_id=2), 11)), "between brokers"),
        (exchange(1, fate=Fate.CLOSED), "closed by the broker"),
    ],
)
def test_what_cannot_be_played_is_counted(left_out: RecordedExchange, reason: str) -> None:
    script = script_of([(0, left_out), (0, RecordedEvent(2, "opened", "h")), (0, exchange(3))])
    assert [step.exchange.at_ns for step in script.steps] == [3, 3]
    assert script.left_out == {reason: 1}


def test_a_consumers_fetch_is_played() -> None:
    assert len(script_of([(0, exchange(1, frame=frame_of(FetchRequest(), 11)))]).steps) == 2
    assert len(script_of([(0, exchange(1, frame=frame_of(FetchRequest(), 15)))]).steps) == 2
