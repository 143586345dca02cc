"""The record formats of `__transaction_state`.

Values are written at version 0, as by Kafka 3.9, unless they say what only version 1 has: a producer that
goes by `transaction.version` 2. Both are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.coordinator.serde import RecordSerde
from kcompat.protocol.messages.transaction_log import TransactionLogKey, TransactionLogValue
from kcompat.protocol.schema import ProtocolViolation
from kcompat.transaction.states import State
from kcompat.transaction.transaction import Transaction, by_topic

if TYPE_CHECKING:
    from kcompat.protocol.message import Message

PLAIN, TAGGED = 0, 1


def value_of(transaction: Transaction) -> TransactionLogValue:
    """What a record says of a transactional id."""
    topics = [
        TransactionLogValue.PartitionsSchema(topic, indexes)
        for topic, indexes in by_topic(transaction.partitions)
    ]
    value = TransactionLogValue(
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=transaction.state,
        transaction_partitions=None if transaction.state is State.EMPTY else topics,
        transaction_last_update_timestamp_ms=transaction.updated_ms,
        transaction_start_timestamp_ms=transaction.started_ms,
    )
    if transaction.client_version:
        value.client_transaction_version = transaction.client_version
        value.previous_producer_id = transaction.previous_producer_id
        value.next_producer_id = transaction.next_producer_id
    return value


def transaction_of(value: TransactionLogValue) -> Transaction:
    """What a record says. Raises ProtocolViolation where its status is none."""
    try:
        state = State(value.transaction_status)
    except ValueError:
        raise ProtocolViolation(f"{value.transaction_status} is no status of a transaction") from None
    return Transaction(
        producer_id=value.producer_id,
        producer_epoch=value.producer_epoch,
        timeout_ms=value.transaction_timeout_ms,
        state=state,
        updated_ms=value.transaction_last_update_timestamp_ms,
        started_ms=value.transaction_start_timestamp_ms,
        partitions=frozenset(
            (topic.topic, index)
            for topic in value.transaction_partitions or ()
            for index in topic.partition_ids
        ),
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        client_version=value.client_transaction_version,
    )


def _value_version(value: Message) -> int:
    assert isinstance(value, TransactionLogValue)
    return TAGGED if value.client_transaction_version else PLAIN


TRANSACTION_SERDE: Final = RecordSerde({0: (TransactionLogKey, TransactionLogValue)}, _value_version)
