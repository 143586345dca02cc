"""Entries of a record, and what is made of them again."""

from __future__ import annotations

import pytest

from kcompat.instrumentation.recording.assembling import Assembler
from kcompat.instrumentation.recording.capture import Capture, Keeping
from kcompat.instrumentation.recording.exchange import Fate, RecordedEvent, RecordedExchange
from kcompat.instrumentation.recording.journal import (
    AskedRequest,
    Entry,
    Named,
    Opened,
    RecordJournal,
    Skipped,
)
from kcompat.net.answers import Answer, Mode, Waiting
from kcompat.promise import Promise
from kcompat.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from support.recorded import answer_of, exchange_of, frame_of
from support.recorded_broker import RecordedBroker

FRAME = frame_of(HeartbeatRequest(group_id="g"), 4)
ANSWER = answer_of(HeartbeatResponse(), 4)
ORDERS, USERS = b"o" * 16, b"u" * 16


@pytest.fixture
def broker() -> RecordedBroker:
    return RecordedBroker(7, orders=ORDERS)


@pytest.fixture
def entries(broker: RecordedBroker) -> list[Entry]:
    """The entries of the broker so far."""
    found: list[Entry] = []
    journal = RecordJournal(broker.hooks, lambda *new: found.extend(new))
    journal.begin()
    broker.hooks.interception.add(Capture(journal, Keeping(8192)))
    broker.hooks.observers.append(journal)
    return found


def assembled(entries: list[Entry]) -> tuple[Assembler, list[RecordedExchange | RecordedEvent]]:
    state = Assembler()
    return state, [seen for seen in map(state.take, entries) if seen is not None]


def test_what_is_assembled_is_what_happened(broker: RecordedBroker, entries: list[Entry]) -> None:
    peer = broker.open(1000)
    broker.ask(peer, FRAME, ANSWER)
    broker.complain("127.0.0.1", "too loud")
    broker.close(peer, "idle")
    state, (opened, exchange, complaint, closed) = assembled(entries)
    assert isinstance(exchange, RecordedExchange)
    assert (exchange.request, exchange.request_size) == (FRAME, len(FRAME))
    assert (exchange.fate, exchange.answer) == (Fate.ANSWERED, tuple(ANSWER))
    assert (exchange.port, exchange.listener, str(exchange.principal)) == (
        1000,
        "PLAINTEXT",
        "User:ANONYMOUS",
    )
    happened = [
        (each.what, each.port, each.text)
        for each in (opened, complaint, closed)
        if isinstance(each, RecordedEvent)
    ]
    assert happened == [("opened", 1000, ""), ("complaint", 0, "too loud"), ("closed", 1000, "idle")]
    assert (state.broker_id, state.names) == (7, {ORDERS: "orders"})


def test_a_waiting_request_is_pending_until_its_answer_comes(
    broker: RecordedBroker, entries: list[Entry]
) -> None:
    later: Promise[Answer] = Promise()
    broker.ask(broker.open(1000), FRAME, Waiting(later, Mode.BLOCKING))
    state, _ = assembled(entries)
    (pending,) = state.pending.values()
    assert pending.fate is Fate.WAITING
    later.complete(ANSWER)
    state, seen = assembled(entries)
    assert state.pending == {}
    assert isinstance(seen[-1], RecordedExchange)


def test_a_waiting_request_keeps_no_bytes_once_they_are_written(broker: RecordedBroker) -> None:
    written: list[Entry] = []
    exchange = exchange_of(FRAME, Waiting(Promise(), Mode.BLOCKING))
    RecordJournal(broker.hooks, lambda *new: written.extend(new)).add(exchange)
    (asked,) = (each for each in written if isinstance(each, AskedRequest))
    assert (asked.frame, exchange.request) == (FRAME, FRAME[:4])


def test_connections_of_the_same_port_are_told_apart(broker: RecordedBroker, entries: list[Entry]) -> None:
    for _ in range(2):
        peer = broker.open(1000)
        broker.ask(peer, FRAME, ANSWER)
        broker.close(peer, "disconnected")
    _, seen = assembled(entries)
    assert [each.mark for each in seen if isinstance(each, RecordedExchange)] == [1, 2]


def test_a_connection_that_was_open_before_is_told_with_its_first_request(
    broker: RecordedBroker, entries: list[Entry]
) -> None:
    peer = RecordedBroker().open(1000)
    broker.ask(peer, FRAME, ANSWER)
    broker.ask(peer, FRAME, ANSWER)
    assert len([each for each in entries if isinstance(each, Opened)]) == 1


def test_topics_are_named_once_and_when_they_are_new(broker: RecordedBroker, entries: list[Entry]) -> None:
    peer = broker.open(1000)
    broker.ask(peer, FRAME, ANSWER)
    broker.metadata.name(users=USERS)
    broker.ask(peer, FRAME, ANSWER)
    broker.ask(peer, FRAME, ANSWER)
    assert [list(each.topics.values()) for each in entries if isinstance(each, Named)] == [
        ["orders"],
        ["users"],
    ]


def test_the_next_file_repeats_connections_and_names_and_goes_on_counting(
    broker: RecordedBroker, entries: list[Entry]
) -> None:
    later: Promise[Answer] = Promise()
    broker.ask(broker.open(1000), FRAME, Waiting(later, Mode.BLOCKING))
    journal = broker.hooks.observers[0]
    assert isinstance(journal, RecordJournal)
    of_the_first = len(entries)
    journal.begin()
    later.complete(ANSWER)
    _, seen = assembled(entries)
    assert [type(each).__name__ for each in seen] == ["RecordedEvent", "RecordedExchange"]
    second = [type(each).__name__ for each in entries[of_the_first:]]
    assert second == ["Began", "Opened", "Named", "Answered"]


def test_after_a_gap_nothing_is_pending(broker: RecordedBroker, entries: list[Entry]) -> None:
    broker.ask(broker.open(1000), FRAME, Waiting(Promise[Answer](), Mode.BLOCKING))
    state, _ = assembled([*entries, Skipped(0)])
    assert len(state.pending) == 1
    state.take(Skipped(3))
    assert state.pending == {}
