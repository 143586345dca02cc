"""State of share partitions in the share coordinator, as brokers request it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from differential.catalogue import scenario
from differential.members import ready
from differential.play import NOBODY
from differential.scenarios.consumer_groups import known_topic
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.uuids import uuid_to_text

if TYPE_CHECKING:
    from differential.play import Play

INITIALIZE, READ, WRITE = (
    ApiKey.INITIALIZE_SHARE_GROUP_STATE,
    ApiKey.READ_SHARE_GROUP_STATE,
    ApiKey.WRITE_SHARE_GROUP_STATE,
)
DELETE, SUMMARY = ApiKey.DELETE_SHARE_GROUP_STATE, ApiKey.READ_SHARE_GROUP_STATE_SUMMARY


def coordinated(play: Play) -> tuple[str, bytes]:
    """A share partition whose coordinator is there: its group and the id of its topic."""
    ready(play)
    group, topic = play.name("g"), known_topic(play)
    return group, coordinated_topic(play, group, topic)


def coordinated_topic(play: Play, group: str, topic: str) -> bytes:
    """The id of a topic, once the first share partition that the group has of it has a coordinator."""
    topic_id = play.topic_id(topic)
    key = f"{group}:{uuid_to_text(topic_id)}:0"

    def is_ready() -> bool:
        found = play.do(ApiKey.FIND_COORDINATOR, 6, key_type=2, coordinator_keys=[key]).coordinators[0]
        asked = {"group_id": group, "topics": [{"topic_id": topic_id, "partitions": [{"partition": 0}]}]}
        answer = None if found.error_code else play.do(DELETE, 0, **asked)
        return answer is not None and answer.results[0].partitions[0].error_code == 0

    play.until(is_ready, "the share coordinator is there")
    return topic_id


def about(group: str, topic_id: bytes, **row: Any) -> dict[str, Any]:
    """The fields of a question about one share partition."""
    partition = {"partition": 0, **row}
    return {"group_id": group, "topics": [{"topic_id": topic_id, "partitions": [partition]}]}


@scenario(READ)
def find_share_coordinators(play: Play, _version: int) -> None:
    group, topic_id = coordinated(play)
    text = uuid_to_text(topic_id)

    def only_errors(answer: Any) -> None:
        for row in answer.coordinators:
            row.key, row.error_message = row.key.replace(text, "<id>"), None

    keys = [f"{group}:{text}:0", f"a:b:{text}:1", "", group, f"{group}:{text}", f"{group}:x:0", f":{text}:0"]
    keys += [f"{group}:{text}:x", f"{group}:{text}:-1"]
    play.call(ApiKey.FIND_COORDINATOR, 6, key_type=2, coordinator_keys=keys, trim=only_errors)


@scenario(INITIALIZE)
def begun_share_partitions(play: Play, version: int) -> None:
    group, topic_id = coordinated(play)
    play.call(READ, version, **about(group, topic_id, leader_epoch=0))
    for row in (
        {"state_epoch": 2, "start_offset": 5},
        {"state_epoch": 1},
        {"partition": -1},
        {"partition": 7},
    ):
        play.call(INITIALIZE, version, **about(group, topic_id, **row))
        play.call(SUMMARY, 1, **about(group, topic_id, leader_epoch=0))


@scenario(READ)
def read_share_partitions(play: Play, version: int) -> None:
    group, topic_id = coordinated(play)
    play.call(READ, version, **about(group, topic_id, leader_epoch=0))
    play.do(INITIALIZE, 0, **about(group, topic_id, state_epoch=2, start_offset=5))
    for epoch in (0, 3, 2, -1):
        play.call(READ, version, **about(group, topic_id, leader_epoch=epoch))
    play.call(READ, version, **about(group, topic_id, partition=-1))
    play.call(READ, version, **about("", topic_id))
    play.call(READ, version, **about(group, play.known_id(NOBODY)))
    play.call(READ, version, group_id=group, topics=[])


@scenario(DELETE)
def deleted_share_partitions(play: Play, version: int) -> None:
    group, topic_id = coordinated(play)
    play.do(INITIALIZE, 0, **about(group, topic_id, state_epoch=2, start_offset=5))
    play.call(DELETE, version, **about(group, topic_id))
    play.call(READ, 0, **about(group, topic_id, leader_epoch=0))
    play.call(DELETE, version, **about(group, topic_id))
    play.call(DELETE, version, **about(group, topic_id, partition=9))


@scenario(WRITE)
def written_share_partitions(play: Play, version: int) -> None:
    group, topic_id = coordinated(play)
    batch = {"first_offset": 0, "last_offset": 4, "delivery_state": 2, "delivery_count": 1}
    news = {"state_epoch": 0, "leader_epoch": 1, "start_offset": 0, "delivery_complete_count": 5}
    play.call(WRITE, version, **about(group, topic_id, **news, state_batches=[batch]))
    play.do(INITIALIZE, 0, **about(group, topic_id, state_epoch=0, start_offset=0))
    for fields in ({}, {"state_epoch": 1}, {"state_epoch": 0, "leader_epoch": 0}, {"start_offset": -1}):
        play.call(WRITE, version, **about(group, topic_id, **{**news, **fields}, state_batches=[batch]))
        play.call(READ, 0, **about(group, topic_id, leader_epoch=1))


@scenario(SUMMARY)
def summaries_of_share_partitions(play: Play, version: int) -> None:
    group, topic_id = coordinated(play)
    play.call(SUMMARY, version, **about(group, topic_id, leader_epoch=0))
    play.do(INITIALIZE, 0, **about(group, topic_id, state_epoch=1, start_offset=3))
    play.call(SUMMARY, version, **about(group, topic_id, leader_epoch=0))
    news = {"state_epoch": 1, "leader_epoch": 4, "start_offset": 5, "delivery_complete_count": 2}
    play.do(WRITE, 1, **about(group, topic_id, **news))
    play.call(SUMMARY, version, **about(group, topic_id, leader_epoch=0))
    play.call(SUMMARY, version, **about(group, topic_id, partition=8))
    play.call(SUMMARY, version, **about("", topic_id))
