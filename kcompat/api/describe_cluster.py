"""DescribeCluster (key 60), versions 0-2.

Behaviour
- The brokers that have the client's listener, the cluster id and the controller, as Metadata gives them, and
  when Metadata would give them.

Version notes
- 0: split from Metadata (KIP-700). 1: the type of endpoint asked (KIP-919): brokers here; a client that means
  a controller quorum is told so with MISMATCHED_ENDPOINT_TYPE. 2: fenced brokers (KIP-1073): none is, as in a
  Kafka over ZooKeeper.
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
    """Describe the cluster to a client of its brokers."""
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
