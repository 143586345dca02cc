"""Members leave a share group, or are taken out of it when they say nothing for too long."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kcompat.group.kinds.share.records import RECORDS
from kcompat.group.kinds.share.roster import ShareRoster
from kcompat.group.modern.expiry import expire
from kcompat.group.modern.own_settings import settings_of
from kcompat.group.modern.subscribed import count_topics
from kcompat.group.presence import session_key

if TYPE_CHECKING:
    from kcompat.group.base import GroupTurn
    from kcompat.group.kinds.share.roster import ShareMember


def fence(turn: GroupTurn, group: ShareRoster, member: ShareMember) -> None:
    """Take a member out: the group needs another target assignment."""
    RECORDS.bury_member(turn, group.group_id, member.member_id)
    subscribers = Counter(group.subscribers)
    count_topics(subscribers, member.subscribed_topics, -1)
    metadata_hash = turn.shard.hashes.of(subscribers, turn.shard.image())
    RECORDS.write_epoch(turn, group.group_id, group.group_epoch + 1, metadata_hash)
    key = session_key(group.group_id, member.member_id)
    turn.once_appended(lambda turn: turn.shard.timers.cancel(key))


def keep_alive(turn: GroupTurn, group_id: str, member_id: str) -> None:
    """Begin the session of a member anew: it is out unless it heartbeats within its session timeout."""
    timeout_ms = settings_of(turn.shard, turn.shard.config.share, group_id).session_timeout_ms
    expire(turn, session_key(group_id, member_id), timeout_ms, ShareRoster, fence)
