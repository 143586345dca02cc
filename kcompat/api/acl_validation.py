"""The check of ACLs and ACL filters that CreateAcls, DescribeAcls and DeleteAcls have in common."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final, TypeVar

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.schema import ProtocolViolation
from kcompat.security.acls import AclFilter, PatternType, PermissionType
from kcompat.security.operations import Operation, ResourceType

if TYPE_CHECKING:
    from kcompat.protocol.messages.delete_acls import DeleteAclsRequest
    from kcompat.protocol.messages.describe_acls import DescribeAclsRequest

UNKNOWN: Final = 0
"""Code for a resource type, pattern type, operation or permission that the client does not know."""

Member = TypeVar("Member", bound=IntEnum)


def refuse_unknown_elements(*codes: int) -> None:
    """Raise ProtocolViolation if one of these elements of an ACL or filter is `UNKNOWN`.

    Kafka checks the elements while it parses the request (`CreateAclsRequest.validate` and its siblings), and
    so closes the connection. Other codes pass, also those that no release of Kafka defines.
    """
    if UNKNOWN in codes:
        raise ProtocolViolation("an ACL or its filter has an element of type UNKNOWN")


def member(kind: type[Member], code: int) -> Member:
    """Return the member with a code; UNKNOWN for a code that Kafka does not define."""
    try:
        return kind(code)
    except ValueError:
        return kind(UNKNOWN)


def filter_of(asked: DescribeAclsRequest | DeleteAclsRequest.DeleteAclsFilter) -> AclFilter:
    """Return the filter in a request. Raises ProtocolViolation if an element has the code `UNKNOWN`."""
    refuse_unknown_elements(
        asked.resource_type_filter, asked.pattern_type_filter, asked.operation, asked.permission_type
    )
    return AclFilter(
        member(ResourceType, asked.resource_type_filter),
        asked.resource_name_filter,
        member(PatternType, asked.pattern_type_filter),
        asked.principal_filter,
        asked.host_filter,
        member(Operation, asked.operation),
        member(PermissionType, asked.permission_type),
    )


def refusal_of_filter(wanted: AclFilter) -> tuple[ErrorCode, str] | None:
    """Return the error for a filter with an element that Kafka does not define, or None."""
    if UNKNOWN in (wanted.type, wanted.kind):
        return ErrorCode.INVALID_REQUEST, "Unknown patternFilter."
    if UNKNOWN in (wanted.operation, wanted.permission):
        return ErrorCode.INVALID_REQUEST, "Unknown entryFilter."
    return None
