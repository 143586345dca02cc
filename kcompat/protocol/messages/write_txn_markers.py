"""WriteTxnMarkers: request and response (API key 27)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, boolean, int8, int16, int32, int64, string, struct


@message("0-2", flexible="1+", api_key=27)
class WriteTxnMarkersRequest(Message):
    """Request of a transaction coordinator to append markers to partitions (key 27, v0 to v2)."""

    class WritableTxnMarkerTopic(Part):
        name: Annotated[str, string("0+")] = ""
        partition_indexes: Annotated[list[int], int32("0+")] = []

    class WritableTxnMarker(Part):
        producer_id: Annotated[int, int64("0+")] = 0
        producer_epoch: Annotated[int, int16("0+")] = 0
        transaction_result: Annotated[bool, boolean("0+")] = False
        topics: Annotated[list[WriteTxnMarkersRequest.WritableTxnMarkerTopic], struct("0+")] = []
        coordinator_epoch: Annotated[int, int32("0+")] = 0
        transaction_version: Annotated[int, int8("2+", ignorable=True)] = 0

    markers: Annotated[list[WriteTxnMarkersRequest.WritableTxnMarker], struct("0+")] = []


@message("0-2", flexible="1+", api_key=27)
class WriteTxnMarkersResponse(Message):
    """Response: an error code for each partition (key 27, v0 to v2)."""

    class WritableTxnMarkerPartitionResult(Part):
        partition_index: Annotated[int, int32("0+")] = 0
        error_code: Annotated[int, int16("0+")] = 0

    class WritableTxnMarkerTopicResult(Part):
        name: Annotated[str, string("0+")] = ""
        partitions: Annotated[
            list[WriteTxnMarkersResponse.WritableTxnMarkerPartitionResult], struct("0+")
        ] = []

    class WritableTxnMarkerResult(Part):
        producer_id: Annotated[int, int64("0+")] = 0
        topics: Annotated[list[WriteTxnMarkersResponse.WritableTxnMarkerTopicResult], struct("0+")] = []

    markers: Annotated[list[WriteTxnMarkersResponse.WritableTxnMarkerResult], struct("0+")] = []
