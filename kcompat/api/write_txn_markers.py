"""WriteTxnMarkers (key 27), versions 0-2.

Behaviour
- Writes transaction markers to partitions that this broker leads, and answers once all are committed as with
  acks=all. Transaction coordinators send the request, and administrators who end a hanging transaction.
- Offsets that a transaction has written to `__consumer_offsets` take effect with the marker.
- The client needs ALTER or CLUSTER_ACTION on the cluster.

Version notes
- 2: the `transaction.version` of the producer. With 2 the epoch of a marker is higher than that of the
  records before it (KIP-1228).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.promise import gather
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.write_txn_markers import WriteTxnMarkersRequest, WriteTxnMarkersResponse
from kcompat.security.authorizer import CLUSTER, Purpose
from kcompat.security.operations import Operation
from kcompat.transaction.markers import Marker
from kcompat.transaction.requests import Errors, Producer

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.promise import Promise

Row = WriteTxnMarkersRequest.WritableTxnMarker
Result = WriteTxnMarkersResponse.WritableTxnMarkerResult
TopicResult = WriteTxnMarkersResponse.WritableTxnMarkerTopicResult
PartitionResult = WriteTxnMarkersResponse.WritableTxnMarkerPartitionResult


def handle(
    context: RequestContext, request: WriteTxnMarkersRequest
) -> WriteTxnMarkersResponse | Promise[WriteTxnMarkersResponse]:
    """Write the marker of each transaction to its partitions."""
    if not (
        context.may(Operation.ALTER, CLUSTER, Purpose.FILTER)
        or context.may(Operation.CLUSTER_ACTION, CLUSTER)
    ):
        denied = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        return _response(request, [dict.fromkeys(_marker(row).partitions, denied) for row in request.markers])
    written = [context.services.coordinators.markers.write(_marker(row)) for row in request.markers]
    return gather(written).map(lambda errors: _response(request, errors))


def _marker(row: Row) -> Marker:
    return Marker(
        Producer(row.producer_id, row.producer_epoch),
        row.coordinator_epoch,
        row.transaction_result,
        row.transaction_version,
        tuple((topic.name, index) for topic in row.topics for index in topic.partition_indexes),
    )


def _response(request: WriteTxnMarkersRequest, errors: list[Errors]) -> WriteTxnMarkersResponse:
    """Return the response with a row for each producer, as on a Kafka broker."""
    by_producer: dict[int, Errors] = {}
    for row, found in zip(request.markers, errors, strict=True):
        by_producer.setdefault(row.producer_id, {}).update(found)
    response = WriteTxnMarkersResponse()
    for producer_id, found in by_producer.items():
        topics: dict[str, TopicResult] = {}
        for (topic, index), error in found.items():
            topics.setdefault(topic, TopicResult(topic)).partitions.append(PartitionResult(index, error))
        response.markers.append(Result(producer_id, list(topics.values())))
    return response
