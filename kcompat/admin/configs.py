"""Configs of topics, brokers and other resources as Java's `Admin` reads and changes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.admin.client import ANY
from kcompat.admin.connection import Versioned
from kcompat.admin.errors import JavaError, error_of_code, raise_for, unsupported
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.constants import ConfigResourceType
from kcompat.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TypeAlias

    from kcompat.admin.client import AdminClient

    ConfigEntry: TypeAlias = DescribeConfigsResponse.DescribeConfigsResourceResult
    Resource: TypeAlias = tuple["ConfigResourceType", str]


SET: Final = 0
DELETE: Final = 1
"""Operations of IncrementalAlterConfigs (`AlterConfigOp.OpType`)."""


def describe_configs(
    admin: AdminClient,
    resources: Iterable[Resource],
    *,
    synonyms: bool = False,
    timeout_ms: int | None = None,
) -> dict[Resource, list[ConfigEntry]]:
    """Return the configs of resources; those of a broker and its loggers come from that broker.

    Raises:
        JavaError: the error of the first resource that has one.
    """
    by_broker: dict[int, list[Resource]] = {}
    for resource in resources:
        by_broker.setdefault(_destination(resource), []).append(resource)
    found: dict[Resource, list[ConfigEntry]] = {}
    for broker_id, wanted in by_broker.items():
        rows = [
            DescribeConfigsRequest.DescribeConfigsResource(kind, name, configuration_keys=None)
            for kind, name in wanted
        ]
        request = DescribeConfigsRequest(rows, synonyms)
        response = admin.ask(request, broker_id, name="describeConfigs", timeout_ms=timeout_ms)
        for row in response.results:
            raise_for(row.error_code, row.error_message)
            found[ConfigResourceType(row.resource_type), row.resource_name] = row.configs
    return found


def alter_configs(
    admin: AdminClient,
    resource: Resource,
    changes: Mapping[str, tuple[int, str | None]],
    *,
    timeout_ms: int = 30_000,
) -> None:
    """Change configs: an operation (`SET`, `DELETE`) and a value for each name. Raises JavaError."""
    from kcompat.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest

    kind, name = resource
    configs = [
        IncrementalAlterConfigsRequest.AlterableConfig(each, operation, value)
        for each, (operation, value) in changes.items()
    ]
    row = IncrementalAlterConfigsRequest.AlterConfigsResource(kind, name, configs)
    response = admin.ask(
        IncrementalAlterConfigsRequest([row]),
        _destination(resource),
        name="incrementalAlterConfigs",
        timeout_ms=timeout_ms,
    )
    for result in response.responses:
        raise_for(result.error_code, result.error_message)


def list_resources(admin: AdminClient, kind: ConfigResourceType) -> list[str]:
    """Return the names of the resources of a kind that have configs (KIP-714, KIP-1142). Raises JavaError."""
    from kcompat.protocol.messages.list_config_resources import ListConfigResourcesRequest

    def make(version: int) -> ListConfigResourcesRequest:
        if version:
            return ListConfigResourcesRequest([kind])
        if kind is not ConfigResourceType.CLIENT_METRICS:
            raise unsupported("The broker lists no resources but client metrics: it is older than Kafka 4.1")
        return ListConfigResourcesRequest()

    response = admin.ask(Versioned(ApiKey.LIST_CONFIG_RESOURCES, make), name="listConfigResources")
    if response.error_code:
        raise error_of_code(response.error_code)
    return [each.resource_name for each in response.config_resources]


def _destination(resource: Resource) -> int:
    """Return the id of the broker that alone knows a resource, or `ANY`."""
    kind, name = resource
    if kind not in (ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER) or not name:
        return ANY
    try:
        return int(name)
    except ValueError:
        message = f"Unexpected broker id, expected an integer, but received {name}"
        raise JavaError("InvalidRequestException", message) from None
