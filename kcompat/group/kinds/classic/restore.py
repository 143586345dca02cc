"""A classic group as the log's last record of it says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.kinds.classic.member import ClassicMember
from kcompat.group.kinds.classic.state import ClassicState

if TYPE_CHECKING:
    from kcompat.group.kinds.classic.roster import Roster
    from kcompat.protocol.messages.group_records import GroupMetadataValue


def restore(group: Roster, value: GroupMetadataValue) -> None:
    """Fill a group that has just been loaded: with members it is stable, without it is empty.

    Of a member's protocols the record has only the chosen one. A member that supports more looks changed when
    it joins again, and so causes a rebalance.
    """
    assert not group.members
    group.generation = value.generation
    group.state_timestamp = value.current_state_timestamp
    group.protocol_name = value.protocol
    for stored in value.members:
        rebalance_timeout = stored.rebalance_timeout
        group.add(
            ClassicMember(
                stored.member_id,
                stored.group_instance_id,
                stored.client_id,
                stored.client_host,
                # Version 0 of the record has no rebalance timeout: the session timeout served as both.
                rebalance_timeout if rebalance_timeout >= 0 else stored.session_timeout,
                stored.session_timeout,
                value.protocol_type,
                ((value.protocol or "", stored.subscription),),
                stored.assignment,
            )
        )
    group.protocol_type = value.protocol_type or None
    group.leader = value.leader if value.leader in group.members else group.leader
    group.state = ClassicState.STABLE if group.members else ClassicState.EMPTY
    group.subscribed = group.compute_subscribed()
