"""DescribeClientQuotas (key 48), versions 0-1: the quotas that match a filter (KIP-546).

Behaviour
- A component of a filter matches entities with one name, with the default name, or with any name of its type.
  Entities that have further types match too, unless the filter is strict. A filter without components matches
  every entity, or none if it is strict.
- The quotas of an entity are sorted by name, so that tools print them in one order, however they were set.
- An inconsistent filter gets INVALID_REQUEST, and one with an entity type other than user, client-id and ip
  UNSUPPORTED_VERSION, with the messages of a Kafka broker (`ClientQuotasImage.describe`).

Version notes
- 1: flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation
from kcompat.security.quotas.changes import TYPES
from kcompat.security.quotas.limits import CLIENT_ID, IP, USER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.api.context import RequestContext
    from kcompat.security.quotas.limits import QuotaEntity

EXACT, DEFAULT, SPECIFIED = range(3)
"""Match types of components: an entity with this name, the default entity, any entity of the type."""
_NAMELESS = {DEFAULT: "MATCH_TYPE_DEFAULT", SPECIFIED: "MATCH_TYPE_SPECIFIED"}

_Component = DescribeClientQuotasRequest.ComponentData
_Entry = DescribeClientQuotasResponse.EntryData
_Part = DescribeClientQuotasResponse.EntityData
_Value = DescribeClientQuotasResponse.ValueData


def handle(context: RequestContext, request: DescribeClientQuotasRequest) -> DescribeClientQuotasResponse:
    """Check the filter, and return the quotas of the entities that it matches."""
    if not context.may(Operation.DESCRIBE_CONFIGS, CLUSTER):
        return _refused(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, None)
    fault = _fault_of_filter(request.components)
    if fault is not None:
        return _refused(*fault)
    return DescribeClientQuotasResponse(
        entries=[
            _Entry([_Part(*part) for part in entity], [_Value(*quota) for quota in sorted(quotas.items())])
            for entity, quotas in context.services.server.quotas.limits.items()
            if _matches(entity, request.components, strict=request.strict)
        ],
    )


def _matches(entity: QuotaEntity, components: Sequence[_Component], *, strict: bool) -> bool:
    """Return whether a valid filter matches an entity."""
    if strict and len(entity) != len(components):
        return False
    names = dict(entity)
    return all(
        component.entity_type in names
        and (component.match_type == SPECIFIED or names[component.entity_type] == component.match)
        for component in components
    )


def _refused(error: ErrorCode, message: str | None) -> DescribeClientQuotasResponse:
    return DescribeClientQuotasResponse(error_code=error, error_message=message, entries=None)


def _fault_of_filter(components: Sequence[_Component]) -> tuple[ErrorCode, str] | None:
    """Return error and message of the first invalid component, or of an invalid combination; None
    if valid.
    """
    seen: set[str] = set()
    for component in components:
        kind = component.entity_type
        if not kind:
            return ErrorCode.INVALID_REQUEST, "Invalid empty entity type."
        if kind in seen:
            return (
                ErrorCode.INVALID_REQUEST,
                f"Entity type {kind} cannot appear more than once in the filter.",
            )
        if kind not in TYPES:
            return ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {kind}"
        reason = _fault_of_match(component)
        if reason is not None:
            return ErrorCode.INVALID_REQUEST, reason
        seen.add(kind)
    if IP in seen and seen & {USER, CLIENT_ID}:
        return (
            ErrorCode.INVALID_REQUEST,
            "Invalid entity filter component combination. "
            "IP filter component should not be used with user or clientId filter component.",
        )
    return None


def _fault_of_match(component: _Component) -> str | None:
    """Return the reason why a component is invalid, or None."""
    if component.match_type == EXACT:
        if component.match is None:
            return "Request specified MATCH_TYPE_EXACT, but set match string to null."
        return None
    name = _NAMELESS.get(component.match_type)
    if name is None:
        return f"Unknown match type {component.match_type}"
    if component.match is not None:
        return f"Request specified {name}, but also specified a match string."
    return None
