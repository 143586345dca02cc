"""ListTransactions: request and response (API key 66)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, int16, int32, int64, string, struct


@message("0-2", flexible="0+", api_key=66)
class ListTransactionsRequest(Message):
    """Request for the transactional ids that a broker coordinates (key 66, v0 to v2)."""

    state_filters: Annotated[list[str], string("0+")] = []
    producer_id_filters: Annotated[list[int], int64("0+")] = []
    duration_filter: Annotated[int, int64("1+")] = -1
    transactional_id_pattern: Annotated[str | None, string("2+", nullable="2+")] = None


@message("0-2", flexible="0+", api_key=66)
class ListTransactionsResponse(Message):
    """Response: the transactional ids with their states (key 66, v0 to v2)."""

    class TransactionState(Part):
        transactional_id: Annotated[str, string("0+")] = ""
        producer_id: Annotated[int, int64("0+")] = 0
        transaction_state: Annotated[str, string("0+")] = ""

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    error_code: Annotated[int, int16("0+")] = 0
    unknown_state_filters: Annotated[list[str], string("0+")] = []
    transaction_states: Annotated[list[ListTransactionsResponse.TransactionState], struct("0+")] = []
