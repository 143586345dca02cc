"""Share groups of KIP-932: heartbeats, and what admins see and change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from differential.catalogue import scenario
from differential.members import ready
from differential.scenarios.consumer_groups import joining as joining_consumers
from differential.scenarios.consumer_groups import known_topic
from kcompat.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from differential.play import Play

BEAT, DESCRIBE = ApiKey.SHARE_GROUP_HEARTBEAT, ApiKey.SHARE_GROUP_DESCRIBE
OFFSETS, ALTER, FORGET = (
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS,
)
LEAVE = -1


def joining(group: str, member: str = "m", *topics: str, **fields: Any) -> dict[str, Any]:
    """The fields of a first heartbeat."""
    return {
        "group_id": group,
        "member_id": member,
        "member_epoch": 0,
        "subscribed_topic_names": list(topics),
        **fields,
    }


def going_on(group: str, member: str, epoch: int, **fields: Any) -> dict[str, Any]:
    """The fields of a heartbeat without news."""
    return {"group_id": group, "member_id": member, "member_epoch": epoch, **fields}


def settled(play: Play, group: str, member: str, *topics: str) -> int:
    """A member that has joined and been given something; its epoch."""
    joined = play.do(BEAT, 1, **joining(group, member, *topics))
    if joined.assignment.topic_partitions:
        return int(joined.member_epoch)
    return until_given(play, group, member, joined.member_epoch)


def until_given(play: Play, group: str, member: str, epoch: int) -> int:
    """Heartbeat until the member is given something; its epoch."""
    epochs = [epoch]

    def is_given() -> bool:
        answer = play.do(BEAT, 1, **going_on(group, member, epochs[-1]))
        assert answer.error_code == 0, answer
        epochs.append(answer.member_epoch)
        return bool(answer.assignment and answer.assignment.topic_partitions)

    play.until(is_given, "the member has something")
    return epochs[-1]


def in_order(answer: Any) -> None:
    """Kafka's members and their topics come in the order of its hash tables."""
    for group in answer.groups:
        group.members.sort(key=lambda member: member.member_id)
        for member in group.members:
            member.subscribed_topic_names.sort()


def stands(play: Play, group: str, version: int = 1, **topics: list[int]) -> None:
    """Where a group is seen to stand."""
    rows = [{"topic_name": name, "partitions": indexes} for name, indexes in topics.items()]
    play.call(OFFSETS, version, groups=[{"group_id": group, "topics": rows or None}])


def altering(group: str, topic: str, **fields: Any) -> dict[str, Any]:
    """The fields of an alteration; `p0` is partition 0."""
    rows = [{"partition_index": int(name[1:]), "start_offset": to} for name, to in fields.items()]
    return {"group_id": group, "topics": [{"topic_name": topic, "partitions": rows}]}


# --- members


@scenario(BEAT)
def share_group_of_one(play: Play, version: int) -> None:
    ready(play)
    group, topic = play.name("g"), known_topic(play, partitions=3)
    joined = play.call(BEAT, version, **joining(group, "m", topic))
    epoch = until_given(play, group, "m", joined.member_epoch)
    play.call(BEAT, version, **going_on(group, "m", epoch))
    play.call(BEAT, version, **going_on(group, "m", joined.member_epoch))
    play.call(BEAT, version, **going_on(group, "m", epoch, subscribed_topic_names=[topic]))
    play.call(BEAT, version, **going_on(group, "m", 9))
    play.call(BEAT, version, **going_on(group, "m", 1))
    play.call(BEAT, version, **going_on(group, "stranger", 1))
    play.call(BEAT, version, **joining(group, "m", topic, rack_id="r"))
    play.call(DESCRIBE, version, group_ids=[group], trim=in_order)
    play.call(BEAT, version, **going_on(group, "stranger", LEAVE))
    play.call(BEAT, version, **going_on(group, "m", LEAVE))
    play.call(BEAT, version, **going_on(group, "m", LEAVE))
    play.call(BEAT, version, **going_on(group, "m", epoch))
    play.call(DESCRIBE, version, group_ids=[group], trim=in_order)
    play.call(BEAT, version, **joining(group, "m", topic))


@scenario(BEAT)
def share_group_of_two(play: Play, version: int) -> None:
    ready(play)
    group, topic = play.name("g"), known_topic(play)
    first = settled(play, group, "a", topic)
    second = play.call(BEAT, version, **joining(group, "b", topic)).member_epoch
    first = play.call(BEAT, version, **going_on(group, "a", first)).member_epoch
    play.call(DESCRIBE, version, group_ids=[group], trim=in_order)
    play.call(BEAT, version, **going_on(group, "a", LEAVE))
    play.call(BEAT, version, **going_on(group, "b", second))
    play.call(DESCRIBE, version, group_ids=[group], trim=in_order)


@scenario(BEAT)
def share_group_with_other_wishes(play: Play, version: int) -> None:
    ready(play)
    group, one, two = play.name("g"), known_topic(play, "one"), known_topic(play, "two", partitions=2)
    epoch = settled(play, group, "m", one)
    wish = {"subscribed_topic_names": [one, two, "absent"]}
    epoch = play.call(BEAT, version, **going_on(group, "m", epoch, **wish)).member_epoch
    epoch = until_given(play, group, "m", epoch)
    play.call(DESCRIBE, version, group_ids=[group], trim=in_order)
    play.call(BEAT, version, **going_on(group, "m", epoch, subscribed_topic_names=[two]))
    play.call(BEAT, version, **joining(group, "m", "absent"))
    stands(play, group)


@scenario(BEAT)
def share_heartbeats_that_are_refused(play: Play, version: int) -> None:
    ready(play)
    group = play.name("g")
    for fields in (
        {"group_id": ""},
        {"member_id": ""},
        {"member_id": " "},
        {"member_id": "m" * 37},
        {"rack_id": ""},
        {"subscribed_topic_names": []},
        {"subscribed_topic_names": None},
        {"member_epoch": -2},
        {"member_epoch": 5},
        {"member_epoch": -1},
    ):
        play.call(BEAT, version, **{**joining(group, "m", "topic"), **fields})


@scenario(DESCRIBE)
def describe_share_groups(play: Play, version: int) -> None:
    ready(play)
    group, topic = play.name("g"), known_topic(play, partitions=2)
    play.call(DESCRIBE, version, group_ids=[group], trim=in_order)
    play.call(DESCRIBE, version, group_ids=[])
    play.call(DESCRIBE, version, group_ids=["", group], trim=in_order)
    settled(play, group, "m", topic)
    play.call(DESCRIBE, version, group_ids=[group, play.name("never")], include_authorized_operations=True)
    play.call(ApiKey.DESCRIBE_GROUPS, 6, groups=[group])
    play.call(ApiKey.CONSUMER_GROUP_DESCRIBE, 1, group_ids=[group])
    play.call(ApiKey.DELETE_GROUPS, 2, groups_names=[group])
    play.do(BEAT, 1, **going_on(group, "m", LEAVE))
    play.call(DESCRIBE, version, group_ids=[group], trim=in_order)
    play.call(ApiKey.DELETE_GROUPS, 2, groups_names=[group])
    play.call(DESCRIBE, version, group_ids=[group], trim=in_order)
    stands(play, group)


@scenario(BEAT)
def share_groups_beside_others(play: Play, version: int) -> None:
    """An id is that of one group of one kind."""
    ready(play)
    group, other, topic = play.name("g"), play.name("other"), known_topic(play)
    play.do(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, **joining_consumers(other, subscribed_topic_names=[topic]))
    play.call(BEAT, version, **joining(other, "m", topic))
    play.call(BEAT, version, **going_on(other, "m", 2))
    play.call(DESCRIBE, version, group_ids=[other])
    settled(play, group, "m", topic)
    for _ in range(2):
        play.call(
            ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, **joining_consumers(group, subscribed_topic_names=[topic])
        )
        rows = [{"partition_index": 0, "committed_offset": 1}]
        who = {"group_id": group, "member_id": "", "generation_id_or_member_epoch": -1}
        commit = {"topics": [{"name": topic, "partitions": rows}]}
        play.call(ApiKey.OFFSET_COMMIT, 9, **who, **commit)
        asked = {"group_id": group, "topics": [{"name": topic, "partition_indexes": [0]}]}
        play.call(ApiKey.OFFSET_FETCH, 9, groups=[asked])
        play.call(
            ApiKey.OFFSET_DELETE,
            0,
            group_id=group,
            topics=[{"name": topic, "partitions": [{"partition_index": 0}]}],
        )
        protocols = [{"name": "range", "metadata": b""}]
        times = {"session_timeout_ms": 10_000, "rebalance_timeout_ms": 10_000}
        play.call(
            ApiKey.JOIN_GROUP, 3, group_id=group, protocol_type="consumer", protocols=protocols, **times
        )
        play.do(BEAT, 1, **going_on(group, "m", LEAVE))


@scenario(DESCRIBE)
def list_share_groups(play: Play, _version: int) -> None:
    ready(play)
    group, topic = play.name("g"), known_topic(play)
    settled(play, group, "m", topic)

    def only_mine(answer: Any) -> None:
        answer.groups = [row for row in answer.groups if row.group_id == group]

    for states, types in (
        ([], []),
        ([], ["share"]),
        ([], ["Share"]),
        (["stable"], ["share"]),
        (["Empty"], []),
    ):
        play.call(ApiKey.LIST_GROUPS, 5, states_filter=states, types_filter=types, trim=only_mine)
    play.do(BEAT, 1, **going_on(group, "m", LEAVE))
    play.call(ApiKey.LIST_GROUPS, 5, states_filter=["Empty"], types_filter=["share"], trim=only_mine)


# --- offsets


@scenario(OFFSETS)
def offsets_of_share_groups(play: Play, version: int) -> None:
    ready(play)
    group, topic = play.name("g"), known_topic(play, partitions=2)
    play.append(topic, b"a", b"b", b"c")
    stands(play, group, version)
    stands(play, group, version, **{topic: [0, 1], "absent": [0]})
    play.call(OFFSETS, version, groups=[{"group_id": group, "topics": []}])
    play.call(OFFSETS, version, groups=[])
    settled(play, group, "m", topic)
    stands(play, group, version)
    play.do(BEAT, 1, **going_on(group, "m", LEAVE))
    play.call(ALTER, 0, **altering(group, topic, p0=1))
    stands(play, group, version)
    stands(play, group, version, **{topic: [0, 1], "absent": [0]})


@scenario(OFFSETS)
def offsets_of_the_empty_group_id(play: Play, version: int) -> None:
    ready(play)
    rows = [{"topic_name": known_topic(play), "partitions": [0]}]
    for topics in (None, [], rows):
        play.call(OFFSETS, version, groups=[{"group_id": "", "topics": topics}])


@scenario(ALTER)
def alter_offsets_of_share_groups(play: Play, version: int) -> None:
    ready(play)
    group, topic = play.name("g"), known_topic(play, partitions=2)
    play.append(topic, b"a", b"b", b"c")
    play.call(ALTER, version, **altering(group, topic, p0=2, p1=0, p2=1))
    stands(play, group)
    play.call(DESCRIBE, 1, group_ids=[group], trim=in_order)
    play.call(ALTER, version, **altering(group, "absent", p0=0))
    play.call(ALTER, version, **altering("", topic, p0=0))
    play.call(ALTER, version, group_id=group, topics=[])
    settled(play, group, "m", topic)
    play.call(ALTER, version, **altering(group, topic, p0=0))
    stands(play, group)
    play.do(BEAT, 1, **going_on(group, "m", LEAVE))
    play.call(ALTER, version, **altering(group, topic, p1=0))
    stands(play, group)
    other = play.name("other")
    play.do(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, **joining_consumers(other, subscribed_topic_names=[topic]))
    play.call(ALTER, version, **altering(other, topic, p0=0))


@scenario(FORGET)
def delete_offsets_of_share_groups(play: Play, version: int) -> None:
    ready(play)
    group, one, two = play.name("g"), known_topic(play, "one"), known_topic(play, "two", partitions=2)
    for group_id in ("", group):
        play.call(FORGET, version, group_id=group_id, topics=[{"topic_name": one}])
    settled(play, group, "m", one, two)
    play.call(FORGET, version, group_id=group, topics=[{"topic_name": one}])
    play.do(BEAT, 1, **going_on(group, "m", LEAVE))
    play.call(FORGET, version, group_id=group, topics=[{"topic_name": one}, {"topic_name": "absent"}])
    stands(play, group)
    play.call(FORGET, version, group_id=group, topics=[{"topic_name": one}])
    play.call(FORGET, version, group_id=group, topics=[])
    play.call(FORGET, version, group_id=group, topics=[{"topic_name": two}])
    stands(play, group)
