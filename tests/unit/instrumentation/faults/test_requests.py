"""Requests that come late, get no answer, lose their connection or are throttled; seeds; ends."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.errors import UsageError
from kcompat.instrumentation.faults.requests import RequestFaults
from kcompat.net.answers import CLOSE, Mode, Waiting
from kcompat.protocol.messages.api_versions import ApiVersionsRequest
from kcompat.protocol.messages.heartbeat import HeartbeatRequest
from support.struck import StruckConnection, StruckServer, response_in_answer

REQUEST = HeartbeatRequest("g", 1, "m")
VERSION = 3


@pytest.fixture
def server() -> StruckServer:
    return StruckServer()


@pytest.fixture
def faults(server: StruckServer) -> RequestFaults:
    return RequestFaults(server.surroundings)


def settled(answer: Any) -> Any:
    """The answer that an answer has become."""
    while isinstance(answer, Waiting):
        assert answer.promise.done, "the answer is still to come"
        answer = answer.promise.value
    return answer


def test_a_delayed_request_is_served_after_its_time(server: StruckServer, faults: RequestFaults) -> None:
    fault = faults.add("delay", "Heartbeat", ms=500, times=1)
    answer = server.send(REQUEST, VERSION)
    assert isinstance(answer, Waiting)
    assert (answer.mode, answer.holds > 0) == (Mode.BLOCKING, True)
    server.clock.advance(499)
    assert server.served == []
    server.clock.advance(1)
    assert server.served[0].group_id == "g"
    assert response_in_answer(REQUEST, VERSION, settled(answer)).error_code == 0
    assert fault.chance.struck == 1
    assert isinstance(server.send(REQUEST, VERSION), list)


def test_what_is_delayed_is_served_when_the_fault_ends(server: StruckServer, faults: RequestFaults) -> None:
    fault = faults.add("delay", "Heartbeat", ms=3_600_000)
    answer = server.send(REQUEST, VERSION)
    fault.end()
    assert isinstance(settled(answer), list)
    server.clock.advance(3_600_000)
    assert len(server.served) == 1


def test_a_delayed_request_of_a_closed_connection_is_forgotten(
    server: StruckServer, faults: RequestFaults
) -> None:
    fault = faults.add("delay", None, ms=5)
    connection = StruckConnection()
    server.send(REQUEST, VERSION, connection)
    connection.end()
    server.clock.advance(5)
    fault.end()
    assert server.served == []


@pytest.mark.parametrize("served", [True, False])
def test_a_dropped_answer_never_comes_and_costs_the_connection_at_the_end(
    server: StruckServer, faults: RequestFaults, served: bool
) -> None:
    fault = faults.add("drop", "Heartbeat", served=served, times=1)
    answer = server.send(REQUEST, VERSION)
    assert isinstance(answer, Waiting)
    assert (answer.mode, answer.promise.done) == (Mode.PIPELINED, False)
    assert len(server.served) == served
    assert list(faults) == [fault], "what it holds back is still to be undone"
    faults.clear()
    assert settled(answer) is CLOSE
    assert list(faults) == []


@pytest.mark.parametrize("served", [True, False])
def test_a_connection_is_closed_in_place_of_an_answer(
    server: StruckServer, faults: RequestFaults, served: bool
) -> None:
    faults.add("disconnect", "Heartbeat", served=served)
    assert server.send(REQUEST, VERSION) is CLOSE
    assert len(server.served) == served


def test_a_throttled_client_is_told_and_kept_waiting(server: StruckServer, faults: RequestFaults) -> None:
    faults.add("throttle", None, ms=700, client_id="greedy")
    connection = StruckConnection()
    answer = server.send(REQUEST, VERSION, connection, client_id="greedy")
    assert response_in_answer(REQUEST, VERSION, answer).throttle_time_ms == 700
    assert connection.muted_ms == 700
    modest = StruckConnection()
    assert response_in_answer(REQUEST, VERSION, server.send(REQUEST, VERSION, modest)).throttle_time_ms == 0
    assert modest.muted_ms == 0


def test_a_version_without_a_throttle_time_is_kept_waiting_alone(
    server: StruckServer, faults: RequestFaults
) -> None:
    faults.add("throttle", "ApiVersions", ms=700)
    connection = StruckConnection()
    plain = server.send(ApiVersionsRequest(), 0, connection)
    assert connection.muted_ms == 700
    faults.clear()
    assert server.send(ApiVersionsRequest(), 0) == plain


def test_a_rate_strikes_the_same_requests_for_the_same_seed(
    server: StruckServer, faults: RequestFaults
) -> None:
    def play(**arguments: Any) -> list[bool]:
        fault = faults.add("disconnect", "Heartbeat", rate=0.3, **arguments)
        struck = [server.send(REQUEST, VERSION) is CLOSE for _ in range(100)]
        assert fault.chance.struck == sum(struck)
        fault.end()
        return struck

    assert play() != play(), "each fault has numbers of its own"
    faults.seed(7)
    first = [play(), play()]
    faults.seed(7)
    assert [play(), play()] == first
    assert play(seed=3) == play(seed=3)
    assert 15 < sum(first[0]) < 45


def test_the_first_fault_is_outermost(server: StruckServer, faults: RequestFaults) -> None:
    faults.add("delay", "Heartbeat", ms=5)
    failing = faults.add("fail", "Heartbeat", error="NOT_COORDINATOR")
    answer = server.send(REQUEST, VERSION)
    assert failing.chance.struck == 0
    server.clock.advance(5)
    assert response_in_answer(REQUEST, VERSION, settled(answer)).error_code == 16
    assert server.served == []


def test_the_server_is_called_itself_when_no_fault_is_left(
    server: StruckServer, faults: RequestFaults
) -> None:
    """So requests cost what they cost before."""
    fault = faults.add("fail", "Heartbeat", error="NOT_COORDINATOR", times=1)
    faults.add("delay", "Fetch", ms=5)
    server.send(REQUEST, VERSION)
    assert not fault.is_in_force
    faults.clear()
    assert server.handler.on_frame == server.on_frame


def test_frames_that_are_no_requests_pass_through(server: StruckServer, faults: RequestFaults) -> None:
    seen: list[bytes] = []

    def serve(_connection: object, frame: memoryview) -> None:
        seen.append(bytes(frame))

    fault = faults.add("disconnect", None)
    for frame in (b"", b"\0", b"\x7f\xff\0\0", b"\0\x0c\0\x63\0\0\0\1\xff\xff", b"\0\x0c\0\1\0\0\0\1\0\x40a"):
        fault.intercept(serve, StruckConnection(), memoryview(bytearray(frame)))  # type: ignore[arg-type]
        assert seen.pop() == frame


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"times": 0}, "times=0 is not a number of requests"),
        ({"times": True}, "times=True is not a number of requests"),
        ({"rate": 0}, "rate=0 is not a probability"),
        ({"rate": 1.5}, "rate=1.5 is not a probability"),
        ({"ms": -1}, "ms=-1 is not a time"),
        ({"ms": "5"}, "ms='5' is not a time"),
        ({"seed": "a"}, "seed='a' is not a seed"),
        ({"client_id": 7}, "client_id=7 is not a name"),
    ],
)
def test_numbers_that_cannot_be_are_refused(
    server: StruckServer, faults: RequestFaults, arguments: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(UsageError, match=sentence):
        faults.add("delay", "Heartbeat", **{"ms": 5, **arguments})
    assert isinstance(server.send(REQUEST, VERSION), list), "nothing is in force"
    with pytest.raises(UsageError, match="seed='x' is not a seed"):
        faults.seed("x")  # type: ignore[arg-type]
