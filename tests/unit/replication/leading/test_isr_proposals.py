"""Proposals of leaders to the controller: one request at a time, until it is answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.cluster.control_requests import Role
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from kcompat.replication.isr import Committed, Pending, PendingExpand, PendingShrink
from kcompat.replication.leading.isr_proposals import RETRY_MS, IsrProposals
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Callable

ME, OTHER, THIRD = 1, 2, 3
SHRINK = PendingShrink(Committed((ME, OTHER, THIRD)), (OTHER,))
EXPAND = PendingExpand(Committed((ME,)), THIRD, {OTHER: 78, THIRD: 79})
Outcome = tuple[int, int, tuple[int, ...]] | ErrorCode


class Owner:
    """A partition, and what it has heard."""

    def __init__(self, topic: str, index: int = 0, *, asks_again: bool = False) -> None:
        self.topic, self.index = topic, index
        self.topic_id = topic.encode().ljust(16, b".")
        self.role = Role(ME, 4, (ME,), (ME, OTHER, THIRD), partition_epoch=index + 10)
        self.heard: list[Outcome] = []
        self._asks_again = asks_again

    def isr_accepted(self, _: Pending, leader_epoch: int, partition_epoch: int, isr: tuple[int, ...]) -> None:
        self.heard.append((leader_epoch, partition_epoch, isr))

    def isr_refused(self, _: Pending, error: ErrorCode) -> bool:
        self.heard.append(error)
        return self._asks_again


class Controller:
    """Keeps what it is asked, until the test says what it answers."""

    def __init__(self) -> None:
        self.asked: list[tuple[AlterPartitionRequest, Promise[AlterPartitionResponse]]] = []

    def propose(self, request: AlterPartitionRequest) -> Promise[AlterPartitionResponse]:
        promise: Promise[AlterPartitionResponse] = Promise()
        self.asked.append((request, promise))
        return promise

    def rows(self) -> list[tuple[str, int, list[int]]]:
        """Topic, partition and ISR of each row of the latest request."""
        return [
            (topic.topic_name, row.partition_index, row.new_isr)
            for topic in self.asked[-1][0].topics
            for row in topic.partitions
        ]

    def answer(self, error: ErrorCode = ErrorCode.NONE, *, by_id: bool = True, leaves_out: str = "") -> None:
        """Do what was asked last, or refuse each partition with `error`."""
        request, promise = self.asked[-1]
        response = AlterPartitionResponse()
        for topic in request.topics:
            rows = [
                AlterPartitionResponse.PartitionData(
                    row.partition_index,
                    error,
                    leader_epoch=row.leader_epoch,
                    isr=list(row.new_isr),
                    partition_epoch=row.partition_epoch + 1,
                )
                for row in topic.partitions
            ]
            named = {"topic_id": topic.topic_id} if by_id else {"topic_name": topic.topic_name}
            if topic.topic_name != leaves_out:
                response.topics.append(AlterPartitionResponse.TopicData(**named, partitions=rows))
        promise.complete(response)


class Fixture:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.controller = Controller()
        self.broker_epoch = 77
        self.proposals = IsrProposals(ME, lambda: self.broker_epoch, self.controller, self.clock)

    def submit(self, owner: Owner, pending: Pending) -> None:
        self.proposals.submit(owner, pending)

    @property
    def count(self) -> int:
        return len(self.controller.asked)


@pytest.fixture
def fixture() -> Fixture:
    return Fixture()


def test_what_one_event_brings_goes_in_one_request(fixture: Fixture) -> None:
    for owner, pending in ((Owner("a"), SHRINK), (Owner("b"), EXPAND), (Owner("a", 1), EXPAND)):
        fixture.submit(owner, pending)
    assert fixture.count == 0
    fixture.clock.advance(0)
    assert fixture.controller.rows() == [("a", 0, [ME, THIRD]), ("a", 1, [ME, THIRD]), ("b", 0, [ME, THIRD])]
    request = fixture.controller.asked[0][0]
    assert (request.broker_id, request.broker_epoch) == (ME, 77)
    row = request.topics[0].partitions[1]
    assert (row.leader_epoch, row.partition_epoch, row.leader_recovery_state) == (4, 11, 0)
    assert [(member.broker_id, member.broker_epoch) for member in row.new_isr_with_epochs] == [
        (ME, 77),
        (THIRD, 79),
    ]
    assert request.topics[0].topic_id == Owner("a").topic_id


@pytest.mark.parametrize("by_id", [True, False])
def test_each_partition_hears_what_became_of_it(fixture: Fixture, by_id: bool) -> None:
    owner = Owner("a")
    fixture.submit(owner, SHRINK)
    fixture.clock.advance(0)
    fixture.controller.answer(by_id=by_id)
    assert owner.heard == [(4, 11, (ME, THIRD))]
    fixture.clock.advance(10 * RETRY_MS)
    assert (fixture.count, len(fixture.proposals)) == (1, 0)


def test_outcomes_are_counted(fixture: Fixture) -> None:
    for owner, pending in ((Owner("a"), SHRINK), (Owner("b"), EXPAND), (Owner("c"), EXPAND)):
        fixture.submit(owner, pending)
    fixture.clock.advance(0)
    fixture.controller.answer()
    fixture.submit(Owner("d"), SHRINK)
    fixture.clock.advance(0)
    fixture.controller.answer(ErrorCode.INELIGIBLE_REPLICA)
    proposals = fixture.proposals
    assert (proposals.shrinks, proposals.expands, proposals.failures) == (1, 2, 1)


def test_one_request_at_a_time(fixture: Fixture) -> None:
    fixture.submit(Owner("a"), SHRINK)
    fixture.clock.advance(0)
    fixture.submit(Owner("b"), EXPAND)
    fixture.clock.advance(1000)
    assert fixture.count == 1, "it has no deadline"
    fixture.controller.answer()
    fixture.clock.advance(0)
    assert fixture.controller.rows() == [("b", 0, [ME, THIRD])]


def refuse_all(fixture: Fixture) -> None:
    fixture.controller.asked[-1][1].complete(AlterPartitionResponse(error_code=ErrorCode.STALE_BROKER_EPOCH))


def lose(fixture: Fixture) -> None:
    fixture.controller.asked[-1][1].fail(OSError("gone"))


@pytest.mark.parametrize("fail", [refuse_all, lose])
def test_what_came_to_nothing_is_asked_again_soon(fixture: Fixture, fail: Callable[[Fixture], None]) -> None:
    owner = Owner("a")
    fixture.submit(owner, SHRINK)
    for attempt in range(1, 4):
        fixture.clock.advance(0)
        assert fixture.count == attempt
        fixture.broker_epoch += 1
        fail(fixture)
        fixture.clock.advance(RETRY_MS - 1)
        assert fixture.count == attempt
        fixture.clock.advance(1)
    assert fixture.controller.asked[-1][0].broker_epoch == 80
    fixture.controller.answer()
    assert owner.heard == [(4, 11, (ME, THIRD))]


def test_a_partition_says_whether_it_asks_again(fixture: Fixture) -> None:
    settled, asking = Owner("a"), Owner("b", asks_again=True)
    fixture.submit(settled, SHRINK)
    fixture.submit(asking, SHRINK)
    fixture.clock.advance(0)
    fixture.controller.answer(ErrorCode.NOT_CONTROLLER)
    assert settled.heard == asking.heard == [ErrorCode.NOT_CONTROLLER]
    fixture.clock.advance(RETRY_MS)
    assert fixture.controller.rows() == [("b", 0, [ME, THIRD])]


def test_what_is_left_out_of_an_answer_is_asked_again(fixture: Fixture) -> None:
    fixture.submit(Owner("a"), SHRINK)
    fixture.submit(Owner("b"), SHRINK)
    fixture.clock.advance(0)
    fixture.controller.answer(leaves_out="b")
    fixture.clock.advance(RETRY_MS)
    assert fixture.controller.rows() == [("b", 0, [ME, THIRD])]


def test_a_later_proposal_takes_the_place_of_an_earlier(fixture: Fixture) -> None:
    """The partition has had another role since; what was asked before says nothing to it."""
    owner = Owner("a", asks_again=True)
    fixture.submit(owner, SHRINK)
    fixture.clock.advance(0)
    owner.role = Role(ME, 5, (ME,), (ME, THIRD), partition_epoch=20)
    fixture.submit(owner, EXPAND)
    fixture.controller.answer()
    fixture.clock.advance(0)
    row = fixture.controller.asked[-1][0].topics[0].partitions[0]
    assert (fixture.count, row.leader_epoch, row.partition_epoch) == (2, 5, 20)


def test_after_the_end_nothing_is_asked(fixture: Fixture) -> None:
    fixture.submit(Owner("a"), SHRINK)
    fixture.clock.advance(0)
    fixture.proposals.close()
    lose(fixture)
    fixture.clock.advance(1000)
    assert (fixture.count, fixture.clock.pending) == (1, 0)
