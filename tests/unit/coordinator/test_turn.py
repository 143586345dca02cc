"""A turn collects what an operation decides, for whatever shard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from support.registers import RegisterFixture, Registers, Text

if TYPE_CHECKING:
    from kcompat.coordinator.turn import Turn


def test_a_turn_writes_answers_and_follows_up(fixture: RegisterFixture) -> None:
    shard = fixture.load()
    parked: Promise[str] = Promise()
    told: list[tuple[Turn[Registers], ErrorCode]] = []

    def follow(turn: Turn[Registers], error: ErrorCode) -> None:
        told.append((turn, error))
        turn.write(Text("follow-up"), None)

    def decide(turn: Turn[Registers]) -> str:
        assert (turn.shard, turn.now_ms) == (shard, fixture.clock.now_ms())
        turn.write(Text("a"), Text("1"))
        turn.write(Text("b"), Text("2"))
        turn.then(follow)
        assert turn.answer(parked, "go on")
        assert not turn.answer(None, "nobody waits")
        return "done"

    assert fixture.run(decide).value == "done"
    assert parked.value == "go on"
    assert fixture.log.batch_count(0) == 2
    assert shard.latest == {"a": "1", "b": "2", "follow-up": None}
    ((turn, error),) = told
    assert (turn.shard, error) == (shard, ErrorCode.NONE)


def test_follow_ups_run_in_order_and_learn_what_failed(fixture: RegisterFixture) -> None:
    fixture.load()
    fixture.log.error = ErrorCode.NOT_ENOUGH_REPLICAS
    told: list[tuple[int, ErrorCode]] = []

    def decide(turn: Turn[Registers]) -> str:
        turn.write(Text("a"), Text("1"))
        turn.then(lambda _, error: told.append((1, error)))
        turn.then(lambda _, error: told.append((2, error)))
        return "done"

    assert fixture.run(decide).value == "failed NOT_ENOUGH_REPLICAS"
    assert told == [(1, ErrorCode.NOT_ENOUGH_REPLICAS), (2, ErrorCode.NOT_ENOUGH_REPLICAS)]
