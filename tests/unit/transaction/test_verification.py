"""Verification requests to a transaction's coordinator, here or on another broker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kcompat.coordinator.ports import Claim
from kcompat.net.answers import CLOSE
from kcompat.promise import Promise
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnResponse
from kcompat.transaction.verification import TransactionVerifier
from support.among_brokers import HERE, Scene, play
from support.transaction_coordinators import NAME, A, B, TransactionFixture

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.scripted_broker import Asked

CLAIM = Claim(NAME, 7, 3)
Response = AddPartitionsToTxnResponse


def say(error: ErrorCode) -> Callable[[Asked], Any]:
    """Return a function that answers with this error for each partition of the request."""

    def answer(asked: Asked) -> Any:
        return Response(
            results_by_transaction=[
                Response.AddPartitionsToTxnResult(
                    row.transactional_id,
                    [
                        Response.AddPartitionsToTxnTopicResult(
                            topic.name,
                            [
                                Response.AddPartitionsToTxnPartitionResult(index, error)
                                for index in topic.partitions
                            ],
                        )
                        for topic in row.topics
                    ],
                )
                for row in asked.request.transactions
            ]
        )

    return answer


def verification(scene: Scene, fixture: TransactionFixture | None = None) -> TransactionVerifier:
    coordinator = (fixture or TransactionFixture()).coordinator
    return TransactionVerifier(coordinator, scene.peers, scene.cluster, scene.config)


@pytest.mark.parametrize(("adds", "verify_only"), [(False, True), (True, False)])
def test_another_broker_is_asked(adds: bool, verify_only: bool) -> None:
    async def scene(scene: Scene) -> None:
        claim = CLAIM._replace(adds=adds)
        assert await scene.outcome(verification(scene).ask(claim, [B, A])) == {}
        ((row,),) = [asked.request.transactions for asked in scene.other.asked]
        assert (row.transactional_id, row.producer_id, row.producer_epoch) == (NAME, 7, 3)
        assert row.verify_only == verify_only
        assert [(topic.name, topic.partitions) for topic in row.topics] == [("t", [0]), ("u", [1])]

    play(scene, say(ErrorCode.NONE))


@pytest.mark.parametrize(
    ("said", "claim", "told"),
    [
        (ErrorCode.PRODUCER_FENCED, CLAIM, 47),
        (ErrorCode.TRANSACTION_ABORTABLE, CLAIM, 48),
        (ErrorCode.TRANSACTION_ABORTABLE, CLAIM._replace(knows_abortable=True), 120),
        (ErrorCode.TRANSACTION_ABORTABLE, CLAIM._replace(adds=True), 120),
        (ErrorCode.CONCURRENT_TRANSACTIONS, CLAIM, 51),
    ],
)
def test_the_errors_are_those_that_the_producer_knows(said: ErrorCode, claim: Claim, told: int) -> None:
    async def scene(scene: Scene) -> None:
        assert await scene.outcome(verification(scene).ask(claim, [A])) == {A: told}

    play(scene, say(said))


def test_what_comes_up_meanwhile_goes_in_one_request() -> None:
    held: list[tuple[Promise[Any], Asked]] = []

    def hold(asked: Asked) -> Any:
        held.append((Promise(), asked))
        return held[-1][0]

    async def scene(scene: Scene) -> None:
        asker = verification(scene)
        first = asker.ask(CLAIM, [A])
        while not held:
            await scene.pause()
        others = [asker.ask(CLAIM._replace(transactional_id=name), [A]) for name in ("x", "y")]
        promise, asked = held.pop()
        promise.complete(say(ErrorCode.NONE)(asked))
        assert await scene.outcome(first) == {}
        while not held:
            await scene.pause()
        promise, asked = held.pop()
        assert [row.transactional_id for row in asked.request.transactions] == ["x", "y"]
        promise.complete(say(ErrorCode.NONE)(asked))
        assert [await scene.outcome(each) for each in others] == [{}, {}]

    play(scene, hold)


def test_of_two_questions_of_an_id_the_later_one_counts() -> None:
    async def scene(scene: Scene) -> None:
        asker = verification(scene)
        blocked = asker.ask(CLAIM._replace(transactional_id="x"), [A])
        again = [asker.ask(CLAIM._replace(epoch=epoch), [A]) for epoch in (3, 3, 4, 2)]
        assert [each.value for each in (again[0], again[1], again[3])] == [{A: 13}, {A: 47}, {A: 47}]
        assert await scene.outcome(blocked) == {}
        assert await scene.outcome(again[2]) == {}

    play(scene, say(ErrorCode.NONE))


@pytest.mark.parametrize(("said", "told"), [(31, 48), (14, 14), (0, -1)])
def test_an_answer_to_the_whole_request(said: int, told: int) -> None:
    async def scene(scene: Scene) -> None:
        assert await scene.outcome(verification(scene).ask(CLAIM, [A])) == {A: told}

    play(scene, lambda _: Response(error_code=said))


def test_no_answer() -> None:
    async def scene(scene: Scene) -> None:
        assert await scene.outcome(verification(scene).ask(CLAIM, [A])) == {A: 13}

    play(scene, lambda _: CLOSE)


def test_a_broker_that_cannot_verify_is_trusted_with_the_client() -> None:
    async def scene(scene: Scene) -> None:
        assert await scene.outcome(verification(scene).ask(CLAIM, [A])) == {}
        assert not scene.other.asked

    served = {ApiKey.API_VERSIONS: range(4), ApiKey.ADD_PARTITIONS_TO_TXN: range(4)}
    play(scene, say(ErrorCode.NONE), served)


def test_nobody_coordinates() -> None:
    async def scene(scene: Scene) -> None:
        for leader in (-1, 9):
            scene.show(leader=leader)
            assert await scene.outcome(verification(scene).ask(CLAIM, [A])) == {A: 15}

    play(scene, say(ErrorCode.NONE))


def test_a_coordinator_here_is_asked_at_once() -> None:
    async def scene(scene: Scene) -> None:
        scene.show(leader=HERE)
        fixture = TransactionFixture()
        producer = fixture.init().producer
        claim = Claim(NAME, producer.id, producer.epoch)
        asker = verification(scene, fixture)
        assert asker.ask(claim, [A, B]).value == {A: 48, B: 48}
        assert asker.ask(claim._replace(adds=True), [A]).value == {}
        assert asker.ask(claim, [A, B]).value == {B: 48}
        assert asker.ask(claim._replace(epoch=9), [A]).value == {A: 47}
        assert not scene.other.asked

    play(scene, say(ErrorCode.NONE))
