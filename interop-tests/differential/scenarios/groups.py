"""The classic group protocol without joins: coordinators, syncs, heartbeats, departures, what admins see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from differential.catalogue import scenario
from differential.members import (
    ASSIGNMENT,
    DELETE,
    DESCRIBE,
    FIND,
    HEARTBEAT,
    JOIN,
    LEAVE,
    LIST,
    SYNC,
    joining,
    ready,
    stable,
    state,
)
from kcompat.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from differential.play import Play

FIRST_WITH_SHARE = 6


@scenario(FIND)
def find_coordinator(play: Play, version: int) -> None:
    ready(play)
    play.call(FIND, version, key=play.name("g"), coordinator_keys=[play.name("g")])
    play.call(FIND, version, key="", coordinator_keys=[""])
    if version >= 1:
        share_is_unknown = (
            version < FIRST_WITH_SHARE
        )  # later ones are played beside a Kafka with share groups
        for kind in (9, -1, 2) if share_is_unknown else (9, -1):
            play.call(FIND, version, key="g", coordinator_keys=["g"], key_type=kind)
    if version >= 4:
        play.call(FIND, version, coordinator_keys=[play.name("g"), play.name("h"), play.name("g")])
        play.call(FIND, version, coordinator_keys=[])


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
        answer.groups = [group for group in answer.groups if play.is_own(group.group_id)]

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
