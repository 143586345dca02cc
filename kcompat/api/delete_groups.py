"""DeleteGroups (key 42), versions 0-3.

Behaviour
- Deletes groups of any kind that have no members, with their offsets and share partitions. Each group has its
  own error; a group that is named twice has one row.

Version notes
- 3: an error message, which is always null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.promise import Promise, gather
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.api.context import RequestContext

Row = DeleteGroupsResponse.DeletableGroupResult


def handle(context: RequestContext, request: DeleteGroupsRequest) -> Promise[DeleteGroupsResponse]:
    """Delete each group, and answer when all are deleted."""
    group_ids = list(dict.fromkeys(request.groups_names))

    def response(errors: Sequence[ErrorCode]) -> DeleteGroupsResponse:
        rows = zip(group_ids, errors, strict=True)
        return DeleteGroupsResponse(results=[Row(group_id, error) for group_id, error in rows])

    return gather([_delete(context, group_id) for group_id in group_ids]).map(response)


def _delete(context: RequestContext, group_id: str) -> Promise[ErrorCode]:
    if not context.may(Operation.DELETE, Resource.group(group_id)):
        return Promise.resolved(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    return context.services.coordinators.groups.delete(group_id)
