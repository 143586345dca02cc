"""AlterConfigs (key 33), versions 0-2: replaces the dynamic configs of topics, groups and brokers as a whole.

Behaviour
- A key that the request does not name goes back to its default. Newer clients use IncrementalAlterConfigs.
- Each resource succeeds or fails by itself; with `validate_only` nothing is stored.
- A resource that is named twice is refused both times (INVALID_REQUEST). Kafka sends no response at all.

Version notes
- 1: no change. 2: flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.config_resources import AlteredResource, alter
from kcompat.config.dynamic import ConfigChange, replace_all
from kcompat.protocol.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.promise import Promise

Answer = AlterConfigsResponse.AlterConfigsResourceResponse


def handle(context: RequestContext, request: AlterConfigsRequest) -> Promise[AlterConfigsResponse]:
    """Replace the configs of each resource; promise the response once all accepted changes are stored."""
    resources = [
        AlteredResource(
            resource.resource_type,
            resource.resource_name,
            replace_all((config.name, config.value) for config in resource.configs),
        )
        for resource in request.resources
    ]

    def done(outcomes: list[ConfigChange]) -> AlterConfigsResponse:
        return AlterConfigsResponse(
            responses=[
                Answer(outcome.error, outcome.message, resource.type, resource.name)
                for resource, outcome in zip(resources, outcomes, strict=True)
            ]
        )

    return alter(context, resources, replace=True, validate_only=request.validate_only).map(done)
