"""DescribeConfigs (key 32), versions 0-4: values of topics, groups, brokers and loggers, and their sources.

Behaviour
- Topics and groups show every key they can have; a group need not exist. A broker, named by its own id, shows
  every broker key and all other given keys. The empty broker name shows the dynamic values for all brokers.
  Broker loggers show levels. Client metrics are not stored and show nothing.
- A null or empty list of keys means all keys. A resource that is named twice has two results.
- Secrets and unknown keys are shown without a value.

Version notes
- 0: no sources; `is_default` instead. Kafka 3.9 always returns false for it, this broker the actual value.
- 1: sources and synonyms (KIP-226). 3: types and documentation (KIP-569). 4: flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.config_resources import config_in_force, denial, id_of
from kcompat.cluster.config_entities import GROUPS, TOPICS
from kcompat.config.describe import (
    EVERYTHING,
    DescribedConfig,
    describe_broker,
    describe_cluster_default,
    describe_group,
    describe_topic,
)
from kcompat.config.loggers import describe_loggers
from kcompat.protocol.constants import ConfigResourceType, ConfigSource
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse
from kcompat.security.operations import Operation
from kcompat.topics import name_problem

if TYPE_CHECKING:
    from collections.abc import Container

    from kcompat.api.context import RequestContext
    from kcompat.cluster.config_entities import Entity
    from kcompat.cluster.image import ClusterImage
    from kcompat.config.broker import BrokerConfig
    from kcompat.promise import Promise

RequestedResource = DescribeConfigsRequest.DescribeConfigsResource
Result = DescribeConfigsResponse.DescribeConfigsResult
Row = DescribeConfigsResponse.DescribeConfigsResourceResult
SynonymRow = DescribeConfigsResponse.DescribeConfigsSynonym

MAX_REPETITIONS = 100
"""Largest number of repeated resources in a request: each costs a few bytes to request and kilobytes to
answer.
"""


def handle(
    context: RequestContext, request: DescribeConfigsRequest
) -> DescribeConfigsResponse | Promise[DescribeConfigsResponse]:
    """Describe each resource, with its own error."""

    def describe(_: None) -> DescribeConfigsResponse:
        description = _Description(context, request)
        return DescribeConfigsResponse(results=[description.of(resource) for resource in request.resources])

    unread = _unread_topics(context.services.cluster.metadata.image, request)
    return context.services.cluster.configs.refresh(unread).map(describe) if unread else describe(None)


def _unread_topics(image: ClusterImage, request: DescribeConfigsRequest) -> set[Entity]:
    """Return the topics whose configs this broker has not read: they are new, and other brokers have them."""
    topics = {
        resource.resource_name
        for resource in request.resources
        if resource.resource_type == ConfigResourceType.TOPIC and resource.resource_name in image.topics
    }
    return {(TOPICS, name) for name in topics if (TOPICS, name) not in image.entity_configs}


class _Description:
    """The configuration at the time of one request, and the resources that it has described so far."""

    def __init__(self, context: RequestContext, request: DescribeConfigsRequest) -> None:
        self._context = context
        self._services = context.services
        self._marks_defaults = context.api_version == 0
        self._with_synonyms = request.include_synonyms
        self._with_documentation = request.include_documentation
        self._config: BrokerConfig = config_in_force(context.services)
        self._seen: set[tuple[int, str]] = set()
        self._repetitions = 0
        self._plain_topics: dict[tuple[str, ...], list[Row]] = {}

    def of(self, resource: RequestedResource) -> Result:
        """Return the config rows of one resource, or its error."""
        if (resource.resource_type, resource.resource_name) in self._seen:
            self._repetitions += 1
            if self._repetitions > MAX_REPETITIONS:
                message = f"More than {MAX_REPETITIONS} resources are requested again."
                return _refused(resource, ErrorCode.INVALID_REQUEST, message)
        self._seen.add((resource.resource_type, resource.resource_name))
        error = denial(
            self._context, Operation.DESCRIBE_CONFIGS, resource.resource_type, resource.resource_name
        )
        if error is not None:
            return _refused(resource, error, error.message)
        match resource.resource_type:
            case ConfigResourceType.TOPIC:
                return self._topic(resource)
            case ConfigResourceType.BROKER:
                return self._broker(resource)
            case ConfigResourceType.BROKER_LOGGER:
                return self._loggers(resource)
            case ConfigResourceType.GROUP:
                return self._group(resource)
            case ConfigResourceType.CLIENT_METRICS if resource.resource_name:
                return _answered(resource, [])
            case ConfigResourceType.CLIENT_METRICS:
                message = "Client metrics subscription name must not be empty"
                return _refused(resource, ErrorCode.INVALID_REQUEST, message)
            case _:
                return _refused(resource, ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST.message)

    def _topic(self, resource: RequestedResource) -> Result:
        name = resource.resource_name
        problem = name_problem(name)
        if problem is not None:
            message = f"Topic name is invalid: {problem}"
            return _refused(resource, ErrorCode.INVALID_TOPIC_EXCEPTION, message)
        image = self._services.cluster.metadata.image
        if name not in image.topics:
            return _refused(resource, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "")
        # Topics differ only in the keys that they set themselves, so the other rows are built once.
        keys = tuple(resource.configuration_keys or ())
        rows = self._plain_topics.get(keys)
        if rows is None:
            rows = self._plain_topics[keys] = self._rows(describe_topic(self._config, {}, _names(resource)))
        overrides = image.configs("topics", name)
        if overrides:
            changed = describe_topic(self._config, overrides, overrides)
            own = {row.name: row for row in self._rows(changed)}
            rows = [own.get(row.name, row) for row in rows]
        return _answered(resource, rows)

    def _group(self, resource: RequestedResource) -> Result:
        if not resource.resource_name:
            return _refused(resource, ErrorCode.INVALID_REQUEST, "Group name must not be empty")
        overrides = self._services.cluster.metadata.image.configs(GROUPS, resource.resource_name)
        return _answered(resource, self._rows(describe_group(self._config, overrides, _names(resource))))

    def _broker(self, resource: RequestedResource) -> Result:
        if not resource.resource_name:
            entries = describe_cluster_default(self._config, _names(resource))
        else:
            refusal = self._not_this_broker(resource, " or empty string,")
            if refusal is not None:
                return refusal
            entries = describe_broker(self._config, _names(resource))
        return _answered(resource, self._rows(entries))

    def _loggers(self, resource: RequestedResource) -> Result:
        if not resource.resource_name:
            return _refused(resource, ErrorCode.INVALID_REQUEST, "Broker id must not be empty")
        refusal = self._not_this_broker(resource, "")
        return refusal or _answered(resource, self._rows(describe_loggers(_names(resource))))

    def _not_this_broker(self, resource: RequestedResource, alternative: str) -> Result | None:
        broker_id = id_of(resource.resource_name)
        if broker_id is None:
            message = f"Broker id must be an integer, but it is: {resource.resource_name}"
        elif broker_id != self._services.cluster.broker_id:
            expected = f"{self._services.cluster.broker_id}{alternative}"
            message = f"Unexpected broker id, expected {expected} but received {broker_id}"
        else:
            return None
        return _refused(resource, ErrorCode.INVALID_REQUEST, message)

    def _rows(self, entries: list[DescribedConfig]) -> list[Row]:
        return [
            Row(
                name=entry.name,
                value=entry.value,
                read_only=entry.read_only,
                is_default=self._marks_defaults and entry.source is ConfigSource.DEFAULT_CONFIG,
                config_source=entry.source,
                is_sensitive=entry.sensitive,
                synonyms=[
                    SynonymRow(synonym.name, synonym.value, synonym.source) for synonym in entry.synonyms
                ]
                if self._with_synonyms
                else [],
                config_type=entry.type,
                documentation=entry.doc if self._with_documentation or not entry.doc else None,
            )
            for entry in entries
        ]


def _names(resource: RequestedResource) -> Container[str]:
    return frozenset(resource.configuration_keys) if resource.configuration_keys else EVERYTHING


def _answered(resource: RequestedResource, rows: list[Row]) -> Result:
    return Result(resource_type=resource.resource_type, resource_name=resource.resource_name, configs=rows)


def _refused(resource: RequestedResource, error: ErrorCode, message: str) -> Result:
    return Result(error, message, resource.resource_type, resource.resource_name)
