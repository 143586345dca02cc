"""Transactions that are open for too long are aborted, ids that nobody uses are forgotten."""

from __future__ import annotations

from itertools import chain

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import read_header
from kcompat.transaction.coordinator import TransactionCoordinatorConfig
from kcompat.transaction.requests import Producer
from support.default_settings import with_defaults
from support.transaction_coordinators import TIMEOUT_MS, TransactionFixture

LOOK_MS = 10_000
HOUR_MS = 3_600_000
WEEK_MS = 7 * 24 * HOUR_MS


def test_an_overdue_transaction_is_aborted_and_its_producer_fenced(
    fixture: TransactionFixture, caplog: pytest.LogCaptureFixture
) -> None:
    producer = fixture.begin()
    fixture.clock.advance(TIMEOUT_MS)
    assert fixture.state == "Ongoing"
    fixture.clock.advance(LOOK_MS)
    assert fixture.state == "CompleteAbort"
    assert fixture.brokers.written[0][1].producer == Producer(producer.id, producer.epoch + 1)
    assert fixture.end(producer).error == ErrorCode.PRODUCER_FENCED
    assert fixture.init().producer == Producer(producer.id, producer.epoch + 2)
    [line] = caplog.messages
    assert line == (
        f"transactional.id id: the transaction of producer {producer.id} is aborted: it was open for "
        f"{TIMEOUT_MS + LOOK_MS} ms, longer than its transaction.timeout.ms={TIMEOUT_MS}"
    )


def test_each_overdue_transaction_is_aborted_in_a_batch_of_its_own(fixture: TransactionFixture) -> None:
    """Together they may be more than the topic takes at once, and then none would ever be aborted."""
    names = [f"id-{number}" for number in range(20)]
    for name in names:
        fixture.add(fixture.init(name=name).producer, name=name)
    fixture.clock.advance(TIMEOUT_MS + LOOK_MS)
    assert {fixture.state_of(name) for name in names} == {"CompleteAbort"}
    batches = chain(*fixture.log.batches.values())
    assert {read_header(batch).record_count for batch in batches} == {1}


def test_an_overdue_transaction_in_the_highest_epoch_is_aborted_in_that(fixture: TransactionFixture) -> None:
    last = fixture.find_open_in_the_fencing_epoch()
    fixture.clock.advance(TIMEOUT_MS + LOOK_MS)
    assert fixture.state == "CompleteAbort"
    assert [marker.producer for _, marker in fixture.brokers.written] == [last]
    assert fixture.init().producer == Producer(last.id + 1, 0)


def test_the_time_counts_from_the_first_partition_also_for_a_new_coordinator(
    fixture: TransactionFixture,
) -> None:
    producer = fixture.begin()
    fixture.clock.advance(TIMEOUT_MS - LOOK_MS // 2)
    fixture.add(producer, ("late", 0))
    fixture.restart()
    fixture.clock.advance(LOOK_MS)
    assert fixture.state == "CompleteAbort"


def test_a_commit_that_is_decided_is_never_overdue(fixture: TransactionFixture) -> None:
    producer = fixture.begin()
    fixture.brokers.hold()
    fixture.end(producer)
    fixture.clock.advance(2 * TIMEOUT_MS)
    assert fixture.state == "PrepareCommit"
    fixture.brokers.release()
    assert fixture.state == "CompleteCommit"


@pytest.fixture
def years() -> TransactionFixture:
    """One in which nobody looks for transactions that are overdue, so that time passes quickly."""
    return TransactionFixture(with_defaults(TransactionCoordinatorConfig, abort_interval_ms=10 * WEEK_MS))


def test_an_id_that_nobody_uses_is_forgotten(years: TransactionFixture) -> None:
    years.end(years.begin())
    years.clock.advance(WEEK_MS - HOUR_MS)
    assert years.state == "CompleteCommit"
    years.clock.advance(2 * HOUR_MS)
    assert years.transaction() is None
    years.restart()
    assert years.transaction() is None
    assert years.init().producer == Producer(1001, 0)


def test_an_id_in_use_is_not_forgotten(years: TransactionFixture) -> None:
    years.end(years.begin())
    years.clock.advance(WEEK_MS - HOUR_MS)
    years.init()
    years.clock.advance(2 * HOUR_MS)
    assert years.state == "Empty"


def test_thousands_of_ids_are_forgotten_in_batches(years: TransactionFixture) -> None:
    for number in range(2500):
        years.init(name=f"id-{number}")
    years.clock.advance(WEEK_MS + HOUR_MS)
    assert sum(len(shard.transactions) for _, shard in years.coordinator.runtime.active()) == 0
