"""What the descriptions of groups of today have in common: who may see them, and the topics in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from kcompat.protocol.errors import ErrorCode
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kcompat.api.context import RequestContext

HIDDEN_TOPICS = "The group has described topic(s) that the client is not authorized to describe."


class _Request(Protocol):
    group_ids: list[str]
    include_authorized_operations: bool


class _Row(Protocol):
    error_code: int
    authorized_operations: int


Row = TypeVar("Row", bound=_Row)


def described_groups(
    context: RequestContext,
    request: _Request,
    refused: Callable[[Sequence[str], ErrorCode], list[Row]],
    describe: Callable[[str], Row],
) -> list[Row]:
    """Return a row for each group; those that the client may not describe come first, as on a Kafka broker.

    The empty id names no group: INVALID_GROUP_ID.
    """
    hidden = [name for name in request.group_ids if not context.may(Operation.DESCRIBE, Resource.group(name))]
    rows = refused(hidden, ErrorCode.GROUP_AUTHORIZATION_FAILED)
    for group_id in request.group_ids:
        if group_id in hidden:
            continue
        row = describe(group_id) if group_id else refused([""], ErrorCode.INVALID_GROUP_ID)[0]
        if request.include_authorized_operations and row.error_code == ErrorCode.NONE:
            row.authorized_operations = context.operations_on(Resource.group(group_id))
        rows.append(row)
    return rows
