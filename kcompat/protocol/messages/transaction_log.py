"""Records of the transaction coordinator in `__transaction_state`."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, int8, int16, int32, int64, string, struct


@message("0", record_type=0)
class TransactionLogKey(Message):
    """The key of a transactional id (record type 0, v0)."""

    transactional_id: Annotated[str, string("0+")] = ""


@message("0-1", flexible="1+", record_type=0)
class TransactionLogValue(Message):
    """The state of a transaction (record type 0, v0 to v1)."""

    class PartitionsSchema(Part):
        topic: Annotated[str, string("0+")] = ""
        partition_ids: Annotated[list[int], int32("0+")] = []

    producer_id: Annotated[int, int64("0+")] = 0
    previous_producer_id: Annotated[int, int64("1+", tag=0)] = -1
    next_producer_id: Annotated[int, int64("1+", tag=1)] = -1
    producer_epoch: Annotated[int, int16("0+")] = 0
    next_producer_epoch: Annotated[int, int16("1+", tag=3)] = -1
    transaction_timeout_ms: Annotated[int, int32("0+")] = 0
    transaction_status: Annotated[int, int8("0+")] = 0
    transaction_partitions: Annotated[
        list[TransactionLogValue.PartitionsSchema] | None, struct("0+", nullable="0+")
    ] = []
    transaction_last_update_timestamp_ms: Annotated[int, int64("0+")] = 0
    transaction_start_timestamp_ms: Annotated[int, int64("0+")] = 0
    client_transaction_version: Annotated[int, int16("1+", tag=2)] = 0
