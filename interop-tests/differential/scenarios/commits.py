"""OffsetCommit, OffsetFetch and OffsetDelete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from differential.catalogue import scenario
from differential.members import joining, ready, stable
from kcompat.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from differential.play import Play

COMMIT, COMMITTED, FORGET = ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_FETCH, ApiKey.OFFSET_DELETE


def committing(
    topic: str, offset: int = 5, partition: int = 0, metadata: str | None = "note", **fields: Any
) -> Any:
    """The topics of a commit."""
    row = {"partition_index": partition, "committed_offset": offset, "committed_metadata": metadata, **fields}
    return [{"name": topic, "partitions": [row]}]


def fetching(group: str, topics: Any, **fields: Any) -> dict[str, Any]:
    """An OffsetFetch of one group in both forms; `topics` maps names to partitions, None is all."""
    rows = topics and [{"name": name, "partition_indexes": indexes} for name, indexes in topics.items()]
    rows = [] if topics == {} else rows
    return {"group_id": group, "topics": rows, "groups": [{"group_id": group, "topics": rows}], **fields}


@scenario(COMMIT)
def commits_without_a_group(play: Play, version: int) -> None:
    ready(play)
    nameless = fetching("", {})
    play.until(lambda: not play.do(COMMITTED, 5, **nameless).error_code, "the group '' is served too")
    topic, group = play.topic(), play.name("g")
    for fields in (
        {}, {"offset": 6, "metadata": None}, {"offset": -1}, {"offset": -5}, {"offset": 2**62},
        {"metadata": ""},
        {"metadata": "x" * 4096}, {"metadata": "x" * 4097}, {"partition": 9}, {"partition": -1},
        {"committed_leader_epoch": 3}, {"committed_leader_epoch": -5},
    ):  # fmt: skip
        play.call(COMMIT, version, group_id=group, topics=committing(topic, **fields))
        play.call(COMMITTED, 5, **fetching(group, {topic: [0, 9]}))
    for name in (play.name("never"), "no good", ""):
        play.call(COMMIT, version, group_id=group, topics=committing(name))
    play.call(COMMIT, version, group_id="", topics=committing(topic))
    play.call(COMMIT, version, group_id=group, topics=[])
    play.do(ApiKey.DELETE_GROUPS, 0, groups_names=[""])  # other scenarios ask for it


@scenario(COMMIT)
def commits_of_many(play: Play, version: int) -> None:
    ready(play)
    topic, group = play.topic(partitions=2), play.name("g")
    rows = [
        {"partition_index": 0, "committed_offset": 1},
        {"partition_index": 1, "committed_offset": 2, "committed_metadata": "x" * 5000},
        {"partition_index": 7, "committed_offset": 3},
    ]
    topics = [{"name": topic, "partitions": rows}, *committing(play.name("never"))]
    play.call(COMMIT, version, group_id=group, topics=topics)
    play.call(COMMITTED, 5, **fetching(group, {topic: [0, 1, 7]}))
    twice = [{"partition_index": 0, "committed_offset": offset} for offset in (8, 9)]
    play.call(COMMIT, version, group_id=group, topics=[{"name": topic, "partitions": twice}])
    play.call(COMMITTED, 5, **fetching(group, {topic: [0]}))


@scenario(COMMIT, since=1)
def commits_of_members(play: Play, version: int) -> None:
    topic, group = play.topic(), play.name("g")
    absent = play.name("absent")
    for generation, member in ((1, "nobody"), (-1, "nobody"), (-1, ""), (0, "")):
        identity = {"generation_id_or_member_epoch": generation, "member_id": member}
        play.call(
            COMMIT, version, group_id=f"{absent}{generation}{member}", topics=committing(topic), **identity
        )
    joined = stable(play, group)
    for generation, member in (
        (joined.generation_id, joined.member_id), (joined.generation_id + 1, joined.member_id),
        (-1, joined.member_id), (joined.generation_id, "nobody"), (-1, ""), (joined.generation_id, ""),
    ):  # fmt: skip
        identity = {"generation_id_or_member_epoch": generation, "member_id": member}
        play.call(COMMIT, version, group_id=group, topics=committing(topic), **identity)
    if version >= 7:
        identity = {"generation_id_or_member_epoch": joined.generation_id, "member_id": joined.member_id}
        play.call(
            COMMIT, version, group_id=group, topics=committing(topic), group_instance_id="who", **identity
        )
    play.do(ApiKey.LEAVE_GROUP, 0, group_id=group, member_id=joined.member_id)
    play.call(COMMIT, version, group_id=group, topics=committing(topic, 77))
    identity = {"generation_id_or_member_epoch": joined.generation_id, "member_id": joined.member_id}
    play.call(COMMIT, version, group_id=group, topics=committing(topic, 78), **identity)


@scenario(COMMIT, since=1)
def commits_while_the_group_syncs(play: Play, version: int) -> None:
    ready(play)
    topic, group = play.topic(), play.name("g")
    joined = play.do(ApiKey.JOIN_GROUP, 3, on="member", **joining(group))
    identity = {"generation_id_or_member_epoch": joined.generation_id, "member_id": joined.member_id}
    play.call(COMMIT, version, group_id=group, topics=committing(topic), **identity)


@scenario(COMMIT, since=2, until=4)
def commits_with_a_retention_of_their_own(play: Play, version: int) -> None:
    ready(play)
    topic, group = play.topic(), play.name("g")
    for retention in (-1, 0, 1000, 2**62, -7):
        play.call(COMMIT, version, group_id=group, topics=committing(topic), retention_time_ms=retention)


@scenario(COMMITTED)
def committed_offsets(play: Play, version: int) -> None:
    ready(play)
    topic, group = play.topic(partitions=3), play.name("g")
    for partition in (0, 2):
        play.do(COMMIT, 6, group_id=group, topics=committing(topic, 42, partition, committed_leader_epoch=3))
    play.call(COMMITTED, version, **fetching(group, {topic: [0, 1, 2, 9]}))
    play.call(COMMITTED, version, **fetching(group, {play.name("never"): [0], topic: [0]}))
    play.call(COMMITTED, version, **fetching(group, {"no good": [0]}))
    play.call(COMMITTED, version, **fetching(group, {topic: []}))
    play.call(COMMITTED, version, **fetching(group, {}))
    play.call(COMMITTED, version, **fetching(play.name("absent"), {topic: [0]}))
    play.call(COMMITTED, version, **fetching("", {topic: [0]}))
    if version >= 2:
        play.call(COMMITTED, version, **fetching(group, None))
        play.call(COMMITTED, version, **fetching(play.name("absent"), None))
        play.call(COMMITTED, version, trim=lambda answer: own_topics(play, answer), **fetching("", None))
    if version >= 7:
        play.call(COMMITTED, version, **fetching(group, {topic: [0, 1]}, require_stable=True))


def own_topics(play: Play, answer: Any) -> None:
    """Leave out what other scenarios have committed for the same group."""
    for group in [answer, *answer.groups]:
        group.topics = [topic for topic in group.topics if play.is_own(topic.name)]


@scenario(COMMITTED, since=8)
def committed_offsets_of_many_groups(play: Play, version: int) -> None:
    ready(play)
    topic = play.topic()
    first, second = play.name("a"), play.name("b")
    for group in (first, second):
        play.do(COMMIT, 6, group_id=group, topics=committing(topic))
    rows = [{"name": topic, "partition_indexes": [0]}]
    groups = [{"group_id": first, "topics": rows}, {"group_id": second, "topics": None}]
    play.call(COMMITTED, version, groups=groups)
    play.call(COMMITTED, version, groups=[*groups, {"group_id": play.name("absent"), "topics": rows}])
    play.call(COMMITTED, version, groups=[groups[0], groups[0]])


@scenario(COMMITTED, since=9)
def committed_offsets_of_no_group(play: Play, version: int) -> None:
    ready(play)
    play.call(COMMITTED, version, groups=[], patience_s=1)


@scenario(COMMITTED, since=9)
def committed_offsets_of_members(play: Play, version: int) -> None:
    topic, group = play.topic(), play.name("g")
    joined = stable(play, group)
    rows = [{"name": topic, "partition_indexes": [0]}]
    for member, epoch in ((joined.member_id, 1), ("nobody", 1), ("", 5), (None, 5), (joined.member_id, 9)):
        groups = [{"group_id": group, "member_id": member, "member_epoch": epoch, "topics": rows}]
        play.call(COMMITTED, version, groups=groups)


@scenario(FORGET)
def offsets_deleted(play: Play, version: int) -> None:
    ready(play)
    topic, group = play.topic(partitions=2), play.name("g")
    play.do(COMMIT, 6, group_id=group, topics=committing(topic))

    def forget(*partitions: int, name: str = topic, of: str = group) -> None:
        rows = [{"partition_index": partition} for partition in partitions]
        play.call(FORGET, version, group_id=of, topics=[{"name": name, "partitions": rows}])

    forget(0, 1)
    play.call(COMMITTED, 5, **fetching(group, {topic: [0, 1]}))
    play.do(COMMIT, 6, group_id=group, topics=committing(topic))
    forget(9)
    forget(0, name=play.name("never"))
    forget(0, name="no good")
    forget(0, of=play.name("absent"))
    forget(0, of="")
    forget()
    play.call(FORGET, version, group_id=group, topics=[])
    busy, foreign = play.name("busy"), play.name("foreign")
    stable(play, busy)
    forget(0, of=busy)
    forget(0, of=busy, name=play.topic("other"))
    stable(play, foreign, protocol_type="connect")
    forget(0, of=foreign)


@scenario(FORGET)
def offsets_of_a_subscribed_topic_deleted(play: Play, version: int) -> None:
    group, topic = play.name("g"), play.topic()
    name = topic.encode()
    subscription = b"\0\1\0\0\0\1" + len(name).to_bytes(2, "big") + name + b"\xff\xff\xff\xff\0\0\0\0"
    joined = stable(play, group, protocols=[{"name": "range", "metadata": subscription}])
    identity = {"generation_id_or_member_epoch": joined.generation_id, "member_id": joined.member_id}
    play.do(COMMIT, 6, group_id=group, topics=committing(topic), **identity)
    rows = [{"name": topic, "partitions": [{"partition_index": 0}]}]
    play.call(FORGET, version, group_id=group, topics=rows)
