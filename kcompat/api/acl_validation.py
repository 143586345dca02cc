"""The check of ACLs and ACL filters that CreateAcls, DescribeAcls and DeleteAcls have in common."""

from __future__ import annotations

from kcompat.protocol.schema import ProtocolViolation

UNKNOWN = 0
"""Code for a resource type, pattern type, operation or permission that the client does not know."""


def refuse_unknown_elements(*codes: int) -> None:
    """Raise ProtocolViolation if one of these elements of an ACL or filter is `UNKNOWN`.

    Kafka checks the elements while it parses the request (`CreateAclsRequest.validate` and its siblings), and
    so closes the connection. Other codes pass, also those that no release of Kafka defines.
    """
    if UNKNOWN in codes:
        raise ProtocolViolation("an ACL or its filter has an element of type UNKNOWN")
