"""Verification of writes in transactions by the log of a partition (KIP-890)."""

from __future__ import annotations

import pytest

from kcompat.log.append import BY_CLIENT, WITHOUT_PROOF, AppendTerms
from kcompat.log.producers import ProducerState
from kcompat.log.verification import VerificationGuard
from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import BatchHeader
from kcompat.records.control import ControlType, EndTransactionMarker

TRANSACTIONAL, CONTROL = 0x10, 0x20
PRODUCER = 7


def header(sequence: int, *, epoch: int = 0, attributes: int = TRANSACTIONAL) -> BatchHeader:
    return BatchHeader(0, 100, 0, 2, 0, attributes, 0, 1000, 1000, PRODUCER, epoch, sequence, 1)


class Producer:
    """One producer that writes to one log."""

    def __init__(self) -> None:
        self.state = ProducerState()

    def ask(self, epoch: int = 0, sequence: int = 0, *, adds: bool = False) -> VerificationGuard | ErrorCode:
        return self.state.begin_verification(PRODUCER, epoch, sequence, 0, adds=adds)

    def prove(self, epoch: int = 0, sequence: int = 0, *, adds: bool = False) -> AppendTerms:
        proof = self.ask(epoch, sequence, adds=adds)
        assert isinstance(proof, VerificationGuard)
        return AppendTerms(proof=proof)

    def send(self, sequence: int, terms: AppendTerms = BY_CLIENT, *, epoch: int = 0) -> ErrorCode | object:
        batch = header(sequence, epoch=epoch)
        found = self.state.check(batch, None, terms)
        if found is ErrorCode.NONE:
            self.state.note(batch, None, self.state.end_offset, 1000)
        self.state.check_invariants()
        return found

    def end(self, epoch: int = 0, version: int = 0) -> ErrorCode:
        batch = header(-1, epoch=epoch, attributes=TRANSACTIONAL | CONTROL)
        marker = EndTransactionMarker(ControlType.ABORT, 0)
        terms = AppendTerms(is_client=False, transaction_version=version)
        error = self.state.check(batch, marker, terms)
        assert isinstance(error, ErrorCode)
        if not error:
            self.state.note(batch, marker, self.state.end_offset, 1000)
        return error


def test_a_transaction_begins_with_a_proof_and_goes_on_without() -> None:
    producer = Producer()
    assert producer.send(0) is ErrorCode.INVALID_TXN_STATE
    assert producer.send(0, producer.prove()) is ErrorCode.NONE
    assert producer.ask() is ErrorCode.NONE
    assert producer.send(1) is ErrorCode.NONE


def test_a_proof_is_for_one_transaction() -> None:
    """The answer of the coordinator comes so late that the transaction has been aborted."""
    producer = Producer()
    terms = producer.prove()
    assert producer.end() is ErrorCode.NONE
    assert producer.send(0, terms) is ErrorCode.INVALID_TXN_STATE
    other = producer.prove()
    assert producer.send(0, terms) is ErrorCode.INVALID_TXN_STATE
    assert producer.send(0, other) is ErrorCode.NONE


def test_what_was_written_before_needs_no_proof_to_be_repeated() -> None:
    producer = Producer()
    producer.send(0, producer.prove())
    producer.end()
    assert not isinstance(producer.send(0), ErrorCode)


def test_who_asks_twice_has_one_proof() -> None:
    producer = Producer()
    assert producer.ask(sequence=0) is producer.ask(sequence=1)


def test_a_batch_does_not_overtake_one_that_waits() -> None:
    producer = Producer()
    terms = producer.prove(sequence=5)
    assert producer.send(6, terms) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    producer.ask(sequence=4)
    assert producer.send(5, terms) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producer.send(4, terms) is ErrorCode.NONE


def test_a_higher_epoch_counts_anew() -> None:
    producer = Producer()
    producer.ask(epoch=0, sequence=0)
    terms = producer.prove(epoch=1, sequence=3)
    assert producer.send(3, terms, epoch=1) is ErrorCode.NONE


def test_a_producer_that_was_fenced_is_not_asked_about() -> None:
    producer = Producer()
    producer.send(0, WITHOUT_PROOF, epoch=1)
    assert producer.ask(epoch=0) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_an_older_epoch_has_no_part_in_the_transaction() -> None:
    producer = Producer()
    producer.send(0, WITHOUT_PROOF, epoch=0)
    assert isinstance(producer.ask(epoch=1), VerificationGuard)
    assert producer.send(0, epoch=1) is ErrorCode.INVALID_TXN_STATE


def test_the_first_record_ever_of_a_producer_whose_epoch_rises_is_number_0() -> None:
    producer = Producer()
    terms = producer.prove(sequence=3, adds=True)
    assert producer.send(3, terms) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_the_marker_of_the_transaction_before_leaves_the_next_one_its_proof() -> None:
    """With `transaction.version` 2 a producer writes on, in the next epoch, while
    markers are still on their way.
    """
    producer = Producer()
    producer.send(0, producer.prove(adds=True))
    terms = producer.prove(epoch=1, adds=True)
    assert producer.end(epoch=1, version=2) is ErrorCode.NONE
    assert producer.send(0, terms, epoch=1) is ErrorCode.NONE


def test_of_an_older_version_it_does_not() -> None:
    producer = Producer()
    producer.send(0, producer.prove())
    terms = producer.prove(epoch=1)
    assert producer.end(epoch=1) is ErrorCode.NONE
    assert producer.send(0, terms, epoch=1) is ErrorCode.INVALID_TXN_STATE


def test_a_marker_has_a_higher_epoch_since_version_2() -> None:
    producer = Producer()
    producer.send(0, WITHOUT_PROOF, epoch=3)
    assert producer.end(epoch=3, version=2) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert producer.end(epoch=4, version=2) is ErrorCode.NONE
    assert producer.end(epoch=4, version=2) is ErrorCode.NONE, "sent again"
    assert producer.end(epoch=3, version=2) is ErrorCode.INVALID_PRODUCER_EPOCH


@pytest.mark.parametrize(("now_ms", "is_new"), [(99, False), (100, True)])
def test_what_nobody_comes_back_with_is_forgotten(now_ms: int, is_new: bool) -> None:
    producer = Producer()
    known = producer.ask()
    producer.state.expire(now_ms, 100)
    assert (producer.ask() is not known) == is_new
