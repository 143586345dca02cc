"""ListGroups (key 16), versions 0-5.

Behaviour
- The groups that this broker coordinates; clients ask every broker.

Version notes
- 4: filters by state, in any case of letters (KIP-518).
- 5: filters by type (KIP-848).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext


def handle(context: RequestContext, request: ListGroupsRequest) -> ListGroupsResponse:
    """List the groups that pass the filters."""
    states = {state.lower() for state in request.states_filter}
    types = {group_type.lower() for group_type in request.types_filter}
    error, groups = context.services.groups.list_groups(states, types)
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
