"""Answers keep the order of their requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.net.answer_queue import AnswerQueue
from kcompat.net.answers import CLOSE, Answer, Mode, Waiting
from kcompat.net.gate import BUSY, CROWDED, WAITING
from kcompat.net.limits import Limits
from kcompat.promise import Promise
from support.conversations import USUAL

if TYPE_CHECKING:
    from kcompat.net.answers import Piece


def queue() -> tuple[AnswerQueue, list[int]]:
    calls: list[int] = []
    return AnswerQueue(lambda: calls.append(1)), calls


def popped(answers: AnswerQueue) -> tuple[list[Piece], bool]:
    pieces: list[Piece] = []
    closes = answers.pop_settled(pieces)
    return pieces, closes


def test_nothing_overtakes_the_first() -> None:
    answers, calls = queue()
    first, second = Promise[Answer](), Promise[Answer]()
    answers.wait_for(Waiting(first, Mode.PIPELINED))
    answers.wait_for(Waiting(second, Mode.PIPELINED))
    answers.push([b"third"])
    second.complete([b"second"])
    assert popped(answers) == ([], False)
    assert (len(answers), len(calls), answers.memory) == (3, 1, 11)
    first.complete([b"first"])
    assert popped(answers) == ([b"first", b"second", b"third"], False)
    assert (len(answers), answers.memory) == (0, 0)


def test_blocked_until_the_last_is_answered() -> None:
    answers, _ = queue()
    first, last = Promise[Answer](), Promise[Answer]()
    answers.wait_for(Waiting(first, Mode.PIPELINED))
    assert answers.gate(USUAL) == 0
    answers.wait_for(Waiting(last, Mode.BLOCKING))
    assert answers.gate(USUAL) == WAITING
    first.complete(None)
    assert answers.gate(USUAL) == WAITING
    last.complete(None)
    assert answers.gate(USUAL) == 0
    assert popped(answers) == ([], False)


def test_interrupt_is_called_once() -> None:
    answers, _ = queue()
    promise, interrupts = Promise[Answer](), list[int]()
    answers.wait_for(Waiting(promise, Mode.INTERRUPTIBLE, lambda: interrupts.append(1)))
    answers.interrupt()
    answers.interrupt()
    assert interrupts == [1]
    assert answers.gate(USUAL) == WAITING


def test_nothing_to_interrupt_after_the_answer() -> None:
    answers, _ = queue()
    promise, interrupts = Promise[Answer](), list[int]()
    answers.wait_for(Waiting(promise, Mode.INTERRUPTIBLE, lambda: interrupts.append(1)))
    promise.complete([b"data"])
    answers.interrupt()
    assert interrupts == []


def test_close_comes_in_its_turn() -> None:
    answers, _ = queue()
    first, second = Promise[Answer](), Promise[Answer]()
    answers.wait_for(Waiting(first, Mode.PIPELINED))
    answers.wait_for(Waiting(second, Mode.PIPELINED))
    second.complete(CLOSE)
    assert popped(answers) == ([], False)
    first.complete([b"first"])
    assert popped(answers) == ([b"first"], True)


def test_answers_to_a_closed_connection_are_forgotten() -> None:
    answers, calls = queue()
    promise = Promise[Answer]()
    answers.wait_for(Waiting(promise, Mode.PIPELINED))
    answers.drop()
    promise.complete([b"late"])
    assert (calls, answers.memory) == ([], 0)


def test_a_closed_connection_ends_the_wait_of_its_fetch() -> None:
    answers, calls = queue()
    promise = Promise[Answer]()
    answers.wait_for(Waiting(promise, Mode.INTERRUPTIBLE, lambda: promise.complete([b"nothing yet"])))
    answers.drop()
    assert promise.done
    assert (calls, answers.memory) == ([], 0)


def test_an_answer_may_be_another_wait() -> None:
    answers, calls = queue()
    work, commit = Promise[Answer](), Promise[Answer]()
    answers.wait_for(Waiting(work, Mode.BUSY, holds=100))
    assert answers.gate(USUAL) == BUSY
    work.complete(Waiting(commit, Mode.PIPELINED))
    assert (answers.gate(USUAL), len(calls)) == (0, 1)
    answers.push([b"behind"])
    assert popped(answers) == ([], False)
    commit.complete([b"committed"])
    assert popped(answers) == ([b"committed", b"behind"], False)


def test_a_wait_whose_end_is_known_already() -> None:
    answers, _ = queue()
    work = Promise[Answer]()
    answers.wait_for(Waiting(work, Mode.BUSY))
    work.complete(Waiting(Promise[Answer].resolved([b"done"]), Mode.PIPELINED))
    assert answers.gate(USUAL) == 0
    assert popped(answers) == ([b"done"], False)


def test_blocked_is_not_busy() -> None:
    answers, _ = queue()
    first, second = Promise[Answer](), Promise[Answer]()
    answers.wait_for(Waiting(first, Mode.BUSY))
    first.complete(None)
    answers.wait_for(Waiting(second, Mode.BLOCKING))
    assert answers.gate(USUAL) == WAITING


def test_too_many_answers_hold_back_frames() -> None:
    answers, _ = queue()
    limits = Limits(max_pipelined=2)
    for expected in (0, CROWDED):
        answers.wait_for(Waiting(Promise[Answer](), Mode.PIPELINED))
        assert answers.gate(limits) == expected
