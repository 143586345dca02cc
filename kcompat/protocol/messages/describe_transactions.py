"""DescribeTransactions: request and response (API key 65)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, int16, int32, int64, string, struct


@message("0", flexible="0+", api_key=65)
class DescribeTransactionsRequest(Message):
    """Request for the state of transactional ids (key 65, v0)."""

    transactional_ids: Annotated[list[str], string("0+")] = []


@message("0", flexible="0+", api_key=65)
class DescribeTransactionsResponse(Message):
    """Response: state, producer and partitions of each transactional id (key 65, v0)."""

    class TopicData(Part):
        topic: Annotated[str, string("0+")] = ""
        partitions: Annotated[list[int], int32("0+")] = []

    class TransactionState(Part):
        error_code: Annotated[int, int16("0+")] = 0
        transactional_id: Annotated[str, string("0+")] = ""
        transaction_state: Annotated[str, string("0+")] = ""
        transaction_timeout_ms: Annotated[int, int32("0+")] = 0
        transaction_start_time_ms: Annotated[int, int64("0+")] = 0
        producer_id: Annotated[int, int64("0+")] = 0
        producer_epoch: Annotated[int, int16("0+")] = 0
        topics: Annotated[list[DescribeTransactionsResponse.TopicData], struct("0+")] = []

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    transaction_states: Annotated[list[DescribeTransactionsResponse.TransactionState], struct("0+")] = []
