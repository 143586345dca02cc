"""AlterClientQuotas (key 49), versions 0-1: quotas set and removed (KIP-546).

Behaviour
- This broker does not enforce quotas and stores none, because a quota that is accepted without effect would
  mislead. Each entry is refused with INVALID_REQUEST and this reason.

Version notes
- 1: flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.alter_client_quotas import AlterClientQuotasRequest, AlterClientQuotasResponse
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext

NOT_ENFORCED = "This broker does not enforce client quotas, so it does not store any."

_Entry = AlterClientQuotasResponse.EntryData
_Entity = AlterClientQuotasResponse.EntityData


def handle(context: RequestContext, request: AlterClientQuotasRequest) -> AlterClientQuotasResponse:
    """Refuse each entry, as quotas are not enforced."""
    error, message = ErrorCode.INVALID_REQUEST, NOT_ENFORCED
    if not context.may(Operation.ALTER_CONFIGS, CLUSTER):
        error = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        message = error.message
    return AlterClientQuotasResponse(
        entries=[
            _Entry(error, message, [_Entity(each.entity_type, each.entity_name) for each in entry.entity])
            for entry in request.entries
        ]
    )
