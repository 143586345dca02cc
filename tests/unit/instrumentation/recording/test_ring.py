"""The bound of the ring of recorded requests."""

from __future__ import annotations

import tracemalloc

from kcompat.instrumentation.recording.exchange import Fate, RecordedEvent, RecordedExchange
from kcompat.instrumentation.recording.ring import RING_BYTES, Ring
from kcompat.security.principals import ANONYMOUS


def exchange(number: int, request: bytes = b"request", answer: bytes = b"answer") -> RecordedExchange:
    return RecordedExchange(
        number,
        "127.0.0.1",
        1000 + number,
        "PLAINTEXT",
        ANONYMOUS,
        request,
        len(request),
        Fate.ANSWERED,
        (answer,),
    )


def test_the_oldest_are_dropped() -> None:
    ring = Ring(limit=2000)
    for number in range(10):
        ring.add(exchange(number))
    assert [each.at_ns for each in ring.entries()] == [6, 7, 8, 9]
    assert ring.held <= 2000


def test_a_late_answer_counts_and_one_that_comes_too_late_does_not() -> None:
    ring = Ring(limit=2000)
    waiting, dropped = exchange(1), exchange(0)
    dropped.answer = waiting.answer = ()
    ring.add(dropped)
    ring.add(waiting)
    before = ring.held
    waiting.answer = (bytes(1500), 10_000)
    ring.settle(waiting)
    assert ring.entries() == [waiting]
    assert ring.held < before + 1500
    held = ring.held
    dropped.answer = (bytes(1000),)
    ring.settle(dropped)
    assert ring.held == held


def test_an_entry_larger_than_the_ring_leaves_it_empty() -> None:
    ring = Ring(limit=1000)
    ring.add(exchange(1, bytes(2000)))
    assert (ring.entries(), ring.held) == ([], 0)


def test_events_stand_between_the_requests_and_count_too() -> None:
    ring = Ring(limit=1000)
    ring.add(exchange(1))
    ring.note(RecordedEvent(2, "closed", "127.0.0.1", text="disconnected"))
    assert [each.at_ns for each in ring.entries()] == [1, 2]
    for number in range(10):
        ring.note(RecordedEvent(number, "opened", "127.0.0.1"))
    assert len(ring.entries()) == 2
    assert ring.held <= 1000


def test_a_full_ring_takes_less_than_a_megabyte() -> None:
    tracemalloc.start()
    try:
        ring = Ring()
        for number in range(4000):  # objects of their own, as frames make them
            ring.add(exchange(1000 + number, bytes(150 + number % 7), bytes(60 + number % 7)))
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(ring.entries()) < 2000
    assert used <= RING_BYTES < 1 << 20


def test_a_waiting_request_that_was_dropped_keeps_no_bytes() -> None:
    ring = Ring(limit=3000)
    waiting = exchange(0, bytes(2000))
    waiting.answer = ()
    ring.add(waiting)
    ring.add(exchange(1, bytes(2000)))
    assert waiting not in ring.entries()
    assert (waiting.request, waiting.request_size) == (bytes(4), 2000)
    waiting.answer = (bytes(1000),)
    ring.settle(waiting)
    assert not waiting.answer
