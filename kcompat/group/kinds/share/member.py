"""A member of a share group, as the log says (Kafka's `ShareGroupMember`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.group.modern.assignment import NO_PARTITIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

STABLE = 0
"""The state of a member in its record; with share groups there is no other."""


class ShareMember(Struct, frozen=True):
    """A member. It has its target as soon as it hears of it: others need not give anything up first."""

    member_id: str
    member_epoch: int = 0
    previous_member_epoch: int = -1
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    subscribed_topics: frozenset[str] = frozenset()
    assigned: Mapping[bytes, frozenset[int]] = NO_PARTITIONS
