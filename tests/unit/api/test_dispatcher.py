from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from kcompat.api import api_versions
from kcompat.api.context import Busy, Interruptible
from kcompat.api.dispatcher import Dispatcher
from kcompat.api.registry import Served
from kcompat.api.route import MAX_CONTROL_VALUES, MAX_VALUES
from kcompat.net.answers import CLOSE, Mode, Waiting
from kcompat.promise import Promise
from kcompat.protocol.api_keys import API_FACTS, ApiKey
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kcompat.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from kcompat.protocol.messages.fetch import FetchRequest
from kcompat.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kcompat.protocol.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from kcompat.protocol.schema import ProtocolViolation
from support.asking import Client, Finalized, services_of
from support.raw_client import request_frame
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.protocol.message import Message

PEER: Any = Client()
CORRELATION_ID = 77


def served(key: ApiKey, handle: Callable[..., Any], *, since: int = 0, mode: Mode = Mode.BLOCKING) -> Served:
    facts = API_FACTS[key]
    return Served(key, lambda: handle, since, facts.latest_stable, mode, facts.listeners)


def dispatcher(*apis: Served) -> Dispatcher:
    whole = (*apis, served(ApiKey.API_VERSIONS, api_versions.handle))
    return Dispatcher(services_of(served=whole, clock=VirtualClock(), features=Finalized()))


def frame_of(request: Message, version: int, rest: bytes = b"") -> memoryview:
    return memoryview(bytearray(request_frame(request, version, CORRELATION_ID, "me")[4:] + rest))


def response(answer: Any, kind: type[Any], version: int, *, flexible: bool = False) -> Any:
    data = b"".join(answer)
    length, correlation_id = struct.unpack_from(">ii", data)
    assert length == len(data) - 4
    assert correlation_id == CORRELATION_ID
    return kind.decode(memoryview(data), version, 9 if flexible else 8)


@pytest.mark.parametrize("version", [-1, 6, 99, 32767])
def test_an_api_versions_of_any_version_is_answered_with_our_range_in_version_0(version: int) -> None:
    unknown = memoryview(bytearray(struct.pack(">hhi", 18, version, CORRELATION_ID) + b"\xff\xfe garbage"))
    answer = response(dispatcher().on_frame(PEER, unknown), ApiVersionsResponse, 0)
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [(row.api_key, row.min_version, row.max_version) for row in answer.api_keys] == [(18, 0, 5)]


@pytest.mark.parametrize("version", range(6))
def test_api_versions_lists_what_is_served(version: int) -> None:
    request = ApiVersionsRequest(client_software_name="me", client_software_version="1.0")
    apis = served(ApiKey.HEARTBEAT, lambda *_: None, since=2)
    answer = response(
        dispatcher(apis).on_frame(PEER, frame_of(request, version)), ApiVersionsResponse, version
    )
    assert answer.error_code == 0
    rows = [(row.api_key, row.min_version, row.max_version) for row in answer.api_keys]
    assert rows == [(12, 2, 4), (18, 0, 5)]


@pytest.mark.parametrize("name", ["", "-x", "a b", "x" * 129])
def test_a_client_with_an_odd_name_is_refused(name: str) -> None:
    request = ApiVersionsRequest(client_software_name=name, client_software_version="1.0")
    answer = response(dispatcher().on_frame(PEER, frame_of(request, 3)), ApiVersionsResponse, 3)
    assert answer.error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\0",
        struct.pack(">hhi", 999, 0, 1),
        struct.pack(">hhih", ApiKey.HEARTBEAT, 5, 1, -1),
        struct.pack(">hhih", ApiKey.HEARTBEAT, 1, 1, -1),
        struct.pack(">hhih", ApiKey.PRODUCE, 9, 1, -1),
        bytes(frame_of(HeartbeatRequest(group_id="g"), 2))[:-1],
    ],
    ids=["empty", "one byte", "unknown key", "above", "below", "not served", "cut short"],
)
def test_what_cannot_be_served_closes_the_connection(frame: bytes) -> None:
    served_from_2 = served(ApiKey.HEARTBEAT, lambda *_: HeartbeatResponse(), since=2)
    assert dispatcher(served_from_2).on_frame(PEER, memoryview(bytearray(frame))) is CLOSE


def test_bytes_behind_a_request_are_ignored() -> None:
    seen: list[Any] = []

    def handle(context: Any, request: HeartbeatRequest) -> HeartbeatResponse:
        seen.append((context.api_version, context.client_id, request.group_id))
        return HeartbeatResponse(error_code=25)

    frame = frame_of(HeartbeatRequest(group_id="g"), 4, b"\1\0\0")
    answer = dispatcher(served(ApiKey.HEARTBEAT, handle)).on_frame(PEER, frame)
    assert response(answer, HeartbeatResponse, 4, flexible=True).error_code == 25
    assert seen == [(4, "me", "g")]


def test_a_broken_handler_answers_with_an_error_where_there_is_room_for_one() -> None:
    def break_down(*_: Any) -> None:
        raise RuntimeError("a bug")

    apis = dispatcher(served(ApiKey.HEARTBEAT, break_down), served(ApiKey.DESCRIBE_GROUPS, break_down))
    answer = apis.on_frame(PEER, frame_of(HeartbeatRequest(), 0))
    assert response(answer, HeartbeatResponse, 0).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert apis.on_frame(PEER, frame_of(DescribeGroupsRequest(), 0)) is CLOSE


def test_a_request_that_its_handler_refuses_to_parse_closes_the_connection() -> None:
    def refuse(*_: Any) -> None:
        raise ProtocolViolation("a value that cannot be")

    apis = dispatcher(served(ApiKey.HEARTBEAT, refuse))
    assert apis.on_frame(PEER, frame_of(HeartbeatRequest(), 0)) is CLOSE


def test_a_request_with_more_elements_than_anybody_needs_closes_the_connection() -> None:
    apis = dispatcher(served(ApiKey.DESCRIBE_GROUPS, lambda *_: DescribeGroupsResponse()))
    assert isinstance(apis.on_frame(PEER, frame_of(DescribeGroupsRequest(groups=[""] * MAX_VALUES), 0)), list)
    assert apis.on_frame(PEER, frame_of(DescribeGroupsRequest(groups=[""] * (MAX_VALUES + 1)), 0)) is CLOSE


def test_a_controller_may_tell_of_very_many_partitions_at_once() -> None:
    apis = dispatcher(served(ApiKey.UPDATE_METADATA, lambda *_: UpdateMetadataResponse()))
    for count, is_served in ((2 * MAX_VALUES, True), (MAX_CONTROL_VALUES + 1, False)):
        state = UpdateMetadataRequest.UpdateMetadataPartitionState(replicas=[1] * count)
        answer = apis.on_frame(PEER, frame_of(UpdateMetadataRequest(ungrouped_partition_states=[state]), 0))
        assert isinstance(answer, list) is is_served


@pytest.mark.parametrize("nothing", [None, CLOSE])
def test_no_answer_and_a_close_pass_through(nothing: object) -> None:
    apis = dispatcher(served(ApiKey.HEARTBEAT, lambda *_: nothing))
    assert apis.on_frame(PEER, frame_of(HeartbeatRequest(), 0)) is nothing


@pytest.mark.parametrize("mode", [Mode.BLOCKING, Mode.PIPELINED])
def test_a_promise_is_answered_later(mode: Mode) -> None:
    later: Promise[HeartbeatResponse] = Promise()
    apis = dispatcher(served(ApiKey.HEARTBEAT, lambda *_: later, mode=mode))
    waiting = apis.on_frame(PEER, frame_of(HeartbeatRequest(), 0))
    assert isinstance(waiting, Waiting)
    assert (waiting.mode, waiting.interrupt, waiting.promise.done) == (mode, None, False)
    later.complete(HeartbeatResponse(error_code=27))
    assert response(waiting.promise.value, HeartbeatResponse, 0).error_code == 27


@pytest.mark.parametrize("is_early", [True, False])
def test_a_promise_that_fails_is_answered_as_a_handler_that_does(
    is_early: bool, caplog: pytest.LogCaptureFixture
) -> None:
    later: Promise[HeartbeatResponse] = Promise()
    apis = dispatcher(served(ApiKey.HEARTBEAT, lambda *_: later))
    if is_early:
        later.fail(ZeroDivisionError("a bug"))
    answer = apis.on_frame(PEER, frame_of(HeartbeatRequest(), 0))
    later.fail(ZeroDivisionError("a bug"))
    assert isinstance(answer, Waiting) == (not is_early)
    settled = answer.promise.value if isinstance(answer, Waiting) else answer
    assert response(settled, HeartbeatResponse, 0).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert caplog.text.count("ZeroDivisionError: a bug") == 1


def test_a_promise_that_fails_closes_where_the_response_has_no_room_for_an_error() -> None:
    later: Promise[DescribeGroupsResponse] = Promise()
    apis = dispatcher(served(ApiKey.DESCRIBE_GROUPS, lambda *_: later))
    waiting = apis.on_frame(PEER, frame_of(DescribeGroupsRequest(), 0))
    later.fail(ZeroDivisionError("a bug"))
    assert isinstance(waiting, Waiting)
    assert waiting.promise.value is CLOSE


def test_a_response_that_cannot_be_encoded_later_is_answered_as_a_fault() -> None:
    later: Promise[Any] = Promise()
    apis = dispatcher(served(ApiKey.HEARTBEAT, lambda *_: later))
    waiting = apis.on_frame(PEER, frame_of(HeartbeatRequest(), 0))
    later.complete(HeartbeatResponse(error_code="no number"))  # type: ignore[arg-type]
    assert isinstance(waiting, Waiting)
    assert response(waiting.promise.value, HeartbeatResponse, 0).error_code == ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_promise_that_is_done_is_answered_at_once() -> None:
    apis = dispatcher(served(ApiKey.HEARTBEAT, lambda *_: Promise.resolved(HeartbeatResponse(error_code=27))))
    assert (
        response(apis.on_frame(PEER, frame_of(HeartbeatRequest(), 0)), HeartbeatResponse, 0).error_code == 27
    )


def test_an_interruptible_answer_brings_its_interrupt() -> None:
    later: Promise[HeartbeatResponse] = Promise()

    def interrupt() -> None:
        later.complete(HeartbeatResponse(error_code=1))

    apis = dispatcher(
        served(ApiKey.HEARTBEAT, lambda *_: Interruptible(later, interrupt), mode=Mode.INTERRUPTIBLE)
    )
    waiting = apis.on_frame(PEER, frame_of(HeartbeatRequest(), 0))
    assert isinstance(waiting, Waiting)
    assert waiting.mode is Mode.INTERRUPTIBLE
    assert waiting.interrupt is not None
    waiting.interrupt()
    assert response(waiting.promise.value, HeartbeatResponse, 0).error_code == 1


def busy(outcome: Promise[Any]) -> Waiting:
    apis = dispatcher(
        served(ApiKey.HEARTBEAT, lambda *_: Busy(outcome, holds=5), mode=Mode.PIPELINED),
    )
    waiting = apis.on_frame(PEER, frame_of(HeartbeatRequest(), 0))
    assert isinstance(waiting, Waiting)
    assert (waiting.mode, waiting.holds, waiting.interrupt) == (Mode.BUSY, 5, None)
    assert not waiting.promise.done
    return waiting


def test_a_request_that_is_worked_on_is_answered_with_its_outcome() -> None:
    outcome: Promise[Any] = Promise()
    waiting = busy(outcome)
    outcome.complete(HeartbeatResponse(error_code=27))
    assert response(waiting.promise.value, HeartbeatResponse, 0).error_code == 27


@pytest.mark.parametrize("nothing", [None, CLOSE])
def test_the_outcome_may_be_no_answer_or_a_close(nothing: object) -> None:
    outcome: Promise[Any] = Promise()
    waiting = busy(outcome)
    outcome.complete(nothing)
    assert waiting.promise.value is nothing


def test_the_outcome_may_wait_as_its_api_waits() -> None:
    outcome: Promise[Any] = Promise()
    later: Promise[HeartbeatResponse] = Promise()
    waiting = busy(outcome)
    outcome.complete(later)
    then = waiting.promise.value
    assert isinstance(then, Waiting)
    assert (then.mode, then.holds) == (Mode.PIPELINED, 0)
    later.complete(HeartbeatResponse(error_code=25))
    assert response(then.promise.value, HeartbeatResponse, 0).error_code == 25


def test_work_that_breaks_is_answered_as_a_handler_that_does(caplog: pytest.LogCaptureFixture) -> None:
    outcome: Promise[Any] = Promise()
    waiting = busy(outcome)
    outcome.fail(ZeroDivisionError("a bug"))
    assert response(waiting.promise.value, HeartbeatResponse, 0).error_code == -1
    assert "a bug" in caplog.text


def fetch_frame(version: int, **fields: Any) -> memoryview:
    return frame_of(FetchRequest(max_wait_ms=500, **fields), version)


PARTITIONS = [FetchRequest.FetchTopic("t", partitions=[FetchRequest.FetchPartition()])]


@pytest.mark.parametrize(
    ("frame", "ends"),
    [
        (frame_of(HeartbeatRequest(), 4), True),
        (fetch_frame(6), False),
        (fetch_frame(12, session_id=0, session_epoch=-1, topics=PARTITIONS), False),
        (fetch_frame(12, session_id=5, session_epoch=1), False),
        (fetch_frame(7, session_id=5, session_epoch=-1), True),
        (fetch_frame(12, session_id=5, session_epoch=-1), True),
        (fetch_frame(17, session_id=5, session_epoch=-1), True),
        (fetch_frame(12, session_id=5, session_epoch=-1, topics=PARTITIONS * 100), False),
        (memoryview(b""), True),
        (memoryview(b"\0\x01"), True),
        (memoryview(bytes(fetch_frame(12))[:20]), True),
        (memoryview(b"\0\x01\0\x7f" + bytes(100)), True),
    ],
)
def test_what_ends_a_waiting_fetch(frame: memoryview, ends: bool) -> None:
    assert dispatcher(served(ApiKey.FETCH, lambda *_: None)).ends_wait(frame) is ends


def test_an_api_for_other_listeners_is_neither_served_nor_listed() -> None:
    elsewhere = replace(served(ApiKey.HEARTBEAT, pytest.fail), listeners=frozenset({"controller"}))
    apis = dispatcher(elsewhere)
    assert apis.on_frame(PEER, frame_of(HeartbeatRequest(), 0)) is CLOSE
    answer = response(apis.on_frame(PEER, frame_of(ApiVersionsRequest(), 0)), ApiVersionsResponse, 0)
    assert [row.api_key for row in answer.api_keys] == [ApiKey.API_VERSIONS]
