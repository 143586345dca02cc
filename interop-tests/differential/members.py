"""Parts of scenarios of the classic group protocol: members that join, sync and are stable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kcompat.protocol.api_keys import ApiKey
from support.consumer_texts import subscription

if TYPE_CHECKING:
    from differential.play import Play


FIND, JOIN, SYNC = ApiKey.FIND_COORDINATOR, ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP
HEARTBEAT, LEAVE = ApiKey.HEARTBEAT, ApiKey.LEAVE_GROUP
DESCRIBE, LIST, DELETE = ApiKey.DESCRIBE_GROUPS, ApiKey.LIST_GROUPS, ApiKey.DELETE_GROUPS

SUBSCRIPTION = b"\0\1\0\0\0\1\0\5topic\xff\xff\xff\xff\0\0\0\0"
ASSIGNMENT = b"\0\1\0\0\0\1\0\5topic\0\0\0\1\0\0\0\0\xff\xff\xff\xff"
SESSION_MS = 30_000
LONG_SESSION_MS = 300_000
"""Longer than any test takes."""
MEMBER_ID_REQUIRED = 79


def ready(play: Play) -> None:
    """Wait until groups can be served, which on a fresh Kafka takes a while."""
    play.until(
        lambda: (
            not play.do(FIND, 0, key=play.name("g")).error_code
            and not play.do(DESCRIBE, 0, groups=[play.name("g")]).groups[0].error_code
        ),
        "groups are served",
    )


def joining(group: str, member: str = "", **fields: Any) -> dict[str, Any]:
    """The fields of a join."""
    names = fields.pop("names", ("range", "roundrobin"))
    return {
        "group_id": group,
        "session_timeout_ms": SESSION_MS,
        "rebalance_timeout_ms": SESSION_MS,
        "member_id": member,
        "protocol_type": "consumer",
        "protocols": [{"name": name, "metadata": SUBSCRIPTION} for name in names],
        **fields,
    }


def join(play: Play, version: int, group: str, member: str = "", *, on: str = "main", **fields: Any) -> Any:
    """Join, and where the broker hands out an id first, join again with it."""
    answer = play.call(JOIN, version, on=on, **joining(group, member, **fields))
    if answer.error_code == MEMBER_ID_REQUIRED:
        answer = play.call(JOIN, version, on=on, **joining(group, answer.member_id, **fields))
    return answer


def join_for_long(play: Play, group: str, topic: str, member: str = "", **fields: Any) -> Any:
    """Join without recording, to consume this topic in a session that outlasts the test; the answer."""
    fields["session_timeout_ms"] = fields["rebalance_timeout_ms"] = LONG_SESSION_MS
    fields["protocols"] = [{"name": "range", "metadata": subscription([topic])}]
    answer = play.do(JOIN, 9, **joining(group, member, **fields))
    assert not answer.error_code, answer
    return answer


def sync(
    play: Play, version: int, group: str, joined: Any, *others: Any, on: str = "main", **fields: Any
) -> Any:
    """Sync, as the leader with an assignment for everyone given."""
    members = [joined, *others] if joined.leader == joined.member_id else []
    rows = [{"member_id": each.member_id, "assignment": ASSIGNMENT} for each in members]
    request = {
        "group_id": group,
        "generation_id": joined.generation_id,
        "member_id": joined.member_id,
        "protocol_type": "consumer",
        "protocol_name": joined.protocol_name,
        "assignments": rows,
        **fields,
    }
    return play.call(SYNC, version, on=on, **request)


def stable(play: Play, group: str, **fields: Any) -> Any:
    """A group with one member that has its assignment, made without recording; the member's join."""
    ready(play)
    request = joining(group, **fields)
    version = 5 if "group_instance_id" in fields else 3
    joined = play.do(JOIN, version, on="member", **request)
    assert joined.error_code == 0, joined
    rows = [{"member_id": joined.member_id, "assignment": ASSIGNMENT}]
    identity = {"group_id": group, "generation_id": joined.generation_id, "member_id": joined.member_id}
    instance = {"group_instance_id": fields.get("group_instance_id")}
    synced = play.do(SYNC, 3, on="member", assignments=rows, **identity, **instance)
    assert synced.error_code == 0, synced
    play.until(lambda: state(play, group) == "Stable", f"{group} is stable")
    return joined


def state(play: Play, group: str) -> str:
    """Return the group's state in DescribeGroups."""
    return str(play.do(DESCRIBE, 0, groups=[group]).groups[0].group_state)
