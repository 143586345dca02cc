"""The record that says that all markers of a transaction are written: tried until it is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.transaction.coordinator import RETRY_MS
from support.transaction_world import NAME

if TYPE_CHECKING:
    from support.transaction_world import TransactionWorld


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
    world: TransactionWorld, error: ErrorCode
) -> None:
    producer = world.begin()
    world.brokers.hold()
    world.end(producer)
    world.log.error = error
    world.brokers.release()
    world.clock.advance(5 * RETRY_MS)
    assert world.state == "PrepareCommit"
    world.log.error = ErrorCode.NONE
    world.clock.advance(RETRY_MS)
    assert world.state == "CompleteCommit"


def test_a_completion_is_not_tried_again_by_who_coordinates_no_more(world: TransactionWorld) -> None:
    producer = world.begin()
    world.brokers.hold()
    world.end(producer)
    world.log.error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    world.brokers.release()
    world.coordinator.unload(world.coordinator.partition_of(NAME), 2)
    world.clock.advance(RETRY_MS)
    appends = world.log.appends
    world.clock.advance(10 * RETRY_MS)
    assert world.log.appends == appends


def test_a_completion_that_took_too_long_leaves_the_next_transaction_to_its_own_markers(
    world: TransactionWorld,
) -> None:
    """Before `transaction.version` 2 the next one has the same producer and epoch."""
    producer = world.begin()
    world.brokers.hold()
    world.end(producer)
    world.log.hold()
    world.brokers.release()
    world.clock.advance(world.config.commit_timeout_ms)  # it is to be tried again
    world.log.release()
    assert world.state == "CompleteCommit"
    world.add(producer)
    world.brokers.hold()
    world.end(producer)
    world.clock.advance(2 * RETRY_MS)
    assert world.state == "PrepareCommit"
    world.brokers.release()
    assert world.state == "CompleteCommit"
