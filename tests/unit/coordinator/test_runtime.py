"""Operations in the runtime, shown by the smallest possible coordinator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kcompat.coordinator.operation import Answer, CoordinatorRecord, Result, Writer
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import read_header
from kcompat.records.control import ControlType, EndTransactionMarker, read_marker
from support.registers import RegisterFixture, Registers, Text, failed, put

if TYPE_CHECKING:
    from collections.abc import Callable

COMMIT = EndTransactionMarker(ControlType.COMMIT, coordinator_epoch=3)
ABORT = EndTransactionMarker(ControlType.ABORT, coordinator_epoch=3)


def test_a_write_is_answered_at_once_when_it_is_committed_at_once(fixture: RegisterFixture) -> None:
    shard = fixture.load()
    assert fixture.write(put("a", "1", "2")).value == "ok"
    assert shard.replayed == [("a", 0, -1), ("a", 1, -1)]
    assert shard.committed_to == 1
    assert fixture.log.batch_count(0) == 1


def test_an_operation_sees_what_the_one_before_it_wrote(fixture: RegisterFixture) -> None:
    fixture.load()
    fixture.log.hold()
    fixture.write(put("a", "1"))
    seen: list[str | None] = []

    def look(shard: Registers, _now_ms: int) -> Result[None]:
        seen.append(shard.latest["a"])
        return Result(None)

    fixture.write(look)
    assert seen == ["1"]


def test_an_answer_waits_for_what_it_may_build_on(fixture: RegisterFixture) -> None:
    """A request that writes nothing may be told of what one before it wrote, which can still be lost."""
    fixture.load()
    fixture.log.hold()
    answered: list[Any] = []
    fixture.write(put("a", "1")).then(answered.append)
    fixture.write(read_a).then(answered.append)
    assert not answered
    fixture.log.release()
    assert answered == ["ok", "1"]
    assert fixture.clock.pending == 0


def test_an_answer_without_records_waits_for_a_marker_too(fixture: RegisterFixture) -> None:
    fixture.load()
    fixture.log.hold()
    fixture.runtime.end_transaction(0, Writer(7, 2), COMMIT)
    answer = fixture.write(put("a"))
    assert not answer.done
    fixture.log.release()
    assert answer.value == "ok"


def test_an_answer_without_records_waits_for_nothing_where_all_is_committed(fixture: RegisterFixture) -> None:
    fixture.load()
    fixture.write(put("a", "1"))
    fixture.log.hold()
    assert fixture.write(read_a).value == "1"


def test_who_is_told_nothing_waits_for_nothing_but_records(fixture: RegisterFixture) -> None:
    fixture.load()
    fixture.log.hold()
    fixture.write(put("a", "1"))
    settled: list[ErrorCode] = []

    def note(_shard: Registers, _now_ms: int, outcome: ErrorCode) -> Result[None]:
        settled.append(outcome)
        return Result(None)

    fixture.write(put("b", response=None, settled=note))
    fixture.write(put("b", response=Promise(), settled=note))
    assert settled == [ErrorCode.NONE, ErrorCode.NONE]


def test_an_answer_that_builds_on_what_is_lost_tells_that(fixture: RegisterFixture) -> None:
    fixture.load()
    fixture.log.hold()
    fixture.write(put("a", "1"))
    lost = fixture.write(read_a)
    assert not lost.done
    fixture.log.release(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert lost.value == "failed NOT_LEADER_OR_FOLLOWER"
    fixture.log.hold()
    moved = fixture.write(read_a)
    fixture.runtime.unload(0, leader_epoch=2)
    assert moved.value == "failed NOT_COORDINATOR"


@pytest.mark.parametrize("is_given_up", [False, True])
def test_who_was_promised_an_answer_after_the_commit_is_told_that_the_shard_is_gone(
    fixture: RegisterFixture, *, is_given_up: bool
) -> None:
    """The operation that would have answered does not run any more, and the shard may not know of the
    request. Requests that the shard knows are answered by the shard.
    """

    def broken(_shard: Registers, _now_ms: int, _outcome: ErrorCode) -> Result[None]:
        raise ZeroDivisionError

    shard = fixture.load()
    fixture.log.hold()
    shard.parked.append(Promise())
    known = fixture.write(put("a", "1", response=shard.parked[0]))
    unknown = fixture.write(put("b", "1", response=Promise()))
    if is_given_up:
        fixture.write(put("c", response=None, settled=broken)).then(_nothing, _nothing)
    else:
        fixture.runtime.unload(0, leader_epoch=2)
    assert unknown.done
    assert (known.value, unknown.value) == ("moved", "failed NOT_COORDINATOR")


def _nothing(_: object) -> None:
    """Ignore an answer that no client waits for."""


def test_an_answer_without_records_is_given_up_in_time(fixture: RegisterFixture) -> None:
    fixture.load()
    fixture.log.hold()
    fixture.write(put("a", "1"))
    fixture.clock.advance(2000)
    answer = fixture.write(read_a)
    fixture.clock.advance(4999)
    assert not answer.done
    fixture.clock.advance(1)
    assert answer.value == "failed REQUEST_TIMED_OUT"


def test_what_is_committed_with_too_few_in_sync_is_shown(fixture: RegisterFixture) -> None:
    """The client gets an error, but no write remains uncommitted."""
    shard = fixture.load()
    fixture.log.hold()
    answer = fixture.write(put("a", "1"))
    fixture.log.release(ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
    assert answer.value == "failed NOT_ENOUGH_REPLICAS_AFTER_APPEND"
    assert shard.committed_to == 0
    assert fixture.write(read_a).value == "1"


def read_a(shard: Registers, _now_ms: int) -> Result[Any]:
    return Result(shard.latest["a"])


def test_a_write_waits_for_its_commit(fixture: RegisterFixture) -> None:
    shard = fixture.load()
    fixture.log.hold()
    answer = fixture.write(put("a", "1"))
    assert not answer.done
    assert shard.latest == {"a": "1"}
    assert shard.committed_to == -1
    fixture.log.release()
    assert answer.value == "ok"
    assert shard.committed_to == 0
    assert fixture.clock.pending == 0


def test_a_refused_append_changes_nothing_and_tells_its_error(fixture: RegisterFixture) -> None:
    shard = fixture.load()
    fixture.log.error = ErrorCode.NOT_ENOUGH_REPLICAS
    assert fixture.write(put("a", "1")).value == "failed NOT_ENOUGH_REPLICAS"
    assert shard.latest == {}


def test_a_commit_that_does_not_come_is_given_up_but_may_still_happen(fixture: RegisterFixture) -> None:
    shard = fixture.load()
    fixture.log.hold()
    answer = fixture.write(put("a", "1"))
    fixture.clock.advance(4999)
    assert not answer.done
    fixture.clock.advance(1)
    assert answer.value == "failed REQUEST_TIMED_OUT"
    fixture.log.release()
    assert shard.committed_to == 0


def test_lost_leadership_fails_what_waits(fixture: RegisterFixture) -> None:
    fixture.load()
    fixture.log.hold()
    answer = fixture.write(put("a", "1"))
    fixture.log.release(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert answer.value == "failed NOT_LEADER_OR_FOLLOWER"


@pytest.mark.parametrize("error", [ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR])
def test_settled_learns_the_fate_of_the_records_before_the_answer(
    fixture: RegisterFixture, error: ErrorCode
) -> None:
    fixture.load()
    fixture.log.error = error
    told: list[str] = []
    parked: Promise[str] = Promise()

    def settled(_shard: Registers, _now_ms: int, outcome: ErrorCode) -> Result[None]:
        told.append(outcome.name)
        return Result(None, answers=[Answer(parked, f"settled {outcome.name}")])

    answer = fixture.write(put("a", "1", response=parked, settled=settled))
    assert told == [error.name]
    assert answer.value == f"settled {error.name}"


def test_a_follow_up_may_write_too(fixture: RegisterFixture) -> None:
    shard = fixture.load()

    def settled(_shard: Registers, _now_ms: int, _outcome: ErrorCode) -> Result[None]:
        return Result(None, [CoordinatorRecord(Text("b"), None)])

    fixture.write(put("a", "1", settled=settled))
    assert [key for key, *_ in shard.replayed] == ["a", "b"]


def test_a_request_that_an_answer_brings_in_waits_for_the_operation_to_end(fixture: RegisterFixture) -> None:
    shard = fixture.load()
    parked: Promise[str] = Promise()
    order: list[str] = []

    def first(shard: Registers, _now_ms: int) -> Result[str]:
        order.append("first")
        return Result("ok", [CoordinatorRecord(Text("a"), Text("1"))], answers=[Answer(parked, "go on")])

    def second(shard: Registers, _now_ms: int) -> Result[str]:
        order.append(f"second sees {shard.latest['a']}")
        return Result("ok")

    parked.then(lambda _: fixture.write(second))
    fixture.write(first)
    assert order == ["first", "second sees 1"]
    assert shard.committed_to == 0


def test_a_request_that_an_append_brings_in_waits_for_the_replay(fixture: RegisterFixture) -> None:
    shard = fixture.load()
    nested: list[Promise[Any]] = []

    def write_once() -> None:
        if not nested:
            nested.append(fixture.write(put("b", "2")))
            assert not nested[0].done

    fixture.log.wake = write_once
    fixture.write(put("a", "1"))
    assert nested[0].value == "ok"
    assert [key for key, *_ in shard.replayed] == ["a", "b"]


def test_timers_run_operations(fixture: RegisterFixture) -> None:
    shard = fixture.load()
    shard.timers.schedule("later", 1000, put("a", "1"))
    fixture.clock.advance(1000)
    assert shard.latest == {"a": "1"}


def test_only_the_owner_answers(fixture: RegisterFixture) -> None:
    assert fixture.write(put("a", "1")).value == "failed NOT_COORDINATOR"
    assert fixture.runtime.read(0, lambda shard, _: shard.latest, failed) == "failed NOT_COORDINATOR"
    assert fixture.log.appends == 0


def test_reads_are_told_the_time(fixture: RegisterFixture) -> None:
    fixture.load()
    query: Callable[[Registers, int], int] = lambda _, now_ms: now_ms  # noqa: E731
    assert fixture.runtime.read(0, query, lambda _: 0) == fixture.clock.now_ms()


# --- transactions


def test_a_transaction_ends_with_a_marker_in_the_log(fixture: RegisterFixture) -> None:
    shard = fixture.load()
    fixture.write(put("a", "1"))
    assert fixture.runtime.end_transaction(0, Writer(7, 2), COMMIT).value == ErrorCode.NONE
    assert fixture.runtime.end_transaction(0, Writer(8, 0), ABORT).value == ErrorCode.NONE
    assert shard.ended == [(7, True, 1), (8, False, 2)]
    assert shard.committed_to == 2
    batch = memoryview(fixture.log.batches[0][1])
    header = read_header(batch)
    assert (header.producer_id, header.producer_epoch, header.is_control) == (7, 2, True)
    assert read_marker(batch) == COMMIT
    fixture.runtime.unload(0, leader_epoch=2)
    fixture.runtime.load(0, leader_epoch=3)
    assert dict(fixture.runtime.active())[0].ended == shard.ended


def test_the_end_of_a_transaction_waits_for_its_commit(fixture: RegisterFixture) -> None:
    shard = fixture.load()
    fixture.log.hold()
    ended = fixture.runtime.end_transaction(0, Writer(7, 2), COMMIT)
    assert not ended.done
    assert (shard.ended, shard.committed_to) == ([(7, True, 0)], -1)
    fixture.log.release()
    assert ended.value == ErrorCode.NONE
    assert shard.committed_to == 0


def test_the_end_of_a_transaction_takes_its_turn(fixture: RegisterFixture) -> None:
    """A marker that arrives while a record is appended, and a follow-up that writes, keep the log's order."""
    shard = fixture.load()
    ended: list[Promise[ErrorCode]] = []

    def end_once() -> None:
        if not ended:
            ended.append(Promise())
            fixture.runtime.end_transaction(0, Writer(7, 2), COMMIT).then(ended[0].complete)

    def follow_up(_shard: Registers, _now_ms: int, _outcome: ErrorCode) -> Result[None]:
        return Result(None, [CoordinatorRecord(Text("a"), None)])

    fixture.log.wake = end_once
    fixture.write(put("a", "1", settled=follow_up))
    assert shard.offsets == [0, 1, 2]
    assert shard.ended == [(7, True, 2)]
    assert ended[0].value == ErrorCode.NONE


def test_a_marker_that_is_refused_ends_nothing(fixture: RegisterFixture) -> None:
    shard = fixture.load()
    fixture.log.error = ErrorCode.INVALID_PRODUCER_EPOCH
    assert fixture.runtime.end_transaction(0, Writer(7, 2), COMMIT).value == ErrorCode.INVALID_PRODUCER_EPOCH
    assert shard.ended == []


def test_the_end_of_a_transaction_and_a_shard_that_is_not_there(fixture: RegisterFixture) -> None:
    assert fixture.runtime.end_transaction(0, Writer(7, 2), COMMIT).value == ErrorCode.NOT_COORDINATOR
    fixture.load()
    fixture.log.hold()
    ended = fixture.runtime.end_transaction(0, Writer(7, 2), COMMIT)
    fixture.runtime.unload(0, leader_epoch=2)
    assert ended.value == ErrorCode.NOT_COORDINATOR


def test_what_has_to_be_the_latest_is_read_once_it_is_certain_who_leads(fixture: RegisterFixture) -> None:
    def latest() -> Promise[Any]:
        return fixture.runtime.read_latest(0, lambda shard, _: dict(shard.latest), failed)

    assert latest().value == "failed NOT_COORDINATOR"
    fixture.load()
    fixture.write(put("a", "1"))
    assert latest().value == {"a": "1"}
    fixture.log.leads = Promise()
    waiting = latest()
    fixture.write(put("a", "2"))
    assert not waiting.done
    fixture.log.leads.complete(ErrorCode.NONE)
    assert waiting.value == {"a": "2"}
    for error in (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_LEADER_OR_FOLLOWER):
        fixture.log.leads = Promise.resolved(error)
        assert latest().value == "failed NOT_COORDINATOR"
