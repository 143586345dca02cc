"""Descriptions of consumer groups, both of those whose broker assigns partitions (KIP-848) and of classic
ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from kcompat.admin.errors import JavaError, error_of_code, kafka_error, unsupported
from kcompat.commands.console.assignment import decode_assignment
from kcompat.protocol.errors import ErrorCode, error_of
from kcompat.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kcompat.protocol.messages.describe_groups import DescribeGroupsRequest
from kcompat.protocol.messages.list_groups import ListGroupsRequest
from kcompat.protocol.schema import ProtocolViolation

if TYPE_CHECKING:
    from collections.abc import Container

    from kcompat.admin.client import AdminClient
    from kcompat.admin.connection import Node
    from kcompat.topics import TopicPartition

GROUP: Final = 0
"""Kind of coordinator that FindCoordinator looks for."""
CONSUMER: Final = "consumer"
CLASSIC: Final = "classic"

_CLASSIC_MEMBER: Final = 0
_UNKNOWN_MEMBER: Final = -1
_PROTOCOL_TYPES: Final = ("", "consumer")
"""Protocol types of groups that count as consumer groups; the empty one is that of a group whose clients only
commit.
"""


class GroupListing(msgspec.Struct, frozen=True):
    """A row of the list of groups; type and state are as Kafka's commands print them."""

    group_id: str
    type: str
    state: str


class Member(msgspec.Struct, frozen=True):
    """A member of a group."""

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    assignment: list[TopicPartition]
    epoch: int | None = None
    target: list[TopicPartition] = []
    upgraded: bool | None = None
    """Whether a member of a group of type consumer uses the consumer protocol; None if the broker does not
    tell.
    """


class GroupDescription(msgspec.Struct, frozen=True):
    """Description of a group by its coordinator."""

    group_id: str
    type: str
    state: str
    assignor: str
    coordinator: Node
    members: list[Member]
    epoch: int | None = None
    target_epoch: int | None = None


def wrapped(error: JavaError) -> JavaError:
    """Return an error whose message is the name and the message of another one, as Java wraps causes."""
    first, *_ = error.logged().split("\n")
    return JavaError("RuntimeException", first, error.code, package="java.lang.")


def list_groups(
    admin: AdminClient, states: Container[str] = (), types: Container[str] = ()
) -> list[GroupListing]:
    """Return the consumer groups of all brokers, ordered by their ids.

    With `states` or `types`, in lower case, only such groups. Raises JavaError if a broker does not answer.
    """
    try:
        brokers = admin.cluster().nodes
    except JavaError as error:
        raise kafka_error("Failed to find brokers to send ListGroups") from error
    responses = admin.ask_each(dict.fromkeys(brokers, ListGroupsRequest()), name="listGroups")
    found = {}
    for response in responses.values():
        if isinstance(response, JavaError):
            raise response
        if response.error_code:
            raise error_of_code(response.error_code)
        for row in response.groups:
            kind = row.group_type.lower() or CLASSIC
            if kind not in (CLASSIC, CONSUMER) or row.protocol_type not in _PROTOCOL_TYPES:
                continue
            if (types and kind not in types) or (states and row.group_state.lower() not in states):
                continue
            found[row.group_id] = GroupListing(row.group_id, kind.capitalize(), row.group_state or "Unknown")
    return [found[group_id] for group_id in sorted(found)]


def describe_group(admin: AdminClient, group_id: str) -> GroupDescription:
    """Return the description of a group of either type.

    Raises:
        JavaError: there is no such group, or its coordinator refuses the request.
    """
    coordinator = admin.coordinators(GROUP, [group_id])[group_id]
    if isinstance(coordinator, JavaError):
        raise coordinator
    node = admin.cluster().nodes[coordinator]
    try:
        request = ConsumerGroupDescribeRequest([group_id])
        response = admin.ask_coordinator(GROUP, group_id, request, name="describeConsumerGroups")
        (row,) = response.groups
        code = error_of(row.error_code)
    except JavaError as error:
        if error.code != ErrorCode.UNSUPPORTED_VERSION:
            raise
        code = ErrorCode.UNSUPPORTED_VERSION
    if code in (ErrorCode.UNSUPPORTED_VERSION, ErrorCode.GROUP_ID_NOT_FOUND):
        return _classic(admin, group_id, node)
    if code:
        raise error_of_code(code, row.error_message)
    members = [_consumer(member) for member in row.members]
    return GroupDescription(
        group_id,
        "Consumer",
        row.group_state,
        row.assignor_name,
        node,
        members,
        row.group_epoch,
        row.assignment_epoch,
    )


def _consumer(row: Any) -> Member:
    is_known = row.member_type != _UNKNOWN_MEMBER
    return Member(
        row.member_id,
        row.instance_id,
        row.client_id,
        row.client_host,
        _partitions(row.assignment),
        row.member_epoch,
        _partitions(row.target_assignment),
        row.member_type != _CLASSIC_MEMBER if is_known else None,
    )


def _partitions(assignment: Any) -> list[TopicPartition]:
    return [(row.topic_name, index) for row in assignment.topic_partitions for index in row.partitions]


def _classic(admin: AdminClient, group_id: str, node: Node) -> GroupDescription:
    request = DescribeGroupsRequest([group_id])
    response = admin.ask_coordinator(GROUP, group_id, request, name="describeConsumerGroups")
    (row,) = response.groups
    if row.error_code:
        raise error_of_code(row.error_code, row.error_message)
    if row.protocol_type not in _PROTOCOL_TYPES:
        raise JavaError(
            "IllegalArgumentException",
            f"GroupId {group_id} is not a consumer group ({row.protocol_type}).",
            package="java.lang.",
        )
    members = [
        Member(
            each.member_id,
            each.group_instance_id,
            each.client_id,
            each.client_host,
            _assigned(each.member_assignment),
        )
        for each in row.members
    ]
    return GroupDescription(group_id, "Classic", row.group_state, row.protocol_data, node, members)


def _assigned(data: bytes) -> list[TopicPartition]:
    """Return the partitions of a classic member. Raises JavaError for bytes that are not an assignment."""
    try:
        return decode_assignment(data)
    except ProtocolViolation as error:
        raise unsupported(f"The assignment of a member cannot be read: {error}") from None
