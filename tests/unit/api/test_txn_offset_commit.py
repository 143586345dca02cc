"""The handler of TxnOffsetCommit."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.coordinator.ports import Claim
from kcompat.log.verification import VerificationGuard
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from kcompat.records.control import ControlType, EndTransactionMarker
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from support.asking import Denying
from support.group_apis import ONE, STRANGE, errors
from support.group_coordinators import GROUP, ConsumerGroupFixture
from support.transaction_apis import NAME, TransactionHandlers

Topic = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
Partition = TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition
COMMIT = EndTransactionMarker(ControlType.COMMIT, 0)
PRODUCER_ID, EPOCH = 7, 3


def commit(offsets: dict[tuple[str | bytes, int], int], **fields: Any) -> TxnOffsetCommitRequest:
    topics: dict[str | bytes, Topic] = {}
    for (topic, index), offset in offsets.items():
        named: dict[str, Any] = {"topic_id": topic} if isinstance(topic, bytes) else {"name": topic}
        row = topics.setdefault(topic, Topic(**named))
        row.partitions.append(Partition(partition_index=index, committed_offset=offset))
    return TxnOffsetCommitRequest(NAME, "g", PRODUCER_ID, EPOCH, topics=list(topics.values()), **fields)


@pytest.fixture
def broker() -> TransactionHandlers:
    return TransactionHandlers()


@pytest.mark.parametrize("version", range(6))
def test_offsets_count_once_the_transaction_commits(broker: TransactionHandlers, version: int) -> None:
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    answer = broker.ask(commit({("t1", 0): 5, ("no", 0): 1, ("t1", 9): 1}), version)
    assert errors(answer) == {("t1", 9): unknown, ("no", 0): unknown, ("t1", 0): 0}
    assert broker.groups.fetch(group_id="g") == {}
    broker.groups.end_transaction(PRODUCER_ID, COMMIT, group_id="g")
    assert broker.groups.fetch(group_id="g") == {("t1", 0): 5}


def test_topics_by_id(broker: TransactionHandlers) -> None:
    answer = broker.ask(commit({(ONE, 0): 5, (STRANGE, 0): 1}), 6)
    assert errors(answer) == {(STRANGE, 0): ErrorCode.UNKNOWN_TOPIC_ID, (ONE, 0): 0}
    broker.groups.end_transaction(PRODUCER_ID, COMMIT, group_id="g")
    assert broker.groups.fetch(group_id="g") == {("t1", 0): 5}


@pytest.mark.parametrize(
    ("version", "adds", "knows_abortable"), [(3, False, False), (4, False, True), (5, True, True)]
)
def test_the_transaction_has_to_have_the_partition_of_the_group(
    broker: TransactionHandlers, version: int, adds: bool, knows_abortable: bool
) -> None:
    log, verifier = broker.groups.log, broker.groups.verifier
    log.verification = proof = VerificationGuard(EPOCH, -1, 0, adds=adds)
    verifier.hold()
    answer = broker.ask(commit({("t1", 0): 5}), version)
    assert not answer.done
    place = (log.topic, broker.groups.coordinator.partition_of("g"))
    assert verifier.asked == [(Claim(NAME, PRODUCER_ID, EPOCH, adds, knows_abortable), [place])]
    verifier.release()
    assert errors(answer.value) == {("t1", 0): 0}
    assert log.terms[-1].proof is proof


@pytest.mark.parametrize(
    ("found", "told", "told_old"),
    [
        (ErrorCode.TRANSACTION_ABORTABLE, 120, 120),
        (ErrorCode.NETWORK_EXCEPTION, 14, 15),
        (ErrorCode.COORDINATOR_NOT_AVAILABLE, 15, 15),
    ],
)
def test_an_offset_that_is_not_verified(
    broker: TransactionHandlers, found: ErrorCode, told: int, told_old: int
) -> None:
    broker.groups.log.verification = VerificationGuard(EPOCH, -1, 0, adds=False)
    place = (broker.groups.log.topic, broker.groups.coordinator.partition_of("g"))
    broker.groups.verifier.errors = {place: found}
    assert errors(broker.ask(commit({("t1", 0): 5}), 4)) == {("t1", 0): told}
    assert errors(broker.ask(commit({("t1", 0): 5}), 1)) == {("t1", 0): told_old}


def test_a_producer_that_was_fenced_in_the_log(broker: TransactionHandlers) -> None:
    broker.groups.log.verification = ErrorCode.INVALID_PRODUCER_EPOCH
    assert errors(broker.ask(commit({("t1", 0): 5}), 4)) == {("t1", 0): 47}


def test_nothing_is_verified_where_the_broker_is_told_so(broker: TransactionHandlers) -> None:
    broker.groups.verifier.is_required = False
    broker.groups.log.verification = ErrorCode.INVALID_PRODUCER_EPOCH  # is not asked
    assert errors(broker.ask(commit({("t1", 0): 5}), 4)) == {("t1", 0): 0}
    assert not broker.groups.log.terms[-1].needs_proof


def test_the_member_and_its_generation(broker: TransactionHandlers) -> None:
    def told(version: int = 3, **fields: Any) -> int:
        return errors(broker.ask(commit({("t1", 0): 5}, **fields), version))["t1", 0]

    assert told(generation_id_or_member_epoch=1, member_id="m") == ErrorCode.ILLEGAL_GENERATION
    (member,) = broker.groups.stable("app", group_id="g")
    assert told(2) == ErrorCode.NONE, "a producer that knows no members"
    assert told(generation_id_or_member_epoch=1, member_id=member) == ErrorCode.NONE
    assert told(generation_id_or_member_epoch=2, member_id=member) == ErrorCode.ILLEGAL_GENERATION
    assert told(generation_id_or_member_epoch=1, member_id="other") == ErrorCode.UNKNOWN_MEMBER_ID


def test_what_is_refused(broker: TransactionHandlers) -> None:
    request = commit({("t1", 0): 5, ("t2", 0): 5})
    broker.authorizer = Denying((Operation.READ, Resource.topic("t2")))
    assert errors(broker.ask(request, 3)) == {("t2", 0): 29, ("t1", 0): 0}
    broker.authorizer = Denying(
        (Operation.READ, Resource.topic("t2")), (Operation.READ, Resource.topic("t1"))
    )
    assert errors(broker.ask(request, 3)) == {("t1", 0): 29, ("t2", 0): 29}
    broker.authorizer = Denying((Operation.READ, Resource.group("g")))
    assert errors(broker.ask(request, 3)) == {("t1", 0): 30, ("t2", 0): 30}
    broker.authorizer = Denying((Operation.WRITE, Resource.transactional_id(NAME)))
    assert errors(broker.ask(request, 3)) == {("t1", 0): 53, ("t2", 0): 53}
    broker.authorizer = Denying()
    request.group_id = ""
    assert errors(broker.ask(request, 3)) == {("t1", 0): 24, ("t2", 0): 24}


def test_a_member_of_a_consumer_group_in_another_epoch(broker: TransactionHandlers) -> None:
    """The answer is ILLEGAL_GENERATION, which producers know how to handle."""
    broker.groups = fixture = ConsumerGroupFixture()
    fixture.make("t1", 2)
    epoch = fixture.enter("m", "t1").member_epoch

    def told(member_epoch: int) -> int:
        request = commit({("t1", 0): 5}, generation_id_or_member_epoch=member_epoch, member_id="m")
        request.group_id = GROUP
        return errors(broker.ask(request, 3))["t1", 0]

    assert told(epoch) == ErrorCode.NONE
    assert told(epoch + 1) == ErrorCode.ILLEGAL_GENERATION
