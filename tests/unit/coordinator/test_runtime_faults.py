"""The effects of a fault in a shard: its request fails, and the shard is reloaded if it may differ from its
log.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import pytest

from kcompat.coordinator.operation import Answer, CoordinatorRecord, Result
from kcompat.log.append import BY_COORDINATOR
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from support.registers import RegisterFixture, Registers, Text, put

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.coordinator.operation import ReplayPosition, ShardOperation
    from kcompat.coordinator.timer import KeyedTimers
    from kcompat.log.append import AppendTerms


class FragileRegisters(Registers):
    """Has a bug in the method named `broken`, once."""

    broken: str | None = None

    @classmethod
    def breaking(cls, method: str) -> Callable[[KeyedTimers], FragileRegisters]:
        """Shards of which the first has the bug."""
        left = [method]

        def make(timers: KeyedTimers) -> FragileRegisters:
            shard = cls(timers)
            shard.broken = left.pop() if left else None
            return shard

        return make

    def _meet(self, method: str) -> None:
        if self.broken == method:
            self.broken = None
            raise ZeroDivisionError(method)

    def replay(self, record: CoordinatorRecord, position: ReplayPosition) -> None:
        self._meet("replay")
        super().replay(record, position)

    def committed(self, offset: int) -> None:
        self._meet("committed")
        super().committed(offset)

    def unloaded(self) -> list[Answer]:
        self._meet("unloaded")
        return super().unloaded()


def broken_operation(_shard: Registers, _now_ms: int) -> Result[Any]:
    raise ZeroDivisionError("operation")


def broken_settled(_shard: Registers, _now_ms: int, _error: ErrorCode) -> Result[None]:
    raise ZeroDivisionError("settled")


def broken_error(_error: ErrorCode) -> Any:
    raise ZeroDivisionError("the error's answer")


def latest(fixture: RegisterFixture) -> dict[str, str | None]:
    return dict(fixture.runtime.active())[0].latest


def assert_failed(promise: Promise[Any], where: str) -> None:
    with pytest.raises(ZeroDivisionError, match=where):
        _ = promise.value


def test_an_operation_that_raises_costs_its_own_request(fixture: RegisterFixture) -> None:
    shard = fixture.load()
    fixture.write(put("a", "1"))
    assert_failed(fixture.write(broken_operation), "operation")
    assert fixture.write(put("a", "2")).value == "ok"
    assert dict(fixture.runtime.active())[0] is shard


def test_an_operation_that_another_ones_answer_brings_in_costs_that_one_nothing(
    fixture: RegisterFixture,
) -> None:
    fixture.load()
    parked: Promise[Any] = Promise()
    nested: list[Promise[Any]] = []

    def first(_shard: Registers, _now_ms: int) -> Result[str]:
        return Result("ok", answers=[Answer(parked, "go on")])

    parked.then(lambda _: nested.append(fixture.write(broken_operation)))
    assert fixture.write(first).value == "ok"
    assert_failed(nested[0], "operation")


def test_records_that_cannot_be_written_cost_their_own_request(fixture: RegisterFixture) -> None:
    shard = fixture.load()
    unwritable: ShardOperation[Registers, str] = lambda *_: Result("ok", [CoordinatorRecord(Text("a"), 7)])  # type: ignore[arg-type]  # noqa: E731
    with pytest.raises(AssertionError):
        _ = fixture.write(unwritable).value
    assert (fixture.log.appends, shard.latest) == (0, {})
    assert fixture.write(put("a", "1")).value == "ok"


def test_an_answer_that_raises_takes_no_other_with_it(fixture: RegisterFixture) -> None:
    fixture.load()
    first, second = Promise[int](), Promise[int]()
    first.then(lambda _: 1 // 0)
    assert fixture.write(lambda *_: Result("ok", answers=[Answer(first, 1), Answer(second, 2)])).value == "ok"
    assert second.value == 2


@pytest.mark.parametrize("where", ["replay", "committed", "settled"])
def test_a_shard_that_may_differ_from_its_log_is_loaded_again(where: str) -> None:
    fixture = RegisterFixture(FragileRegisters.breaking(where))
    shard = fixture.load()
    answer = fixture.write(put("a", "1", settled=broken_settled if where == "settled" else None))
    assert_failed(answer, where)
    assert fixture.runtime.gate(0) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    fixture.clock.advance()
    assert latest(fixture) == {"a": "1"}
    assert dict(fixture.runtime.active())[0] is not shard
    assert fixture.write(put("b", "2")).value == "ok"
    assert latest(fixture) == {"a": "1", "b": "2"}


def test_whoever_waits_in_a_shard_that_is_loaded_again_looks_for_the_coordinator_anew() -> None:
    fixture = RegisterFixture(FragileRegisters.breaking("committed"))
    shard = fixture.load()
    shard.parked.append(Promise())
    shard.timers.schedule("later", 1000, put("timer", "1"))
    fixture.log.hold()
    waiting = [fixture.write(put("a", "1")), fixture.write(put("b", "2"))]
    fixture.log.release()
    assert_failed(waiting[0], "committed")
    assert waiting[1].value == "failed NOT_COORDINATOR"
    assert shard.parked[0].value == "moved"
    fixture.clock.advance(10_000)
    assert latest(fixture) == {"a": "1", "b": "2"}
    assert fixture.clock.pending == 0


def test_a_request_that_came_in_meanwhile_is_not_run_on_the_broken_shard() -> None:
    fixture = RegisterFixture(FragileRegisters.breaking("replay"))
    fixture.load()
    nested: list[Promise[Any]] = []
    append = fixture.log.append

    def append_and_wake(
        partition: int, batch: bytearray, now_ms: int, terms: AppendTerms = BY_COORDINATOR
    ) -> tuple[ErrorCode, int]:
        if not nested:
            nested.append(fixture.write(put("b", "2")))
        return append(partition, batch, now_ms, terms)

    fixture.log.append = append_and_wake  # type: ignore[method-assign, assignment]
    assert_failed(fixture.write(put("a", "1")), "replay")
    assert nested[0].value == "failed NOT_COORDINATOR"
    fixture.clock.advance()
    assert latest(fixture) == {"a": "1"}


def test_an_append_that_raises_may_have_written_so_the_shard_is_loaded_again(
    fixture: RegisterFixture,
) -> None:
    fixture.load()
    append = fixture.log.append

    def append_and_break(
        partition: int, batch: bytearray, now_ms: int, terms: AppendTerms = BY_COORDINATOR
    ) -> tuple[ErrorCode, int]:
        append(partition, batch, now_ms, terms)
        fixture.log.append = append  # type: ignore[method-assign]
        raise ZeroDivisionError("append")

    fixture.log.append = append_and_break  # type: ignore[method-assign, assignment]
    assert_failed(fixture.write(put("a", "1")), "append")
    fixture.clock.advance()
    assert latest(fixture) == {"a": "1"}


def test_a_commit_nobody_can_tell_of_has_the_shard_loaded_again(fixture: RegisterFixture) -> None:
    fixture.load()
    committed: Promise[ErrorCode] = Promise()
    when_committed = fixture.log.when_committed
    fixture.log.when_committed = lambda *_: committed  # type: ignore[method-assign]
    answer = fixture.write(put("a", "1"))
    fixture.log.when_committed = when_committed  # type: ignore[method-assign]
    committed.fail(ZeroDivisionError("commit"))
    assert_failed(answer, "commit")
    fixture.clock.advance()
    assert dict(fixture.runtime.active())[0].committed_to == 0


def test_a_shard_that_fails_to_tell_who_waits_is_loaded_again_all_the_same() -> None:
    fixture = RegisterFixture(FragileRegisters.breaking("unloaded"))
    fixture.load()
    fixture.log.hold()
    other = fixture.write(put("a", "1"))
    assert_failed(
        fixture.write(lambda *_: Result(None, settled=broken_settled)),
        "settled",
    )
    assert other.value == "failed NOT_COORDINATOR"
    fixture.clock.advance()
    fixture.log.release()
    assert latest(fixture) == {"a": "1"}


def test_a_shard_that_is_unloaded_before_it_is_loaded_again_stays_away() -> None:
    fixture = RegisterFixture(FragileRegisters.breaking("replay"))
    fixture.load()
    assert_failed(fixture.write(put("a", "1")), "replay")
    fixture.runtime.unload(0, leader_epoch=2)
    fixture.clock.advance()
    assert fixture.runtime.gate(0) is ErrorCode.NOT_COORDINATOR


def test_a_timer_that_raises_is_logged_and_the_shard_serves_on(
    fixture: RegisterFixture, caplog: pytest.LogCaptureFixture
) -> None:
    shard = fixture.load()
    shard.timers.schedule("broken", 1000, broken_operation)
    shard.timers.schedule("whole", 1000, put("a", "1"))
    fixture.clock.advance(1000)
    assert latest(fixture) == {"a": "1"}
    gc.collect()
    assert caplog.text.count("ZeroDivisionError: operation") == 1


def test_an_error_whose_answer_raises_fails_the_request(fixture: RegisterFixture) -> None:
    fixture.load()
    fixture.log.error = ErrorCode.NOT_ENOUGH_REPLICAS
    assert_failed(fixture.runtime.write(0, put("a", "1"), broken_error), "answer")
    fixture.log.error = ErrorCode.NONE
    assert fixture.write(put("a", "1")).value == "ok"
