"""DescribeCluster (key 60), versions 0-2.

Behaviour
- Lists the brokers that have the client's listener, the cluster id and the controller, as Metadata does. Like
  Metadata, the response waits for the first metadata update.

Version notes
- 0: split from Metadata (KIP-700). 1: the endpoint type (KIP-919): this endpoint is of brokers, so a request
  for controllers gets MISMATCHED_ENDPOINT_TYPE. 2: fenced brokers (KIP-1073); no broker is fenced, as in a
  Kafka cluster with ZooKeeper.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.cluster_view import cluster_operations, listed_brokers, reachable_brokers
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from kcompat.security.operations import NOT_REQUESTED

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.promise import Promise

BROKERS = 1
CONTROLLERS = 2

BrokerAnswer = DescribeClusterResponse.DescribeClusterBroker


def handle(
    context: RequestContext, request: DescribeClusterRequest
) -> DescribeClusterResponse | Promise[DescribeClusterResponse]:
    """Describe the cluster, once the first metadata update has arrived."""
    if request.endpoint_type == CONTROLLERS:
        return DescribeClusterResponse(
            error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            error_message="The request was sent to an endpoint of type BROKER, "
            "but we wanted an endpoint of type CONTROLLER",
        )
    if request.endpoint_type != BROKERS:
        return DescribeClusterResponse(
            error_code=ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            error_message=f"Unsupported endpoint type {request.endpoint_type}",
        )
    return context.services.cluster.first_metadata_update.wait_then(lambda: _describe(context, request))


def _describe(context: RequestContext, request: DescribeClusterRequest) -> DescribeClusterResponse:
    image = context.services.cluster.metadata.image
    operations = NOT_REQUESTED
    if request.include_cluster_authorized_operations:
        operations = cluster_operations(context)
    return DescribeClusterResponse(
        cluster_id=image.cluster_id,
        controller_id=image.controller_id,
        brokers=[
            BrokerAnswer(broker_id=broker, host=host, port=port, rack=rack)
            for broker, host, port, rack in listed_brokers(context, reachable_brokers(context))
        ],
        cluster_authorized_operations=operations,
    )
