"""`Transition` collects the records, answers and follow-ups of an operation, for any kind of shard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from support.registers import RegisterFixture, Registers, Text

if TYPE_CHECKING:
    from kcompat.coordinator.transition import Transition


def test_a_transition_writes_answers_and_follows_up(fixture: RegisterFixture) -> None:
    shard = fixture.load()
    parked: Promise[str] = Promise()
    told: list[tuple[Transition[Registers], ErrorCode]] = []

    def follow(transition: Transition[Registers], error: ErrorCode) -> None:
        told.append((transition, error))
        transition.write(Text("follow-up"), None)

    def decide(transition: Transition[Registers]) -> str:
        assert (transition.shard, transition.now_ms) == (shard, fixture.clock.now_ms())
        transition.write(Text("a"), Text("1"))
        transition.write(Text("b"), Text("2"))
        transition.then(follow)
        assert transition.answer(parked, "go on")
        assert not transition.answer(None, "nobody waits")
        return "done"

    assert fixture.run(decide).value == "done"
    assert parked.value == "go on"
    assert fixture.log.batch_count(0) == 2
    assert shard.latest == {"a": "1", "b": "2", "follow-up": None}
    ((transition, error),) = told
    assert (transition.shard, error) == (shard, ErrorCode.NONE)


def test_follow_ups_run_in_order_and_learn_what_failed(fixture: RegisterFixture) -> None:
    fixture.load()
    fixture.log.error = ErrorCode.NOT_ENOUGH_REPLICAS
    told: list[tuple[int, ErrorCode]] = []

    def decide(transition: Transition[Registers]) -> str:
        transition.write(Text("a"), Text("1"))
        transition.then(lambda _, error: told.append((1, error)))
        transition.then(lambda _, error: told.append((2, error)))
        return "done"

    assert fixture.run(decide).value == "failed NOT_ENOUGH_REPLICAS"
    assert told == [(1, ErrorCode.NOT_ENOUGH_REPLICAS), (2, ErrorCode.NOT_ENOUGH_REPLICAS)]
