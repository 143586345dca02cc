"""ListGroups (key 16), versions 0-5.

Behaviour
- Lists the groups that this broker coordinates; clients send the request to every broker. A client that may
  not describe the cluster sees only the groups that it may describe.

Version notes
- 4: filters by state, in any case of letters (KIP-518).
- 5: filters by type (KIP-848).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kcompat.security.authorizer import CLUSTER, Purpose, Resource
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext


def handle(context: RequestContext, request: ListGroupsRequest) -> ListGroupsResponse:
    """List the groups that pass the filters."""
    states = {state.lower() for state in request.states_filter}
    types = {group_type.lower() for group_type in request.types_filter}
    error, groups = context.services.coordinators.groups.list_groups(states, types)
    if not context.may(Operation.DESCRIBE, CLUSTER, Purpose.FILTER):
        groups = [
            row
            for row in groups
            if context.may(Operation.DESCRIBE, Resource.group(row.group_id), Purpose.FILTER)
        ]
    return ListGroupsResponse(
        error_code=error,
        groups=[
            ListGroupsResponse.ListedGroup(
                group_id=group.group_id,
                protocol_type=group.protocol_type,
                group_state=group.state,
                group_type=group.group_type,
            )
            for group in groups
        ],
    )
