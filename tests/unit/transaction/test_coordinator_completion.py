"""The record that says that all markers of a transaction are written: tried until it is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.transaction.coordinator import RETRY_MS
from support.transaction_coordinators import NAME

if TYPE_CHECKING:
    from support.transaction_coordinators import TransactionFixture


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ],
)
def test_a_completion_that_cannot_be_written_is_tried_again(
    fixture: TransactionFixture, error: ErrorCode
) -> None:
    producer = fixture.begin()
    fixture.brokers.hold()
    fixture.end(producer)
    fixture.log.error = error
    fixture.brokers.release()
    fixture.clock.advance(5 * RETRY_MS)
    assert fixture.state == "PrepareCommit"
    fixture.log.error = ErrorCode.NONE
    fixture.clock.advance(RETRY_MS)
    assert fixture.state == "CompleteCommit"


def test_a_completion_is_not_tried_again_by_who_coordinates_no_more(fixture: TransactionFixture) -> None:
    producer = fixture.begin()
    fixture.brokers.hold()
    fixture.end(producer)
    fixture.log.error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    fixture.brokers.release()
    fixture.coordinator.unload(fixture.coordinator.partition_of(NAME), 2)
    fixture.clock.advance(RETRY_MS)
    appends = fixture.log.appends
    fixture.clock.advance(10 * RETRY_MS)
    assert fixture.log.appends == appends


def test_a_completion_that_took_too_long_leaves_the_next_transaction_to_its_own_markers(
    fixture: TransactionFixture,
) -> None:
    """Before `transaction.version` 2 the next one has the same producer and epoch."""
    producer = fixture.begin()
    fixture.brokers.hold()
    fixture.end(producer)
    fixture.log.hold()
    fixture.brokers.release()
    fixture.clock.advance(fixture.config.commit_timeout_ms)  # it is to be tried again
    fixture.log.release()
    assert fixture.state == "CompleteCommit"
    fixture.add(producer)
    fixture.brokers.hold()
    fixture.end(producer)
    fixture.clock.advance(2 * RETRY_MS)
    assert fixture.state == "PrepareCommit"
    fixture.brokers.release()
    assert fixture.state == "CompleteCommit"
