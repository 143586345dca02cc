"""DescribeGroups (key 15), versions 0-6.

Behaviour
- Describes state, protocol and members of classic groups. Protocol and subscriptions are shown only if the
  group is stable.
- A group that does not exist, or is of another kind, has the state Dead.

Version notes
- 3: authorised operations, if requested (KIP-430).
- 4: instance ids (KIP-345).
- 6: a group that does not exist gets GROUP_ID_NOT_FOUND and a message (KIP-1043).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.group import requests


DescribedGroup = DescribeGroupsResponse.DescribedGroup


def handle(context: RequestContext, request: DescribeGroupsRequest) -> DescribeGroupsResponse:
    """Describe each classic group."""
    response = DescribeGroupsResponse()
    for group_id in request.groups:
        resource = Resource.group(group_id)
        if not context.may(Operation.DESCRIBE, resource):
            denied = ErrorCode.GROUP_AUTHORIZATION_FAILED
            response.groups.append(DescribedGroup(group_id=group_id, error_code=denied))
            continue
        described = _response(context.services.coordinators.groups.describe(group_id), context.api_version)
        if request.include_authorized_operations and described.error_code == ErrorCode.NONE:
            described.authorized_operations = context.operations_on(resource)
        response.groups.append(described)
    return response


def _response(group: requests.DescribedGroup, version: int) -> DescribedGroup:
    error, message = group.error, group.message
    if error == ErrorCode.GROUP_ID_NOT_FOUND and version < 6:
        error, message = ErrorCode.NONE, None
    return DescribedGroup(
        error_code=error,
        error_message=message,
        group_id=group.group_id,
        group_state=group.state,
        protocol_type=group.protocol_type,
        protocol_data=group.protocol,
        members=[
            DescribeGroupsResponse.DescribedGroupMember(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=member.metadata,
                member_assignment=member.assignment,
            )
            for member in group.members
        ],
    )
