"""IncrementalAlterConfigs (key 44), versions 0-1: sets, deletes, extends and shortens single keys (KIP-339).

Behaviour
- Alters topics, groups (which need not exist), this broker or all brokers (the empty name), and the levels of
  this broker's loggers (KIP-412).
- Each resource succeeds or fails by itself; with `validate_only` nothing is stored.

Version notes
- 1: flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.config_resources import AlteredResource, alter
from kcompat.config.dynamic import Alteration, ConfigChange
from kcompat.protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.promise import Promise

Answer = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse


def handle(
    context: RequestContext, request: IncrementalAlterConfigsRequest
) -> Promise[IncrementalAlterConfigsResponse]:
    """Alter each resource; promise the response once all accepted changes are stored."""
    resources = [
        AlteredResource(
            resource.resource_type,
            resource.resource_name,
            [Alteration(config.name, config.config_operation, config.value) for config in resource.configs],
        )
        for resource in request.resources
    ]

    def done(outcomes: list[ConfigChange]) -> IncrementalAlterConfigsResponse:
        return IncrementalAlterConfigsResponse(
            responses=[
                Answer(outcome.error, outcome.message, resource.type, resource.name)
                for resource, outcome in zip(resources, outcomes, strict=True)
            ]
        )

    return alter(context, resources, replace=False, validate_only=request.validate_only).map(done)
