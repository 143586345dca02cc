"""DescribeClientQuotas (key 48), versions 0-1: the quotas that match a filter (KIP-546).

Behaviour
- The broker stores no quotas, so each valid filter gets an empty list.
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

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.api.context import RequestContext

USER, CLIENT_ID, IP = ENTITY_TYPES = ("user", "client-id", "ip")
EXACT = 0
"""Match type of a filter component that names its entity."""
_NAMELESS = {1: "MATCH_TYPE_DEFAULT", 2: "MATCH_TYPE_SPECIFIED"}
"""Match types of components without a name: the default entity, or any entity with a name."""

_Component = DescribeClientQuotasRequest.ComponentData


def handle(context: RequestContext, request: DescribeClientQuotasRequest) -> DescribeClientQuotasResponse:
    """Check the filter, and return no quotas."""
    if not context.may(Operation.DESCRIBE_CONFIGS, CLUSTER):
        return _refused(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, None)
    fault = _fault_of_filter(request.components)
    return DescribeClientQuotasResponse() if fault is None else _refused(*fault)


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
        if kind not in ENTITY_TYPES:
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
