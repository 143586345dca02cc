"""DeleteGroups (key 42), versions 0-3.

Behaviour
- Deletes groups that have no members, with their offsets. Each group has its own error; one named twice is
  answered once.

Version notes
- 3: an error message, which no error of classic groups needs.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kcompat.promise import Promise
from kcompat.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.protocol.errors import ErrorCode

Row = DeleteGroupsResponse.DeletableGroupResult


def handle(
    context: RequestContext, request: DeleteGroupsRequest
) -> DeleteGroupsResponse | Promise[DeleteGroupsResponse]:
    """Delete each group; answer when all are done."""
    rows = [Row(group_id=group_id) for group_id in dict.fromkeys(request.groups_names)]
    response = DeleteGroupsResponse(results=rows)
    later: Promise[DeleteGroupsResponse] = Promise()
    missing = len(rows)

    def settle(row: Row, error: ErrorCode) -> None:
        nonlocal missing
        row.error_code = error
        missing -= 1
        if not missing:
            later.complete(response)

    for row in rows:
        context.services.groups.delete(row.group_id).then(partial(settle, row))
    return response if not missing else later
