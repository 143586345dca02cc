"""Streams groups among others: their offsets, what is told of them, and their end (KIP-1071)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from differential.catalogue import scenario
from differential.members import join, ready
from differential.scenarios.consumer_groups import joining as joining_consumers
from differential.scenarios.consumer_groups import known_topic
from differential.scenarios.streams_groups import (
    BEAT,
    DESCRIBE,
    LEAVE,
    describe,
    going_on,
    joining,
    owning,
    subtopology,
)
from kcompat.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from differential.play import Play


@scenario(DESCRIBE)
def describe_streams_groups(play: Play, version: int) -> None:
    ready(play)
    group, topic = play.name("g"), known_topic(play, partitions=2)
    describe(play, version, group, "")
    describe(play, version)
    play.do(BEAT, 0, **joining(group, "m", subtopology("0", topic)))
    describe(play, version, group, play.name("never"), include_authorized_operations=True)
    play.call(ApiKey.DESCRIBE_GROUPS, 6, groups=[group])
    play.call(ApiKey.CONSUMER_GROUP_DESCRIBE, 1, group_ids=[group])
    play.call(ApiKey.SHARE_GROUP_DESCRIBE, 1, group_ids=[group])
    play.call(ApiKey.DELETE_GROUPS, 2, groups_names=[group])
    play.do(BEAT, 0, **going_on(group, "m", LEAVE))
    describe(play, version, group)
    play.call(ApiKey.DELETE_GROUPS, 2, groups_names=[group])
    describe(play, version, group)


@scenario(DESCRIBE)
def list_streams_groups(play: Play, _version: int) -> None:
    ready(play)
    group, topic = play.name("g"), known_topic(play)
    play.do(BEAT, 0, **joining(group, "m", subtopology("0", topic)))

    def only_mine(answer: Any) -> None:
        answer.groups = [row for row in answer.groups if row.group_id == group]

    for states, types in (
        ([], []),
        ([], ["streams"]),
        ([], ["Streams"]),
        ([], ["consumer"]),
        (["stable"], ["streams"]),
        (["Empty"], []),
    ):
        play.call(ApiKey.LIST_GROUPS, 5, states_filter=states, types_filter=types, trim=only_mine)
    play.do(BEAT, 0, **going_on(group, "m", LEAVE))
    play.call(ApiKey.LIST_GROUPS, 5, states_filter=["Empty"], types_filter=["streams"], trim=only_mine)


@scenario(BEAT)
def offsets_of_streams_groups(play: Play, version: int) -> None:
    ready(play)
    group, topic = play.name("g"), known_topic(play, partitions=2)
    whole = subtopology("0", topic)
    first = play.do(BEAT, version, **joining(group, "a", whole)).member_epoch

    def commit(member: str, epoch: int, *names: str, on_version: int = 9) -> None:
        rows = [{"partition_index": index, "committed_offset": 1} for index in (0, 1)]
        topics = [{"name": name, "partitions": rows} for name in names or (topic,)]
        who = {"group_id": group, "member_id": member, "generation_id_or_member_epoch": epoch}
        play.call(ApiKey.OFFSET_COMMIT, on_version, **who, topics=topics)

    def fetch(member: str | None, epoch: int) -> None:
        topics = [{"name": topic, "partition_indexes": [0, 1]}]
        asked = {"group_id": group, "member_id": member, "member_epoch": epoch, "topics": topics}
        play.call(ApiKey.OFFSET_FETCH, 9, groups=[asked])

    def forget(*names: str) -> None:
        rows = [{"name": name, "partitions": [{"partition_index": 0}]} for name in names]
        play.call(ApiKey.OFFSET_DELETE, 0, group_id=group, topics=rows)

    commit("a", first)
    commit("a", first, on_version=8)
    commit("a", first + 1)
    commit("a", first - 1)
    commit("stranger", first)
    commit("", -1)
    for member, epoch in (("a", first), ("a", first - 1), ("a", first + 1), ("stranger", first), (None, -1)):
        fetch(member, epoch)
    forget(topic, "another")
    play.do(BEAT, version, **joining(group, "b", whole))
    second = play.do(BEAT, version, **going_on(group, "a", first, **owning(a0=[0, 1]))).member_epoch
    second = play.do(BEAT, version, **going_on(group, "a", second, **owning(a0=[0]))).member_epoch
    rows = [{"partition_index": 0, "committed_offset": 2}]
    who = {"group_id": group, "member_id": "a", "generation_id_or_member_epoch": first}
    play.call(ApiKey.OFFSET_COMMIT, 9, **who, topics=[{"name": topic, "partitions": rows}])
    commit("a", first)
    commit("a", first, "another")
    commit("a", second)
    play.do(BEAT, version, **going_on(group, "a", LEAVE))
    play.do(BEAT, version, **going_on(group, "b", LEAVE))
    commit("", -1)
    fetch(None, -1)
    forget(topic)
    fetch(None, -1)


@scenario(BEAT)
def streams_groups_beside_others(play: Play, version: int) -> None:
    """An id is that of one group of one kind; classic groups and streams groups without members give way."""
    ready(play)
    topic = known_topic(play)
    whole, classic = subtopology("0", topic), {"names": ("range",)}
    other = play.name("consumers")
    play.do(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, **joining_consumers(other, subscribed_topic_names=[topic]))
    play.call(BEAT, version, **joining(other, "m", whole))
    play.call(BEAT, version, **going_on(other, "m", 2))
    describe(play, 0, other)
    group = play.name("g")
    play.do(BEAT, version, **joining(group, "m", whole))
    for _ in range(2):
        play.call(
            ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, **joining_consumers(group, subscribed_topic_names=[topic])
        )
        play.call(ApiKey.SYNC_GROUP, 3, group_id=group, member_id="m", generation_id=1, assignments=[])
        play.call(ApiKey.HEARTBEAT, 3, group_id=group, member_id="m", generation_id=1)
        play.call(ApiKey.LEAVE_GROUP, 2, group_id=group, member_id="m")
        joined = join(play, 3, group, **classic)
        play.do(BEAT, 0, **going_on(group, "m", LEAVE))
    play.call(BEAT, version, **joining(group, "m", whole))
    play.call(ApiKey.LEAVE_GROUP, 2, group_id=group, member_id=joined.member_id)
    play.call(BEAT, version, **joining(group, "m", whole))
    describe(play, 0, group)
