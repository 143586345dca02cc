"""AddPartitionsToTxn: request and response (API key 24)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, boolean, int16, int32, int64, string, struct


@message("0-5", flexible="3+", api_key=24)
class AddPartitionsToTxnRequest(Message):
    """Request to add partitions to transactions, or to verify that they were added (key 24, v0 to v5)."""

    class AddPartitionsToTxnTopic(Part):
        name: Annotated[str, string("0+")] = ""
        partitions: Annotated[list[int], int32("0+")] = []

    class AddPartitionsToTxnTransaction(Part):
        transactional_id: Annotated[str, string("4+")] = ""
        producer_id: Annotated[int, int64("4+")] = 0
        producer_epoch: Annotated[int, int16("4+")] = 0
        verify_only: Annotated[bool, boolean("4+")] = False
        topics: Annotated[list[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic], struct("4+")] = []

    transactions: Annotated[list[AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction], struct("4+")] = []
    v3_and_below_transactional_id: Annotated[str, string("0-3")] = ""
    v3_and_below_producer_id: Annotated[int, int64("0-3")] = 0
    v3_and_below_producer_epoch: Annotated[int, int16("0-3")] = 0
    v3_and_below_topics: Annotated[
        list[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic], struct("0-3")
    ] = []


@message("0-5", flexible="3+", api_key=24)
class AddPartitionsToTxnResponse(Message):
    """Response: an error code for each partition (key 24, v0 to v5)."""

    class AddPartitionsToTxnPartitionResult(Part):
        partition_index: Annotated[int, int32("0+")] = 0
        partition_error_code: Annotated[int, int16("0+")] = 0

    class AddPartitionsToTxnTopicResult(Part):
        name: Annotated[str, string("0+")] = ""
        results_by_partition: Annotated[
            list[AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult], struct("0+")
        ] = []

    class AddPartitionsToTxnResult(Part):
        transactional_id: Annotated[str, string("4+")] = ""
        topic_results: Annotated[
            list[AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult], struct("4+")
        ] = []

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    error_code: Annotated[int, int16("4+", ignorable=True)] = 0
    results_by_transaction: Annotated[
        list[AddPartitionsToTxnResponse.AddPartitionsToTxnResult], struct("4+")
    ] = []
    results_by_topic_v3_and_below: Annotated[
        list[AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult], struct("0-3")
    ] = []
