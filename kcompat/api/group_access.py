"""What the descriptions of groups of today have in common: who may see them, and the topics in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext

HIDDEN_TOPICS = "The group has described topic(s) that the client is not authorized to describe."


def may_describe_group(context: RequestContext, group_id: str) -> bool:
    """Whether the client may describe the group."""
    return context.may(Operation.DESCRIBE, Resource.group(group_id))
