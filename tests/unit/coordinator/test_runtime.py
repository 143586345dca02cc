"""What the runtime does with operations, seen through the smallest coordinator there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kcompat.coordinator.operation import Answer, CoordinatorRecord, Result, Writer
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import read_header
from kcompat.records.control import ControlType, EndTransactionMarker, read_marker
from support.registers import Registers, RegisterWorld, Text, failed, put

if TYPE_CHECKING:
    from collections.abc import Callable

COMMIT = EndTransactionMarker(ControlType.COMMIT, coordinator_epoch=3)
ABORT = EndTransactionMarker(ControlType.ABORT, coordinator_epoch=3)


def test_a_write_is_answered_at_once_when_it_is_committed_at_once(world: RegisterWorld) -> None:
    shard = world.load()
    assert world.write(put("a", "1", "2")).value == "ok"
    assert shard.replayed == [("a", 0, -1), ("a", 1, -1)]
    assert shard.committed_to == 1
    assert world.log.batch_count(0) == 1


def test_an_operation_sees_what_the_one_before_it_wrote(world: RegisterWorld) -> None:
    world.load()
    world.log.hold()
    world.write(put("a", "1"))
    seen: list[str | None] = []

    def look(shard: Registers, _now_ms: int) -> Result[None]:
        seen.append(shard.latest["a"])
        return Result(None)

    world.write(look)
    assert seen == ["1"]


def test_an_answer_waits_for_what_it_may_build_on(world: RegisterWorld) -> None:
    """A request that writes nothing may be told of what one before it wrote, which can still be lost."""
    world.load()
    world.log.hold()
    answered: list[Any] = []
    world.write(put("a", "1")).then(answered.append)
    world.write(read_a).then(answered.append)
    assert not answered
    world.log.release()
    assert answered == ["ok", "1"]
    assert world.clock.pending == 0


def test_an_answer_without_records_waits_for_a_marker_too(world: RegisterWorld) -> None:
    world.load()
    world.log.hold()
    world.runtime.end_transaction(0, Writer(7, 2), COMMIT)
    answer = world.write(put("a"))
    assert not answer.done
    world.log.release()
    assert answer.value == "ok"


def test_an_answer_without_records_waits_for_nothing_where_all_is_committed(world: RegisterWorld) -> None:
    world.load()
    world.write(put("a", "1"))
    world.log.hold()
    assert world.write(read_a).value == "1"


def test_who_is_told_nothing_waits_for_nothing_but_records(world: RegisterWorld) -> None:
    world.load()
    world.log.hold()
    world.write(put("a", "1"))
    settled: list[ErrorCode] = []

    def note(_shard: Registers, _now_ms: int, outcome: ErrorCode) -> Result[None]:
        settled.append(outcome)
        return Result(None)

    world.write(put("b", response=None, settled=note))
    world.write(put("b", response=Promise(), settled=note))
    assert settled == [ErrorCode.NONE, ErrorCode.NONE]


def test_an_answer_that_builds_on_what_is_lost_tells_that(world: RegisterWorld) -> None:
    world.load()
    world.log.hold()
    world.write(put("a", "1"))
    lost = world.write(read_a)
    assert not lost.done
    world.log.release(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert lost.value == "failed NOT_LEADER_OR_FOLLOWER"
    world.log.hold()
    moved = world.write(read_a)
    world.runtime.unload(0, leader_epoch=2)
    assert moved.value == "failed NOT_COORDINATOR"


@pytest.mark.parametrize("is_given_up", [False, True])
def test_who_was_promised_an_answer_after_the_commit_is_told_that_the_shard_is_gone(
    world: RegisterWorld, *, is_given_up: bool
) -> None:
    """What would have answered runs no more, and the shard may know nothing of it. Whom the shard knows it
    tells itself.
    """

    def broken(_shard: Registers, _now_ms: int, _outcome: ErrorCode) -> Result[None]:
        raise ZeroDivisionError

    shard = world.load()
    world.log.hold()
    shard.parked.append(Promise())
    known = world.write(put("a", "1", response=shard.parked[0]))
    unknown = world.write(put("b", "1", response=Promise()))
    if is_given_up:
        world.write(put("c", response=None, settled=broken)).then(_nothing, _nothing)
    else:
        world.runtime.unload(0, leader_epoch=2)
    assert unknown.done
    assert (known.value, unknown.value) == ("moved", "failed NOT_COORDINATOR")


def _nothing(_: object) -> None:
    """Nobody cares."""


def test_an_answer_without_records_is_given_up_in_time(world: RegisterWorld) -> None:
    world.load()
    world.log.hold()
    world.write(put("a", "1"))
    world.clock.advance(2000)
    answer = world.write(read_a)
    world.clock.advance(4999)
    assert not answer.done
    world.clock.advance(1)
    assert answer.value == "failed REQUEST_TIMED_OUT"


def test_what_is_committed_with_too_few_in_sync_is_shown(world: RegisterWorld) -> None:
    """It is an error to who wrote it, but nothing is uncommitted any more."""
    shard = world.load()
    world.log.hold()
    answer = world.write(put("a", "1"))
    world.log.release(ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
    assert answer.value == "failed NOT_ENOUGH_REPLICAS_AFTER_APPEND"
    assert shard.committed_to == 0
    assert world.write(read_a).value == "1"


def read_a(shard: Registers, _now_ms: int) -> Result[Any]:
    return Result(shard.latest["a"])


def test_a_write_waits_for_its_commit(world: RegisterWorld) -> None:
    shard = world.load()
    world.log.hold()
    answer = world.write(put("a", "1"))
    assert not answer.done
    assert shard.latest == {"a": "1"}
    assert shard.committed_to == -1
    world.log.release()
    assert answer.value == "ok"
    assert shard.committed_to == 0
    assert world.clock.pending == 0


def test_a_refused_append_changes_nothing_and_tells_its_error(world: RegisterWorld) -> None:
    shard = world.load()
    world.log.error = ErrorCode.NOT_ENOUGH_REPLICAS
    assert world.write(put("a", "1")).value == "failed NOT_ENOUGH_REPLICAS"
    assert shard.latest == {}


def test_a_commit_that_does_not_come_is_given_up_but_may_still_happen(world: RegisterWorld) -> None:
    shard = world.load()
    world.log.hold()
    answer = world.write(put("a", "1"))
    world.clock.advance(4999)
    assert not answer.done
    world.clock.advance(1)
    assert answer.value == "failed REQUEST_TIMED_OUT"
    world.log.release()
    assert shard.committed_to == 0


def test_lost_leadership_fails_what_waits(world: RegisterWorld) -> None:
    world.load()
    world.log.hold()
    answer = world.write(put("a", "1"))
    world.log.release(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert answer.value == "failed NOT_LEADER_OR_FOLLOWER"


@pytest.mark.parametrize("error", [ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR])
def test_settled_learns_the_fate_of_the_records_before_the_answer(
    world: RegisterWorld, error: ErrorCode
) -> None:
    world.load()
    world.log.error = error
    told: list[str] = []
    parked: Promise[str] = Promise()

    def settled(_shard: Registers, _now_ms: int, outcome: ErrorCode) -> Result[None]:
        told.append(outcome.name)
        return Result(None, answers=[Answer(parked, f"settled {outcome.name}")])

    answer = world.write(put("a", "1", response=parked, settled=settled))
    assert told == [error.name]
    assert answer.value == f"settled {error.name}"


def test_a_follow_up_may_write_too(world: RegisterWorld) -> None:
    shard = world.load()

    def settled(_shard: Registers, _now_ms: int, _outcome: ErrorCode) -> Result[None]:
        return Result(None, [CoordinatorRecord(Text("b"), None)])

    world.write(put("a", "1", settled=settled))
    assert [key for key, *_ in shard.replayed] == ["a", "b"]


def test_a_request_that_an_answer_brings_in_waits_for_the_operation_to_end(world: RegisterWorld) -> None:
    shard = world.load()
    parked: Promise[str] = Promise()
    order: list[str] = []

    def first(shard: Registers, _now_ms: int) -> Result[str]:
        order.append("first")
        return Result("ok", [CoordinatorRecord(Text("a"), Text("1"))], answers=[Answer(parked, "go on")])

    def second(shard: Registers, _now_ms: int) -> Result[str]:
        order.append(f"second sees {shard.latest['a']}")
        return Result("ok")

    parked.then(lambda _: world.write(second))
    world.write(first)
    assert order == ["first", "second sees 1"]
    assert shard.committed_to == 0


def test_a_request_that_an_append_brings_in_waits_for_the_replay(world: RegisterWorld) -> None:
    shard = world.load()
    nested: list[Promise[Any]] = []

    def write_once() -> None:
        if not nested:
            nested.append(world.write(put("b", "2")))
            assert not nested[0].done

    world.log.wake = write_once
    world.write(put("a", "1"))
    assert nested[0].value == "ok"
    assert [key for key, *_ in shard.replayed] == ["a", "b"]


def test_timers_run_operations(world: RegisterWorld) -> None:
    shard = world.load()
    shard.timers.schedule("later", 1000, put("a", "1"))
    world.clock.advance(1000)
    assert shard.latest == {"a": "1"}


def test_only_the_owner_answers(world: RegisterWorld) -> None:
    assert world.write(put("a", "1")).value == "failed NOT_COORDINATOR"
    assert world.runtime.read(0, lambda shard, _: shard.latest, failed) == "failed NOT_COORDINATOR"
    assert world.log.appends == 0


def test_reads_are_told_the_time(world: RegisterWorld) -> None:
    world.load()
    query: Callable[[Registers, int], int] = lambda _, now_ms: now_ms  # noqa: E731
    assert world.runtime.read(0, query, lambda _: 0) == world.clock.now_ms()


# --- transactions


def test_a_transaction_ends_with_a_marker_in_the_log(world: RegisterWorld) -> None:
    shard = world.load()
    world.write(put("a", "1"))
    assert world.runtime.end_transaction(0, Writer(7, 2), COMMIT).value == ErrorCode.NONE
    assert world.runtime.end_transaction(0, Writer(8, 0), ABORT).value == ErrorCode.NONE
    assert shard.ended == [(7, True, 1), (8, False, 2)]
    assert shard.committed_to == 2
    batch = memoryview(world.log.batches[0][1])
    header = read_header(batch)
    assert (header.producer_id, header.producer_epoch, header.is_control) == (7, 2, True)
    assert read_marker(batch) == COMMIT
    world.runtime.unload(0, leader_epoch=2)
    world.runtime.load(0, leader_epoch=3)
    assert dict(world.runtime.active())[0].ended == shard.ended


def test_the_end_of_a_transaction_waits_for_its_commit(world: RegisterWorld) -> None:
    shard = world.load()
    world.log.hold()
    ended = world.runtime.end_transaction(0, Writer(7, 2), COMMIT)
    assert not ended.done
    assert (shard.ended, shard.committed_to) == ([(7, True, 0)], -1)
    world.log.release()
    assert ended.value == ErrorCode.NONE
    assert shard.committed_to == 0


def test_the_end_of_a_transaction_takes_its_turn(world: RegisterWorld) -> None:
    """A marker that arrives while a record is appended, and a follow-up that writes, keep the log's order."""
    shard = world.load()
    ended: list[Promise[ErrorCode]] = []

    def end_once() -> None:
        if not ended:
            ended.append(Promise())
            world.runtime.end_transaction(0, Writer(7, 2), COMMIT).then(ended[0].complete)

    def follow_up(_shard: Registers, _now_ms: int, _outcome: ErrorCode) -> Result[None]:
        return Result(None, [CoordinatorRecord(Text("a"), None)])

    world.log.wake = end_once
    world.write(put("a", "1", settled=follow_up))
    assert shard.offsets == [0, 1, 2]
    assert shard.ended == [(7, True, 2)]
    assert ended[0].value == ErrorCode.NONE


def test_a_marker_that_is_refused_ends_nothing(world: RegisterWorld) -> None:
    shard = world.load()
    world.log.error = ErrorCode.INVALID_PRODUCER_EPOCH
    assert world.runtime.end_transaction(0, Writer(7, 2), COMMIT).value == ErrorCode.INVALID_PRODUCER_EPOCH
    assert shard.ended == []


def test_the_end_of_a_transaction_and_a_shard_that_is_not_there(world: RegisterWorld) -> None:
    assert world.runtime.end_transaction(0, Writer(7, 2), COMMIT).value == ErrorCode.NOT_COORDINATOR
    world.load()
    world.log.hold()
    ended = world.runtime.end_transaction(0, Writer(7, 2), COMMIT)
    world.runtime.unload(0, leader_epoch=2)
    assert ended.value == ErrorCode.NOT_COORDINATOR


def test_what_has_to_be_the_latest_is_read_once_it_is_certain_who_leads(world: RegisterWorld) -> None:
    def latest() -> Promise[Any]:
        return world.runtime.read_latest(0, lambda shard, _: dict(shard.latest), failed)

    assert latest().value == "failed NOT_COORDINATOR"
    world.load()
    world.write(put("a", "1"))
    assert latest().value == {"a": "1"}
    world.log.leads = Promise()
    waiting = latest()
    world.write(put("a", "2"))
    assert not waiting.done
    world.log.leads.complete(ErrorCode.NONE)
    assert waiting.value == {"a": "2"}
    for error in (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_LEADER_OR_FOLLOWER):
        world.log.leads = Promise.resolved(error)
        assert latest().value == "failed NOT_COORDINATOR"
