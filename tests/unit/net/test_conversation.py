"""A conversation without a network: bytes are put in, pieces come out, time is made of nothing."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from kcompat.net.answers import CLOSE, Answer, Mode, Waiting
from kcompat.net.hub import Hub
from kcompat.net.limits import Limits
from kcompat.notices.causes import SLOW
from kcompat.promise import Promise
from support.conversations import USUAL, Collected, Script, conversation, iterations, virtually

if TYPE_CHECKING:
    from kcompat.net.frame_buffer import FrameBuffer
    from kcompat.net.hub import HubMember
    from kcompat.net.interception import ObservedConnection


@virtually
async def test_whole_frames_are_handed_on_and_answered_in_order() -> None:
    talk = conversation()
    talk.feed(b"\0\0\0\3one\0\0\0\3two\0\0\0\5three")
    assert talk.sent == [b"<one>", b"<two>", b"<three>"]


@virtually
async def test_a_frame_is_kept_until_all_of_it_is_there() -> None:
    talk = conversation()
    for byte in b"\0\0\0\3one\0\0\0":
        talk.feed(bytes([byte]))
    assert talk.sent == [b"<one>"]
    assert talk._hub.memory.used > 0
    talk.feed(b"\3two")
    assert talk.sent == [b"<one>", b"<two>"]
    assert talk._hub.memory.used == 0


@virtually
async def test_no_answer_is_sent_where_there_is_none() -> None:
    talk = conversation()
    talk.feed(b"\0\0\0\0010\0\0\0\3one")
    assert talk.sent == [b"<one>"]


@pytest.mark.parametrize("length", [b"\0\0\0\0", b"\xff\xff\xff\xff", b"\0\0\0\x0b"])
@virtually
async def test_an_impossible_length_closes_behind_the_answers(length: bytes) -> None:
    talk = conversation(limits=Limits(max_frame=10))
    talk.feed(b"\0\0\0\3one" + length + b"and more of it")
    await iterations()
    assert (talk.sent, talk.events) == ([b"<one>"], ["hang up"])
    assert talk._hub.closed == {"bad frame length": 1}


@virtually
async def test_answers_that_come_later_wait_their_turn() -> None:
    first, second = Promise[Answer](), Promise[Answer]()
    script = Script(a=Waiting(first, Mode.PIPELINED), b=Waiting(second, Mode.PIPELINED))
    talk = conversation(script)
    talk.feed(b"\0\0\0\1a\0\0\0\1b\0\0\0\1c")
    second.complete([b"2"])
    await iterations()
    assert (script.frames, talk.sent) == ([b"a", b"b", b"c"], [])
    first.complete([b"1"])
    await iterations()
    assert talk.sent == [b"1", b"2", b"<c>"]


@virtually
async def test_frames_behind_a_blocking_one_wait() -> None:
    promise = Promise[Answer]()
    script = Script(join=Waiting(promise, Mode.BLOCKING))
    talk = conversation(script)
    talk.feed(b"\0\0\0\4join\0\0\0\4next")
    assert script.frames == [b"join"]
    promise.complete([b"joined"])
    await iterations()
    assert talk.sent == [b"joined", b"<next>"]


@virtually
async def test_behind_one_that_is_worked_on_nothing_is_received() -> None:
    promise = Promise[Answer]()
    talk = conversation(Script(work=Waiting(promise, Mode.BUSY)))
    assert talk.feed(b"\0\0\0\4work") == b""
    assert talk.feed(b"\0\0\0\4next") == b"\0\0\0\4next"
    promise.complete([b"done"])
    await iterations()
    assert talk.events == ["resume"]
    assert talk.feed(b"\0\0\0\4next") == b""
    assert talk.sent == [b"done", b"<next>"]


@pytest.mark.parametrize(
    ("behind", "times"), [(b"\0\0\0\5fetch", 0), (b"\0\0\0\5other", 1), (b"\0\0\0\5othe", 0)]
)
@virtually
async def test_a_waiting_fetch_is_ended_by_whole_frames_of_other_kinds(behind: bytes, times: int) -> None:
    calls: list[str] = []
    talk = conversation(Script(fetch=Waiting(Promise(), Mode.INTERRUPTIBLE, lambda: calls.append("ended"))))
    talk.feed(b"\0\0\0\5fetch")
    talk.feed(behind)
    talk.feed(b"")
    assert calls == ["ended"] * times


@virtually
async def test_the_end_ends_a_waiting_fetch_and_forgets_answers() -> None:
    promise, calls = Promise[Answer](), list[str]()
    talk = conversation(Script(fetch=Waiting(promise, Mode.INTERRUPTIBLE, lambda: calls.append("ended"))))
    talk.feed(b"\0\0\0\5fetch\0\0\0\5fetch")
    talk.close("disconnected")
    talk.close("again")
    promise.complete([b"too late"])
    await iterations()
    assert (calls, talk.sent, talk.events) == (["ended"], [], ["hang up"])
    assert talk._hub.closed == {"disconnected": 1}
    assert talk._hub.memory.used == 0
    assert talk.room() is None


@virtually
async def test_close_is_obeyed_behind_earlier_answers() -> None:
    promise = Promise[Answer]()
    talk = conversation(Script(later=Waiting(promise, Mode.PIPELINED), close=CLOSE))
    talk.feed(b"\0\0\0\5later\0\0\0\5close\0\0\0\5never")
    await iterations()
    assert talk.events == []
    promise.complete([b"now"])
    await iterations()
    assert (talk.sent, talk.events) == ([b"now"], ["hang up"])
    assert talk._hub.closed == {"closed by the handler": 1}


@virtually
async def test_a_muted_peer_is_heard_when_the_time_is_over() -> None:
    talk, loop = conversation(), asyncio.get_running_loop()
    talk.feed(b"\0\0\0\3one")
    talk.mute(5000)
    talk.mute(10)
    assert talk.feed(b"\0\0\0\3two") == b"\0\0\0\3two"
    await asyncio.sleep(4.999)
    assert talk.events == []
    await asyncio.sleep(0.002)
    assert talk.events == ["resume"]
    assert loop.time() == pytest.approx(5.001)
    assert talk.feed(b"\0\0\0\3two") == b""
    assert talk.sent == [b"<one>", b"<two>"]


@virtually
async def test_an_exception_of_the_handler_closes_behind_the_answers(
    caplog: pytest.LogCaptureFixture,
) -> None:
    script = Script()
    script.answers = {"one": None}
    talk = conversation(script)
    talk.feed(b"\0\0\0\3two\0\0\0\2\xff\xff\0\0\0\3two")
    await iterations()
    assert (talk.sent, talk.events) == ([b"<two>"], ["hang up"])
    assert talk._hub.closed == {"failed request": 1}
    assert "a request failed" in caplog.text


class FullHub(Hub):
    """A hub that cannot keep the bytes of an unfinished frame."""

    def hold(self, received: memoryview, connection: HubMember) -> FrameBuffer:
        raise MemoryError("no memory")


@virtually
async def test_an_exception_beside_the_handler_closes_the_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    talk = Collected(FullHub(asyncio.get_running_loop(), USUAL), Script())
    talk.feed(b"\0\0\0\3tw")
    assert talk.events == ["hang up"]
    assert talk._hub.closed == {"failed connection": 1}
    assert [record.getMessage() for record in caplog.records] == [
        "10.0.0.7: connection closed by a fault of the broker"
    ]


@pytest.mark.parametrize(
    ("received", "seconds", "reason"),
    [
        (b"", 30, "unfinished frame"),
        (b"\0\0", 30, "unfinished frame"),
        (b"\0\1\0\0body", 61.00006103515625, "unfinished frame"),  # 60 s, and 65540 bytes at 64 KiB/s
        (b"\0\0\0\3one", 602, "idle"),
    ],
)
@virtually
async def test_deadlines(received: bytes, seconds: float, reason: str) -> None:
    talk = conversation()
    talk.feed(received)
    assert talk.overdue(seconds) is None
    assert talk.overdue(seconds + 0.001) == reason


@virtually
async def test_a_frame_that_came_in_pieces_leaves_no_deadline_behind() -> None:
    talk = conversation()
    for piece in (b"\0\0", b"\0\3on", b"e"):
        talk.feed(piece)
    assert talk.sent == [b"<one>"]
    assert talk.overdue(602) is None


@virtually
async def test_who_is_owed_an_answer_may_be_silent() -> None:
    talk = conversation(Script(later=Waiting(Promise(), Mode.PIPELINED)))
    talk.feed(b"\0\0\0\5later")
    assert talk.overdue(1e9) is None


@virtually
async def test_the_sweep_closes_what_is_overdue() -> None:
    talk = conversation()
    talk._hub.start()
    talk.feed(b"\0\0\0\3on")
    await asyncio.sleep(60 + 2.1)
    assert talk._hub.closed == {"unfinished frame": 1}
    talk._hub.stop()


@virtually
async def test_without_receive_memory_nothing_is_received_until_there_is_some() -> None:
    first = conversation(limits=Limits(receive_memory=1_000_000))
    second = Collected(first._hub, Script())
    hub = first._hub
    big = b"\0\7\xa1\x20" + bytes(500_000)
    first.feed(big[:14])
    second.feed(big[:14])
    assert first.feed(big[14:-1]) == b""  # one peer of an address may go over its share
    rest = second.feed(big[14:])
    assert rest != b""
    assert second.events == []
    first.feed(b"\0")
    await iterations()
    assert second.events == ["resume"]
    assert second.feed(rest) == b""
    assert [len(piece) for piece in first.sent + second.sent] == [500_002, 500_002]
    assert hub.memory.used == 0
    hub.memory.check_invariants()


@virtually
async def test_too_many_answers_that_wait_stop_the_handing_on() -> None:
    promise = Promise[Answer]()
    script = Script(later=Waiting(promise, Mode.PIPELINED))
    talk = conversation(script, Limits(max_pipelined=2))
    talk.feed(b"\0\0\0\5later\0\0\0\1a\0\0\0\1b")
    assert script.frames == [b"later", b"a"]
    promise.complete([b"now"])
    await iterations()
    assert talk.sent == [b"now", b"<a>", b"<b>"]


@virtually
async def test_finish_answers_what_is_in_flight() -> None:
    promise = Promise[Answer]()
    script = Script(later=Waiting(promise, Mode.PIPELINED))
    talk = conversation(script)
    talk.feed(b"\0\0\0\5later")
    talk.finish()
    await iterations()
    assert talk.feed(b"\0\0\0\3one") == b"\0\0\0\3one"
    promise.complete([b"now"])
    await iterations()
    assert (talk.sent, talk.events) == ([b"now"], ["hang up"])
    assert talk._hub.closed == {"stopped": 1}


@virtually
async def test_the_next_frame_is_placed_as_it_is_wanted() -> None:
    talk = conversation()
    view = memoryview(bytearray(100))
    talk.place_next(view, 7)
    lead = talk.lead
    talk.place_next(view, 8)
    assert 0 <= lead < 32
    assert talk.lead == (2 * lead + 1) % 32
    before = talk.lead
    talk.feed(b"\0\0\0\3one")
    assert (talk.sent, talk.lead) == ([b"<one>"], before)


@virtually
async def test_who_wants_to_know_is_told_of_the_end_once(caplog: pytest.LogCaptureFixture) -> None:
    talk, told = conversation(), list[object]()
    talk.when_closed(lambda: told.append("one"))
    talk.when_closed(lambda: told.append(1 / 0))
    talk.when_closed(lambda: told.append("two"))
    assert told == []
    talk.close()
    talk.close()
    assert told == ["one", "two"]
    talk.when_closed(lambda: told.append("late"))
    assert told == ["one", "two", "late"]
    assert "somebody who was to be told of the end of a connection" in caplog.text


class Observer:
    """An observer of connections that writes down what it is told."""

    def __init__(self) -> None:
        self.heard: list[tuple[object, ...]] = []

    def opened(self, connection: ObservedConnection) -> None:
        self.heard.append(("opened", connection.peer_port))

    def closed(self, connection: ObservedConnection, reason: str) -> None:
        self.heard.append(("closed", connection.peer_port, reason))

    def complained(self, host: str, message: str) -> None:
        self.heard.append(("complained", host, message))


@virtually
async def test_an_observer_is_told_of_each_connection_and_each_complaint() -> None:
    observer = Observer()
    first = conversation()
    first._hub.observers.append(observer)
    second = Collected(first._hub, Script())
    first.complain(SLOW, reason="one")
    first.complain(SLOW, reason="two")  # counted, not logged
    second.close("idle")
    assert observer.heard == [
        ("opened", second.peer_port),
        ("complained", first.peer_host, "connection closed: one"),
        ("complained", first.peer_host, "connection closed: two"),
        ("closed", second.peer_port, "idle"),
    ]
