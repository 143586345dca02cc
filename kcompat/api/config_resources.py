"""Configuration resources and their changes, for the handlers of config APIs."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kcompat.api.stored_configs import store_change
from kcompat.cluster.config_entities import BROKERS, DEFAULT_ENTITY, GROUPS, TOPICS
from kcompat.config.dynamic import (
    Alteration,
    ConfigChange,
    change_broker,
    change_group,
    change_topic,
    check_form,
)
from kcompat.config.java_text import parse_integer
from kcompat.config.loggers import change_loggers
from kcompat.promise import gather
from kcompat.protocol.constants import ConfigResourceType
from kcompat.protocol.errors import ErrorCode
from kcompat.security.authorizer import CLUSTER, Resource
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kcompat.api.context import RequestContext, Services
    from kcompat.config.broker import BrokerConfig
    from kcompat.promise import Promise


class AlteredResource(Struct, frozen=True):
    """A resource in a request, and the alterations of its configs."""

    type: int
    name: str
    alterations: Sequence[Alteration]


def config_in_force(services: Services) -> BrokerConfig:
    """Return the broker's configuration with the dynamic values of the current metadata image."""
    image = services.cluster.metadata.image
    return services.server.config.with_stored(
        image.configs("brokers", str(services.cluster.broker_id)), image.configs("brokers", DEFAULT_ENTITY)
    )


def denial(context: RequestContext, operation: Operation, kind: int, name: str) -> ErrorCode | None:
    """Return the error if the client is not authorized for this operation on a resource's configs, else None.

    Returns None for an unknown type of resource, too.
    """
    match kind:
        case ConfigResourceType.TOPIC:
            resource, error = Resource.topic(name), ErrorCode.TOPIC_AUTHORIZATION_FAILED
        case ConfigResourceType.BROKER | ConfigResourceType.BROKER_LOGGER | ConfigResourceType.CLIENT_METRICS:
            resource, error = CLUSTER, ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        case ConfigResourceType.GROUP:
            resource, error = Resource.group(name), ErrorCode.GROUP_AUTHORIZATION_FAILED
        case _:
            return None
    return None if context.may(operation, resource) else error


def id_of(name: str) -> int | None:
    """Return the broker id in a resource name, or None if the name is not an integer."""
    try:
        return parse_integer(name, 32)
    except ValueError:
        return None


def alter(
    context: RequestContext, resources: Sequence[AlteredResource], *, replace: bool, validate_only: bool
) -> Promise[list[ConfigChange]]:
    """Change each resource by itself; promise the outcomes, in the order of `resources`, once all are stored.

    With `replace` the former configs are dropped (AlterConfigs). A resource that is named twice is refused
    each time.
    """
    times = Counter((resource.type, resource.name) for resource in resources)
    config = config_in_force(context.services)
    outcomes: list[ConfigChange] = []
    pending: dict[int, Promise[ConfigChange]] = {}
    for position, resource in enumerate(resources):
        if times[resource.type, resource.name] > 1:
            outcomes.append(
                ConfigChange(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
            )
            continue
        # AlterConfigs does not support loggers, so they are refused by type before the authorization.
        if not (replace and resource.type == ConfigResourceType.BROKER_LOGGER):
            error = denial(context, Operation.ALTER_CONFIGS, resource.type, resource.name)
            if error is not None:
                is_logger = resource.type == ConfigResourceType.BROKER_LOGGER
                outcomes.append(ConfigChange(error, None if is_logger else error.message))
                continue
        judge = partial(
            _judge, context.services, config, resource, replace=replace, validate_only=validate_only
        )
        outcome = judge()
        outcomes.append(outcome)
        kind = _STORED_AS.get(resource.type)
        if outcome.error is ErrorCode.NONE and not validate_only and kind is not None:
            entity = kind, resource.name or DEFAULT_ENTITY
            pending[position] = store_change(context.services.cluster, entity, outcome, judge)

    def with_stored(changes: list[ConfigChange]) -> list[ConfigChange]:
        for position, change in zip(pending, changes, strict=True):
            outcomes[position] = change
        return outcomes

    return gather(list(pending.values())).map(with_stored)


_STORED_AS: Final[Mapping[int, str]] = {
    ConfigResourceType.TOPIC: TOPICS,
    ConfigResourceType.BROKER: BROKERS,
    ConfigResourceType.GROUP: GROUPS,
}


def _judge(
    services: Services, config: BrokerConfig, resource: AlteredResource, *, replace: bool, validate_only: bool
) -> ConfigChange:
    match resource.type:
        case ConfigResourceType.TOPIC:
            return _judge_topic(services, config, resource, replace=replace)
        case ConfigResourceType.BROKER:
            return _judge_broker(services, config, resource, replace=replace)
        case ConfigResourceType.GROUP:
            current = {} if replace else services.cluster.metadata.image.configs(GROUPS, resource.name)
            return change_group(config, resource.name, current, resource.alterations)
        case ConfigResourceType.BROKER_LOGGER if not replace:
            return _judge_loggers(services, resource, validate_only=validate_only)
        case ConfigResourceType.CLIENT_METRICS:
            return ConfigChange(
                ErrorCode.INVALID_REQUEST,
                "AlterConfigs is only supported for topics and brokers, but resource type is CLIENT_METRICS",
            )
        case other:
            return ConfigChange(ErrorCode.INVALID_REQUEST, f"Unknown resource type {int(other)}")


def _judge_topic(
    services: Services, config: BrokerConfig, resource: AlteredResource, *, replace: bool
) -> ConfigChange:
    image = services.cluster.metadata.image
    current = {} if replace else image.configs("topics", resource.name)
    change = change_topic(config, resource.name, current, resource.alterations)
    if change.error is ErrorCode.NONE and resource.name not in image.topics:
        return ConfigChange(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{resource.name}' does not exist."
        )
    return change


def _judge_broker(
    services: Services, config: BrokerConfig, resource: AlteredResource, *, replace: bool
) -> ConfigChange:
    refusal = check_form(resource.alterations) or (
        _not_this_broker(services, resource, "broker id, expected") if resource.name else None
    )
    if refusal is not None:
        return refusal
    stored = services.cluster.metadata.image.configs("brokers", resource.name or DEFAULT_ENTITY)
    return change_broker(
        config,
        {} if replace else stored,
        resource.alterations,
        cluster_default=not resource.name,
        check=services.server.config_feed.check,
    )


def _judge_loggers(services: Services, resource: AlteredResource, *, validate_only: bool) -> ConfigChange:
    refusal = check_form(resource.alterations) or _not_this_broker(services, resource, "node id. Expected")
    return refusal or change_loggers(resource.alterations, validate_only=validate_only)


def _not_this_broker(services: Services, resource: AlteredResource, words: str) -> ConfigChange | None:
    """Return the refusal of a resource that is another broker, or None.

    Clients send such a request to each broker about itself. `words` is Kafka's wording for the type of
    resource.
    """
    broker_id = id_of(resource.name)
    if broker_id is None:
        return ConfigChange(
            ErrorCode.INVALID_REQUEST, f"Node id must be an integer, but it is: {resource.name}"
        )
    if broker_id != services.cluster.broker_id:
        return ConfigChange(
            ErrorCode.INVALID_REQUEST,
            f"Unexpected {words} {services.cluster.broker_id}, but received {broker_id}",
        )
    return None
