"""The queue between a broker and the reader of its trace."""

from __future__ import annotations

from kcompat.instrumentation.recording.exchange import Fate
from kcompat.instrumentation.recording.journal import (
    Answered,
    AskedRequest,
    Began,
    Complained,
    Opened,
    Skipped,
)
from kcompat.instrumentation.recording.live import EntryQueue, tracing
from kcompat.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from support.recorded import answer_of, frame_of
from support.recorded_broker import RecordedBroker

FRAME = frame_of(HeartbeatRequest(group_id="g"), 4)
ANSWER = answer_of(HeartbeatResponse(), 4)


async def test_a_reader_that_is_too_slow_gets_the_number_of_what_it_missed() -> None:
    queue = EntryQueue(limit=1000)
    for _ in range(10):
        queue.put(AskedRequest(0, 1, 1, "", 0, bytes(100)))
    queue.put(Complained(0, "h", "small enough, but behind the gap"))
    taken = await queue.take(1)
    assert [type(each) for each in taken] == [AskedRequest, AskedRequest, AskedRequest, Skipped]
    assert taken[-1] == Skipped(8)
    queue.put(Answered(1, 0, Fate.ANSWERED, [bytes(100), 10_000]))
    assert len(await queue.take(1)) == 1


async def test_a_quiet_broker_gives_a_sign_of_life() -> None:
    assert await EntryQueue().take(0.001) == [Skipped(0)]


async def test_the_broker_is_let_go_when_the_reader_leaves() -> None:
    broker = RecordedBroker()
    bare = broker.handler.on_frame
    trace = tracing(broker.hooks, "")
    assert [type(each) for each in (await anext(trace)).entries] == [Began]
    broker.ask(broker.open(1000), FRAME, ANSWER)
    assert [type(each) for each in (await anext(trace)).entries] == [Opened, AskedRequest, Answered]
    await trace.aclose()
    assert broker.handler.on_frame == bare
    assert broker.hooks.observers == []
