"""The rows of ConsumerGroupDescribe, ShareGroupDescribe and StreamsGroupDescribe, and their authorization."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from kcompat.protocol.errors import ErrorCode
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.api.context import RequestContext
    from kcompat.group.modern.kind import ModernKind

HIDDEN_TOPICS = "The group has described topic(s) that the client is not authorized to describe."


class _Request(Protocol):
    group_ids: list[str]
    include_authorized_operations: bool


class _Row(Protocol):
    error_code: int
    authorized_operations: int


Row = TypeVar("Row", bound=_Row)
D = TypeVar("D")


def described_groups(
    context: RequestContext,
    request: _Request,
    kind: ModernKind[Any, Any, D],
    row_class: Callable[..., Row],
    row_of: Callable[[RequestContext, D], Row],
    *,
    is_served: bool,
) -> list[Row]:
    """Return a row for each group; those that the client may not describe come first, as on a Kafka broker.

    The row of an empty group id has INVALID_GROUP_ID. Without `is_served` every row has UNSUPPORTED_VERSION.
    """

    def refused(group_id: str, error: ErrorCode) -> Row:
        return row_class(group_id=group_id, error_code=error)

    if not is_served:
        return [refused(group_id, ErrorCode.UNSUPPORTED_VERSION) for group_id in request.group_ids]
    hidden = [name for name in request.group_ids if not context.may(Operation.DESCRIBE, Resource.group(name))]
    rows = [refused(group_id, ErrorCode.GROUP_AUTHORIZATION_FAILED) for group_id in hidden]
    for group_id in request.group_ids:
        if group_id in hidden:
            continue
        if group_id:
            row = row_of(context, context.services.coordinators.groups.describe_modern(kind, group_id))
        else:
            row = refused("", ErrorCode.INVALID_GROUP_ID)
        if request.include_authorized_operations and row.error_code == ErrorCode.NONE:
            row.authorized_operations = context.operations_on(Resource.group(group_id))
        rows.append(row)
    return rows
