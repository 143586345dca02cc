from __future__ import annotations

from kcompat.log.append import BY_COORDINATOR, UNVERIFIED, WITHOUT_PROOF, AppendTerms
from kcompat.log.producers import BatchMetadata, ProducerState
from kcompat.log.txn_index import AbortedTransaction
from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import BatchHeader
from kcompat.records.control import ControlType, EndTransactionMarker
from support.current import current

TRANSACTIONAL, CONTROL = 0x10, 0x20


def header(
    sequence: int, count: int = 1, *, epoch: int = 0, producer_id: int = 7, attributes: int = 0
) -> BatchHeader:
    return BatchHeader(
        0, 100, 0, 2, 0, attributes, count - 1, 1000, 1000, producer_id, epoch, sequence, count
    )


class Producers:
    """A producer state, and where the log ends."""

    def __init__(self) -> None:
        self.state = ProducerState()

    def send(self, batch: BatchHeader, terms: AppendTerms = WITHOUT_PROOF) -> ErrorCode | BatchMetadata:
        found = self.state.check(batch, None, terms)
        if found is ErrorCode.NONE:
            self.state.note(batch, None, self.state.end_offset, batch.max_timestamp)
        self.state.check_invariants()
        return found

    def end(
        self, kind: ControlType, *, epoch: int = 0, coordinator_epoch: int = 0, producer_id: int = 7
    ) -> ErrorCode | BatchMetadata | AbortedTransaction | None:
        batch = header(-1, epoch=epoch, producer_id=producer_id, attributes=TRANSACTIONAL | CONTROL)
        marker = EndTransactionMarker(kind, coordinator_epoch)
        error = self.state.check(batch, marker, BY_COORDINATOR)
        if error:
            return error
        return self.state.note(batch, marker, self.state.end_offset, batch.max_timestamp)


def test_sequences_must_follow_each_other() -> None:
    producers = Producers()
    assert producers.send(header(0, 3)) is ErrorCode.NONE
    assert producers.send(header(3, 2)) is ErrorCode.NONE
    assert producers.send(header(6)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producers.send(header(2)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producers.send(header(5)) is ErrorCode.NONE


def test_an_unknown_producer_may_start_anywhere_and_a_new_epoch_at_zero() -> None:
    producers = Producers()
    assert producers.send(header(42)) is ErrorCode.NONE
    assert producers.send(header(43, epoch=1)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producers.send(header(0, epoch=1)) is ErrorCode.NONE
    assert producers.send(header(43, epoch=0)) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_the_last_five_batches_are_recognised_when_sent_again() -> None:
    producers = Producers()
    for sequence in range(0, 12, 2):
        assert producers.send(header(sequence, 2)) is ErrorCode.NONE
    for sequence in range(2, 12, 2):
        found = producers.send(header(sequence, 2))
        assert isinstance(found, BatchMetadata)
        assert (found.first_offset, found.last_offset, found.timestamp) == (sequence, sequence + 1, 1000)
    assert producers.send(header(0, 2)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producers.send(header(10, 1)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, "same start, other length"


def test_sequences_wrap_after_two_to_the_31() -> None:
    producers = Producers()
    assert producers.send(header(2**31 - 2)) is ErrorCode.NONE
    assert producers.send(header(2**31 - 1, 3)) is ErrorCode.NONE
    assert producers.state.entries[7].last_sequence == 1
    assert isinstance(producers.send(header(2**31 - 1, 3)), BatchMetadata)
    assert producers.send(header(2)) is ErrorCode.NONE


def test_a_coordinator_is_only_asked_for_its_epoch() -> None:
    producers = Producers()
    assert producers.send(header(0, epoch=3), UNVERIFIED) is ErrorCode.NONE
    assert producers.send(header(9, epoch=3), UNVERIFIED) is ErrorCode.NONE
    assert producers.send(header(9, epoch=2), UNVERIFIED) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_transaction_holds_the_last_stable_offset_until_its_marker_is_committed() -> None:
    producers = Producers()
    producers.send(header(0, 5))
    assert producers.send(header(5, 2, attributes=TRANSACTIONAL)) is ErrorCode.NONE
    assert current(producers.state.first_open_offset) == 5
    assert producers.send(header(7)) is ErrorCode.INVALID_TXN_STATE, "plain data inside a transaction"
    assert producers.end(ControlType.COMMIT) is None
    assert producers.state.first_open_offset is None
    assert producers.state.first_unstable_offset(high_watermark=7) == 5, "the marker at 7 is not committed"
    assert producers.state.first_unstable_offset(high_watermark=8) is None


def test_the_last_stable_offset_is_not_below_the_start_of_the_log() -> None:
    """Records of a transaction that is open can be deleted: who reads what is committed waits behind them."""
    producers = Producers()
    producers.send(header(0, 5, attributes=TRANSACTIONAL))
    producers.send(header(0, 5, producer_id=8))
    stable = producers.state.last_stable_offset
    assert [stable(start, 10) for start in (0, 3, 7, 10)] == [0, 3, 7, 10]
    assert producers.end(ControlType.COMMIT) is None
    assert stable(7, 10) == 7, "the marker at 10 is not committed"
    assert stable(7, 11) == 11


def test_an_abort_with_data_gives_an_entry_with_the_stable_offset_of_that_time() -> None:
    producers = Producers()
    producers.send(header(0, producer_id=8, attributes=TRANSACTIONAL))
    producers.send(header(0, 2, attributes=TRANSACTIONAL))
    entry = producers.end(ControlType.ABORT)
    assert isinstance(entry, AbortedTransaction)
    assert (entry.producer_id, entry.first_offset, entry.last_offset, entry.last_stable_offset) == (
        7,
        1,
        3,
        0,
    )
    entry = producers.end(ControlType.ABORT, producer_id=8)
    assert isinstance(entry, AbortedTransaction)
    assert (entry.first_offset, entry.last_offset, entry.last_stable_offset) == (0, 4, 5)
    assert producers.end(ControlType.ABORT) is None, "nothing to abort"


def test_markers_are_fenced_by_producer_and_coordinator_epoch() -> None:
    producers = Producers()
    producers.send(header(0, epoch=2))
    assert producers.end(ControlType.COMMIT, epoch=1) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert producers.end(ControlType.COMMIT, epoch=2, coordinator_epoch=5) is None
    assert (
        producers.end(ControlType.COMMIT, epoch=2, coordinator_epoch=4)
        is ErrorCode.TRANSACTION_COORDINATOR_FENCED
    )
    assert producers.end(ControlType.COMMIT, epoch=3, coordinator_epoch=5) is None
    assert producers.state.entries[7].batches == [], "another epoch: its batches are no duplicates any more"
    assert producers.send(header(0, epoch=3)) is ErrorCode.NONE


def test_silent_producers_expire_unless_a_transaction_is_open() -> None:
    producers = Producers()
    producers.send(header(0))
    producers.send(header(0, producer_id=8, attributes=TRANSACTIONAL))
    producers.state.expire(1000 + 99, 100)
    assert sorted(producers.state.entries) == [7, 8]
    producers.state.expire(1000 + 100, 100)
    assert sorted(producers.state.entries) == [8]
