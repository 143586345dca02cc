"""ListConfigResources (key 74), versions 0-1: list the resources that have a configuration.

Behaviour
- Lists topics, brokers, the brokers' loggers, and groups with configs. There are no client metrics.
- An unknown type of resource gets UNSUPPORTED_VERSION. An empty list requests all types.

Version notes
- 0: client metrics only (ListClientMetricsResources, KIP-1000). 1: all types, with a filter (KIP-1142).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.cluster.config_entities import GROUPS
from kcompat.protocol.constants import ConfigResourceType
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.list_config_resources import (
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.cluster.image import ClusterImage

Row = ListConfigResourcesResponse.ConfigResource


def handle(context: RequestContext, request: ListConfigResourcesRequest) -> ListConfigResourcesResponse:
    """List the resources of the requested types."""
    if not context.may(Operation.DESCRIBE_CONFIGS, CLUSTER):
        return ListConfigResourcesResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    if context.api_version == 0:
        return ListConfigResourcesResponse()
    wanted = set(request.resource_types) or set(map(int, ConfigResourceType))
    if not wanted <= set(map(int, ConfigResourceType)):
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    return ListConfigResourcesResponse(
        config_resources=[
            row
            for row in _all_resources(context.services.cluster.metadata.image)
            if row.resource_type in wanted
        ]
    )


def _all_resources(image: ClusterImage) -> list[Row]:
    brokers = [str(broker_id) for broker_id in sorted(image.brokers)]
    groups = sorted(
        name for (kind, name), values in image.entity_configs.items() if kind == GROUPS and values
    )
    return [
        *(Row(name, ConfigResourceType.GROUP) for name in groups),
        *(Row(name, ConfigResourceType.BROKER_LOGGER) for name in brokers),
        *(Row(name, ConfigResourceType.BROKER) for name in brokers),
        *(Row(name, ConfigResourceType.TOPIC) for name in sorted(image.topics)),
    ]
