"""The classic group protocol: coordinators, joins, syncs, heartbeats, departures, and what admins see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from differential.catalogue import scenario
from kcompat.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from differential.play import Play

FIND, JOIN, SYNC = ApiKey.FIND_COORDINATOR, ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP
HEARTBEAT, LEAVE = ApiKey.HEARTBEAT, ApiKey.LEAVE_GROUP
DESCRIBE, LIST, DELETE = ApiKey.DESCRIBE_GROUPS, ApiKey.LIST_GROUPS, ApiKey.DELETE_GROUPS

SUBSCRIPTION = b"\0\1\0\0\0\1\0\5topic\xff\xff\xff\xff\0\0\0\0"
ASSIGNMENT = b"\0\1\0\0\0\1\0\5topic\0\0\0\1\0\0\0\0\xff\xff\xff\xff"
SESSION_MS = 30_000
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
    """What DescribeGroups calls the group's state."""
    return str(play.do(DESCRIBE, 0, groups=[group]).groups[0].group_state)


@scenario(FIND)
def find_coordinator(play: Play, version: int) -> None:
    ready(play)
    play.call(FIND, version, key=play.name("g"), coordinator_keys=[play.name("g")])
    play.call(FIND, version, key="", coordinator_keys=[""])
    if version >= 1:
        for kind in (9, -1, 2):
            play.call(FIND, version, key="g", coordinator_keys=["g"], key_type=kind)
    if version >= 4:
        play.call(FIND, version, coordinator_keys=[play.name("g"), play.name("h"), play.name("g")])
        play.call(FIND, version, coordinator_keys=[])


@scenario(JOIN)
def one_member(play: Play, version: int) -> None:
    ready(play)
    group = play.name("g")
    joined = join(play, version, group)
    sync(play, min(version, 5), group, joined)
    play.call(HEARTBEAT, 1, group_id=group, generation_id=joined.generation_id, member_id=joined.member_id)
    again = play.call(JOIN, version, **joining(group, joined.member_id))
    sync(play, min(version, 5), group, again)
    play.call(JOIN, version, **joining(group, joined.member_id, names=("sticky",)))
    leaving = {"group_id": group, "member_id": joined.member_id}
    play.call(LEAVE, 1, **leaving)
    play.call(LEAVE, 1, **leaving)
    rejoined = play.call(JOIN, version, **joining(group, joined.member_id))
    play.note("known again", rejoined.error_code == 0)


@scenario(JOIN)
def joins_refused(play: Play, version: int) -> None:
    ready(play)
    group = play.name("g")
    play.call(JOIN, version, **joining(group, "nobody"))
    play.call(JOIN, version, **joining(""))
    for timeout in (0, 1, -1, 1_800_001):
        play.call(JOIN, version, **joining(group, session_timeout_ms=timeout))
    play.call(JOIN, version, **joining(group, names=()))
    play.call(JOIN, version, **joining(group, protocol_type=""))
    play.until(lambda: state(play, group) == "Empty", "the refused joins have left an empty group")
    play.call(DESCRIBE, 0, groups=[group])


@scenario(JOIN)
def joins_that_do_not_agree(play: Play, version: int) -> None:
    group = play.name("g")
    stable(play, group)
    play.call(JOIN, version, **joining(group, names=("sticky",)))
    play.call(JOIN, version, **joining(group, protocol_type="connect"))
    play.call(JOIN, version, **joining(group, names=()))
    play.call(JOIN, version, **joining(group, "nobody"))


@scenario(JOIN, since=4)
def join_with_an_id_that_was_given(play: Play, version: int) -> None:
    ready(play)
    group = play.name("g")
    first = play.call(JOIN, version, **joining(group))
    second = play.call(JOIN, version, **joining(group))
    play.until(lambda: state(play, group) == "Empty", "the members to be have made the group")
    play.call(DESCRIBE, 0, groups=[group])
    play.call(HEARTBEAT, 1, group_id=group, generation_id=-1, member_id=first.member_id)
    leaving = {"group_id": group, "member_id": second.member_id}
    play.call(LEAVE, 1, **leaving)
    joined = play.call(JOIN, version, **joining(group, first.member_id))
    sync(play, 5, group, joined)


@scenario(JOIN)
def two_members(play: Play, version: int) -> None:
    ready(play)
    group = play.name("g")
    first = join(play, version, group, names=("range", "roundrobin"), on="a")
    sync(play, 3, group, first, on="a")
    arriving = joining(group, names=("roundrobin", "range"))
    if version >= 4:
        arriving["member_id"] = play.call(JOIN, version, on="b", **arriving).member_id
    play.send(JOIN, version, on="b", **arriving)
    play.until(lambda: state(play, group) == "PreparingRebalance", "the group rebalances")
    play.call(
        HEARTBEAT, 1, on="a", group_id=group, generation_id=first.generation_id, member_id=first.member_id
    )
    names = ("range", "roundrobin")
    request = joining(group, first.member_id, names=names)
    again = play.call(
        JOIN, version, on="a", trim=lambda answer: first_first(first, answer.members), **request
    )
    second = play.receive(JOIN, version, on="b")
    request = {"group_id": group, "generation_id": second.generation_id, "member_id": second.member_id}
    play.send(SYNC, 3, on="b", **request)
    sync(play, 3, group, again, second, on="a")
    play.receive(SYNC, 3, on="b")
    play.until(lambda: state(play, group) == "Stable", "the group is stable")

    play.call(DESCRIBE, 5, groups=[group], trim=lambda answer: first_first(first, answer.groups[0].members))
    leaving = {"group_id": group, "member_id": first.member_id}
    play.call(LEAVE, 1, on="a", **leaving)
    play.call(
        HEARTBEAT, 1, on="b", group_id=group, generation_id=second.generation_id, member_id=second.member_id
    )


def first_first(first: Any, members: list[Any]) -> None:
    """Put the first of two members first: Kafka's order is that of a hash table."""
    members.sort(key=lambda member: member.member_id != first.member_id)


@scenario(JOIN, since=5)
def static_member(play: Play, version: int) -> None:
    ready(play)
    group = play.name("g")
    mine = {"group_instance_id": "static"}
    first = play.call(JOIN, version, **joining(group, **mine))
    sync(play, 5, group, first, **mine)
    successor = play.call(JOIN, version, **joining(group, **mine))
    play.call(JOIN, version, **joining(group, first.member_id, **mine))
    play.call(JOIN, version, **joining(group, "somebody", group_instance_id="other"))
    for member in (first.member_id, successor.member_id, "nobody"):
        beat = {"group_id": group, "generation_id": first.generation_id, "member_id": member}
        play.call(HEARTBEAT, 4, **beat, **mine)
        play.call(HEARTBEAT, 4, **beat, group_instance_id="unknown")
    sync(play, 5, group, successor, **mine)
    play.call(DESCRIBE, 5, groups=[group])
    play.call(LEAVE, 5, group_id=group, members=[{"member_id": "", "group_instance_id": "static"}])
    play.call(DESCRIBE, 5, groups=[group])


@scenario(JOIN, since=5)
def static_member_with_new_protocols(play: Play, version: int) -> None:
    ready(play)
    group = play.name("g")
    mine = {"group_instance_id": "static"}
    first = play.call(JOIN, version, **joining(group, **mine))
    sync(play, 5, group, first, **mine)
    second = play.call(JOIN, version, **joining(group, names=("roundrobin", "range"), **mine))
    play.note("the generation moved", second.generation_id - first.generation_id)


@scenario(JOIN, until=0)
def member_that_falls_silent(play: Play, version: int) -> None:
    ready(play)
    group = play.name("g")
    joined = play.call(JOIN, version, **joining(group, session_timeout_ms=1000))
    sync(play, 0, group, joined)
    play.until(lambda: state(play, group) == "Empty", "the group is empty")
    play.call(DESCRIBE, 0, groups=[group])
    play.call(HEARTBEAT, 0, group_id=group, generation_id=joined.generation_id, member_id=joined.member_id)


@scenario(JOIN, since=3, until=3)
def member_that_does_not_join_again(play: Play, version: int) -> None:
    ready(play)
    group = play.name("g")
    first = play.call(JOIN, version, on="a", **joining(group, rebalance_timeout_ms=1500))
    sync(play, 1, group, first, on="a")
    second = play.call(JOIN, version, on="b", **joining(group, rebalance_timeout_ms=1500))
    sync(play, 1, group, second, on="b")
    beat = {"group_id": group, "generation_id": first.generation_id, "member_id": first.member_id}
    play.call(HEARTBEAT, 1, on="a", **beat)
    play.call(DESCRIBE, 0, groups=[group])


@scenario(JOIN, since=3, until=3)
def leader_that_does_not_sync(play: Play, version: int) -> None:
    ready(play)
    group = play.name("g")
    joined = play.call(JOIN, version, on="a", **joining(group, rebalance_timeout_ms=300))
    play.until(lambda: state(play, group) == "Empty", "the member that did not sync is gone")
    beat = {"group_id": group, "generation_id": joined.generation_id, "member_id": joined.member_id}
    play.call(HEARTBEAT, 1, on="a", **beat)


@scenario(SYNC)
def syncs(play: Play, version: int) -> None:
    ready(play)
    group = play.name("g")
    names = {"protocol_type": "consumer", "protocol_name": "range"}
    play.call(SYNC, version, group_id=group, generation_id=1, member_id="nobody", **names)
    play.call(SYNC, version, group_id="", generation_id=1, member_id="nobody", **names)
    joined = play.do(JOIN, 3, on="member", **joining(group))
    mine = {"group_id": group, "generation_id": joined.generation_id, "member_id": joined.member_id}
    play.call(SYNC, version, **{**mine, "member_id": "nobody"}, **names)
    play.call(SYNC, version, **{**mine, "generation_id": 9}, **names)
    if version >= 5:
        play.call(SYNC, version, **mine, protocol_type="connect", protocol_name="range")
        play.call(SYNC, version, **mine, protocol_type="consumer", protocol_name="sticky")
    rows = [{"member_id": joined.member_id, "assignment": ASSIGNMENT}]
    play.call(SYNC, version, **mine, **names, assignments=rows)
    play.call(SYNC, version, **mine, **names)
    play.call(SYNC, version, **mine, assignments=rows)


@scenario(SYNC)
def sync_with_odd_assignments(play: Play, version: int) -> None:
    ready(play)
    group = play.name("g")
    joined = play.do(JOIN, 3, on="member", **joining(group))
    names = {"protocol_type": "consumer", "protocol_name": "range"}
    mine = {"group_id": group, "generation_id": joined.generation_id, "member_id": joined.member_id}
    play.call(SYNC, version, **mine, **names, assignments=[{"member_id": "nobody", "assignment": b"x"}])
    play.call(DESCRIBE, 0, groups=[group])


@scenario(HEARTBEAT)
def heartbeats(play: Play, version: int) -> None:
    ready(play)
    group = play.name("g")
    play.call(HEARTBEAT, version, group_id=group, generation_id=1, member_id="nobody")
    play.call(HEARTBEAT, version, group_id="", generation_id=1, member_id="nobody")
    joined = stable(play, group)
    for generation, member in (
        (joined.generation_id, joined.member_id),
        (joined.generation_id + 1, joined.member_id),
        (joined.generation_id - 1, joined.member_id),
        (-1, joined.member_id),
        (joined.generation_id, "nobody"),
        (joined.generation_id, ""),
    ):
        play.call(HEARTBEAT, version, group_id=group, generation_id=generation, member_id=member)
    mine = {"group_id": group, "generation_id": joined.generation_id, "member_id": joined.member_id}
    if version >= 3:
        play.call(HEARTBEAT, version, **mine, group_instance_id="unknown")
    play.do(LEAVE, 0, group_id=group, member_id=joined.member_id)
    play.call(HEARTBEAT, version, **mine)


@scenario(LEAVE)
def departures(play: Play, version: int) -> None:
    ready(play)
    group = play.name("g")

    def leave(member: str, *, name: str = group) -> None:
        play.call(LEAVE, version, group_id=name, member_id=member, members=[{"member_id": member}])

    leave("nobody")
    leave("nobody", name="")
    joined = stable(play, group)
    leave("nobody")
    leave("")
    leave(joined.member_id)
    leave(joined.member_id)
    play.call(DESCRIBE, 0, groups=[group])


@scenario(LEAVE, since=3)
def departures_of_many(play: Play, version: int) -> None:
    group = play.name("g")
    joined = stable(play, group, group_instance_id="static")
    for rows in (
        [],
        [{"member_id": "", "group_instance_id": "unknown"}],
        [{"member_id": "nobody", "group_instance_id": "static"}],
        [{"member_id": "nobody"}, {"member_id": joined.member_id, "group_instance_id": "static"}],
        [{"member_id": "", "group_instance_id": "static"}],
    ):
        play.call(LEAVE, version, group_id=group, members=[{**row, "reason": "because"} for row in rows])


@scenario(DESCRIBE)
def describe_groups(play: Play, version: int) -> None:
    ready(play)
    group = play.name("g")
    play.call(DESCRIBE, version, groups=[group])
    play.call(DESCRIBE, version, groups=[""])
    play.call(DESCRIBE, version, groups=[])
    joined = stable(play, group)
    play.call(DESCRIBE, version, groups=[group])
    play.call(DESCRIBE, version, groups=[group, play.name("never"), group])
    play.call(DESCRIBE, version, groups=[group], include_authorized_operations=True)
    play.do(LEAVE, 0, group_id=group, member_id=joined.member_id)
    play.until(lambda: state(play, group) == "Empty", "the group is empty")
    play.call(DESCRIBE, version, groups=[group])


@scenario(LIST)
def list_groups(play: Play, version: int) -> None:
    stable(play, play.name("consumers"))
    stable(play, play.name("others"), protocol_type="connect")
    topic = play.topic()
    rows = [{"name": topic, "partitions": [{"partition_index": 0, "committed_offset": 1}]}]
    play.do(ApiKey.OFFSET_COMMIT, 3, group_id=play.name("offsets"), topics=rows)

    def own(answer: Any) -> None:
        answer.groups = [group for group in answer.groups if group.group_id.startswith(play.prefix)]

    play.call(LIST, version, trim=own)
    if version >= 4:
        for states in (["Stable"], ["Empty"], ["stable", "EMPTY"], ["Dead"], ["nonsense"], [""]):
            play.call(LIST, version, trim=own, states_filter=states)
    if version >= 5:
        for types in (["classic"], ["consumer"], ["Classic"], ["nonsense"], ["share"]):
            play.call(LIST, version, trim=own, types_filter=types)
        play.call(LIST, version, trim=own, states_filter=["Stable"], types_filter=["classic"])


@scenario(DELETE)
def delete_groups(play: Play, version: int) -> None:
    full, empty, offsets = play.name("full"), play.name("empty"), play.name("offsets")
    stable(play, full)
    joined = stable(play, empty)
    play.do(LEAVE, 0, group_id=empty, member_id=joined.member_id)
    topic = play.topic()
    rows = [{"name": topic, "partitions": [{"partition_index": 0, "committed_offset": 1}]}]
    play.do(ApiKey.OFFSET_COMMIT, 3, group_id=offsets, topics=rows)
    for names in ([full], [empty, play.name("never")], [empty], [offsets], [offsets, full], [""], []):
        play.call(DELETE, version, groups_names=names)
    play.call(DESCRIBE, 0, groups=[empty])


@scenario(DELETE)
def delete_a_group_named_twice(play: Play, version: int) -> None:
    group = play.name("g")
    joined = stable(play, group)
    play.do(LEAVE, 0, group_id=group, member_id=joined.member_id)
    play.call(DELETE, version, groups_names=[group, group])
