"""The record formats of `__transaction_state`.

Values are written at version 0, as Kafka 3.9 does, unless they have a former or next producer id or a client
version (`transaction.version` 1 and above), which only version 1 can hold. Both versions are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.coordinator.serde import RecordSerde
from kcompat.protocol.messages.transaction_log import TransactionLogKey, TransactionLogValue
from kcompat.protocol.schema import ProtocolViolation
from kcompat.topics import by_topic
from kcompat.transaction.states import State
from kcompat.transaction.transaction import NO_PRODUCER_ID, Transaction

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.protocol.message import Message

PLAIN, TAGGED = 0, 1

_STATES: Final[Mapping[int, State]] = {int(state): state for state in State}


def value_of(transaction: Transaction, feature_level: int) -> TransactionLogValue:
    """Return the record value of a transactional id at this level of `transaction.version`.

    A transaction of a client at a higher level keeps the fields of that level, even after the cluster was
    downgraded.
    """
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
    if feature_level or transaction.client_version:
        value.client_transaction_version = transaction.client_version
        value.previous_producer_id = transaction.previous_producer_id
        value.next_producer_id = transaction.next_producer_id
    return value


def transaction_of(value: TransactionLogValue) -> Transaction:
    """Return the transaction in the value of a record. Raises ProtocolViolation for an unknown status."""
    state = _STATES.get(value.transaction_status)
    if state is None:
        raise ProtocolViolation(f"{value.transaction_status} is no status of a transaction")
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
    says_more = (
        value.client_transaction_version
        or value.previous_producer_id != NO_PRODUCER_ID
        or value.next_producer_id != NO_PRODUCER_ID
    )
    return TAGGED if says_more else PLAIN


TRANSACTION_SERDE: Final = RecordSerde({0: (TransactionLogKey, TransactionLogValue)}, _value_version)
