"""Share groups of KIP-932."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from admission.scenes.consumer_groups import CONFIG_OPERATIONS
from admission.stage import OPEN_TOPIC, SHARED, UNKNOWN, Asker, scene
from differential.play import NOBODY
from differential.scenarios.share_groups import (
    ALTER,
    BEAT,
    DESCRIBE,
    FORGET,
    LEAVE,
    OFFSETS,
    altering,
    going_on,
    in_order,
    joining,
    settled,
)
from differential.scenarios.share_records import ACKNOWLEDGE, FETCH, fetching, saying
from differential.scenarios.share_states import (
    DELETE,
    INITIALIZE,
    READ,
    SUMMARY,
    WRITE,
    about,
    coordinated_topic,
)

if TYPE_CHECKING:
    from kcompat.protocol.messages.share_group_describe import ShareGroupDescribeResponse
    from kcompat.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatResponse

GROUPS = ("open", "secret")
ALL_TOPICS = (*SHARED, *UNKNOWN)


@scene(BEAT)
def share_group_heartbeat(play: Asker, version: int) -> None:
    def trim(answer: ShareGroupHeartbeatResponse) -> None:
        for row in () if answer.assignment is None else answer.assignment.topic_partitions:
            row.topic_id = bytes(16)

    for group in (play.name(name) for name in GROUPS):
        play.do(ALTER, 0, **_from_the_start(group))
        for topics in ([OPEN_TOPIC], list(SHARED), list(UNKNOWN), []):
            play.call(BEAT, version, trim=trim, **joining(group, "m", *topics))
        play.call(BEAT, version, **going_on(group, "m", LEAVE))
    play.call(BEAT, version, **joining("", "m", OPEN_TOPIC))


def _trimmed(answer: ShareGroupDescribeResponse) -> None:
    in_order(answer)
    for group in answer.groups:
        group.authorized_operations &= ~CONFIG_OPERATIONS
        for member in group.members:
            member.assignment.topic_partitions.sort(key=lambda row: row.topic_name)
            for row in member.assignment.topic_partitions:
                row.topic_id = bytes(16)


@scene(DESCRIBE)
def share_group_describe(play: Asker, version: int) -> None:
    groups = [play.name(name) for name in ("open", "open-both", "secret")]
    for group, topics in zip(groups, ([OPEN_TOPIC], SHARED, [OPEN_TOPIC]), strict=True):
        play.do(ALTER, 0, **_from_the_start(group))
        settled(play, group, "m", *topics)
    asked = [*groups, "open-none", "secret-none"]
    play.call(DESCRIBE, version, trim=_trimmed, group_ids=asked)
    play.call(DESCRIBE, version, trim=_trimmed, group_ids=asked, include_authorized_operations=True)


def _from_the_start(group: str) -> dict[str, Any]:
    """The fields of an alteration that has a group begin at the start of both topics."""
    rows = [{"partition_index": 0, "start_offset": 0}]
    return {"group_id": group, "topics": [{"topic_name": topic, "partitions": rows} for topic in SHARED]}


@scene(OFFSETS)
def describe_share_group_offsets(play: Asker, version: int) -> None:
    for group in (play.name(name) for name in GROUPS):
        play.do(ALTER, 0, **_from_the_start(group))
        rows = [{"topic_name": topic, "partitions": [0]} for topic in ALL_TOPICS]
        for topics in (None, [], rows):
            play.call(OFFSETS, version, trim=_without_ids, groups=[{"group_id": group, "topics": topics}])


def _without_ids(answer: Any) -> None:
    for group in answer.groups:
        for topic in group.topics:
            topic.topic_id = bytes(16)


@scene(ALTER)
def alter_share_group_offsets(play: Asker, version: int) -> None:
    def trim(answer: Any) -> None:
        for topic in answer.responses:
            topic.topic_id = bytes(16)

    for group in (play.name(name) for name in GROUPS):
        for topic in ALL_TOPICS:
            play.call(ALTER, version, trim=trim, **altering(group, topic, p0=0))


@scene(FORGET)
def delete_share_group_offsets(play: Asker, version: int) -> None:
    def trim(answer: Any) -> None:
        for topic in answer.responses:
            topic.topic_id = bytes(16)

    for group in (play.name(name) for name in GROUPS):
        play.do(ALTER, 0, **_from_the_start(group))
        topics = [{"topic_name": topic} for topic in ALL_TOPICS]
        play.call(FORGET, version, trim=trim, group_id=group, topics=topics)


@scene(FETCH)
def share_fetch(play: Asker, version: int) -> None:
    for name in GROUPS:
        group = play.name(name)
        play.do(ALTER, 0, **_from_the_start(group))
        for at, topic in enumerate(SHARED):
            asked = fetching(group, f"m{at}", 0, play.topic_id(topic), 0)
            play.call(FETCH, version, on="main", trim=_without_records, **asked)
            play.call(FETCH, version, on="main", **fetching(group, f"m{at}", LEAVE, play.topic_id(topic)))


def _without_records(answer: Any) -> None:
    for topic in answer.responses:
        topic.topic_id = bytes(16)
        for row in topic.partitions:
            row.records = None


@scene(ACKNOWLEDGE)
def share_acknowledge(play: Asker, version: int) -> None:
    for name in GROUPS:
        group = play.name(name)
        play.do(ALTER, 0, **_from_the_start(group))
        for at, topic in enumerate(SHARED):
            topic_id = play.topic_id(topic)
            play.do(FETCH, 2, on=f"{name}{at}", **fetching(group, f"m{at}", 0, topic_id, 0))
            said = saying(group, f"m{at}", 1, topic_id, (0, 0, [2]))
            play.call(ACKNOWLEDGE, version, trim=_without_records_said, **said)


def _without_records_said(answer: Any) -> None:
    for topic in answer.responses:
        topic.topic_id = bytes(16)


@scene(INITIALIZE)
def initialize_share_group_state(play: Asker, version: int) -> None:
    group = play.name()
    topic_id = coordinated_topic(play, group, OPEN_TOPIC)
    play.call(INITIALIZE, version, trim=_without_result_ids, **about(group, topic_id, start_offset=1))
    play.call(INITIALIZE, version, trim=_without_result_ids, **about(group, NOBODY))


@scene(READ)
def read_share_group_state(play: Asker, version: int) -> None:
    group = play.name()
    topic_id = coordinated_topic(play, group, OPEN_TOPIC)
    play.do(INITIALIZE, 0, **about(group, topic_id, start_offset=1))
    play.call(READ, version, trim=_without_result_ids, **about(group, topic_id))


@scene(WRITE)
def write_share_group_state(play: Asker, version: int) -> None:
    group = play.name()
    topic_id = coordinated_topic(play, group, OPEN_TOPIC)
    play.do(INITIALIZE, 0, **about(group, topic_id, start_offset=1))
    play.call(WRITE, version, trim=_without_result_ids, **about(group, topic_id, start_offset=1))


@scene(SUMMARY)
def read_share_group_state_summary(play: Asker, version: int) -> None:
    group = play.name()
    topic_id = coordinated_topic(play, group, OPEN_TOPIC)
    play.do(INITIALIZE, 0, **about(group, topic_id, start_offset=1))
    play.call(SUMMARY, version, trim=_without_result_ids, **about(group, topic_id))


@scene(DELETE)
def delete_share_group_state(play: Asker, version: int) -> None:
    group = play.name()
    topic_id = coordinated_topic(play, group, OPEN_TOPIC)
    play.do(INITIALIZE, 0, **about(group, topic_id, start_offset=1))
    play.call(DELETE, version, trim=_without_result_ids, **about(group, topic_id))


def _without_result_ids(answer: Any) -> None:
    for topic in answer.results:
        topic.topic_id = bytes(16)
