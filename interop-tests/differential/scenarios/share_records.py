"""Records of share groups: who gets which, and what may be said of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from differential.catalogue import scenario
from differential.members import ready
from differential.play import NOBODY
from differential.scenarios.consumer_groups import known_topic
from differential.scenarios.share_groups import ALTER, LEAVE, altering, settled, stands
from kcompat.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from differential.play import Play

FETCH, ACKNOWLEDGE = ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE


def fetching(
    group: str, member: str, epoch: int, topic_id: bytes, *indexes: int, **fields: Any
) -> dict[str, Any]:
    """The fields of a fetch of whatever there is."""
    rows = [{"partition_index": index, "partition_max_bytes": 1 << 20} for index in indexes]
    return {
        "group_id": group,
        "member_id": member,
        "share_session_epoch": epoch,
        "max_wait_ms": 500,
        "min_bytes": 1,
        "max_bytes": 1 << 20,
        "max_records": 100,
        "batch_size": 100,
        "topics": [{"topic_id": topic_id, "partitions": rows}] if rows else [],
        "forgotten_topics_data": [],
        **fields,
    }


def saying(
    group: str, member: str, epoch: int, topic_id: bytes, *said: tuple[int, int, list[int]], **fields: Any
) -> dict[str, Any]:
    """The fields of an acknowledgement of records of partition 0."""
    batches = [
        {"first_offset": first, "last_offset": last, "acknowledge_types": types}
        for first, last, types in said
    ]
    rows = [{"partition_index": 0, "acknowledgement_batches": batches}]
    return {
        "group_id": group,
        "member_id": member,
        "share_session_epoch": epoch,
        "topics": [{"topic_id": topic_id, "partitions": rows}] if said else [],
        **fields,
    }


def shared(play: Play, *values: bytes) -> tuple[str, str, bytes]:
    """A group that stands at the start of a topic with these values: group, topic and its id."""
    ready(play)
    group, topic = play.name("g"), known_topic(play)
    for value in values:
        play.append(topic, value)
    play.do(ALTER, 0, **altering(group, topic, p0=0))
    settled(play, group, "m", topic)
    return group, topic, play.topic_id(topic)


@scenario(FETCH)
def records_of_share_groups(play: Play, version: int) -> None:
    group, topic, topic_id = shared(play, b"a", b"b", b"c")
    play.call(FETCH, version, on="m", **fetching(group, "m", 0, topic_id, 0))
    stands(play, group)
    play.call(FETCH, version, on="n", **fetching(group, "n", 0, topic_id, 0))
    said = [{"first_offset": 0, "last_offset": 1, "acknowledge_types": [1, 3]}]
    rows = [{"partition_index": 0, "partition_max_bytes": 1 << 20, "acknowledgement_batches": said}]
    topics = [{"topic_id": topic_id, "partitions": rows}]
    play.call(FETCH, version, on="m", **fetching(group, "m", 1, topic_id, topics=topics, max_wait_ms=0))
    play.call(FETCH, version, on="n", **fetching(group, "n", 1, topic_id))
    play.call(FETCH, version, on="m", **fetching(group, "m", LEAVE, topic_id))
    play.call(FETCH, version, on="n", **fetching(group, "n", 2, topic_id))
    stands(play, group, 1, **{topic: [0]})


@scenario(FETCH)
def share_sessions_begun_again_elsewhere(play: Play, version: int) -> None:
    """The member keeps its records, also once the first connection is gone; a session that names no
    partition releases nothing at its end.
    """
    group, _, topic_id = shared(play, b"a", b"b", b"c")

    def ask(member: str, epoch: int, *indexes: int, on: str) -> None:
        play.call(FETCH, version, on=on, **fetching(group, member, epoch, topic_id, *indexes))

    ask("m", 0, 0, on="m")
    ask("m", 0, 0, on="elsewhere")
    play.call(ACKNOWLEDGE, 1, on="elsewhere", **saying(group, "m", 1, topic_id, (0, 0, [1])))
    ask("m", 1, on="m")
    ask("n", 0, 0, on="n")
    play.send_frame(b"\xff" * 8, on="m")
    play.reply("the first connection", on="m")
    ask("n", 1, on="n")
    ask("m", LEAVE, on="elsewhere")
    ask("n", 2, on="n")
    ask("n", 0, on="nowhere")
    ask("n", LEAVE, on="nowhere")
    ask("o", 0, 0, on="o")


@scenario(FETCH)
def share_fetches_that_are_refused(play: Play, version: int) -> None:
    group, _, topic_id = shared(play, b"a")
    for fields in (
        {"group_id": None},
        {"member_id": ""},
        {"member_id": None},
        {"member_id": "m" * 37},
        {"share_session_epoch": 1},
        {"share_session_epoch": -1},
    ):
        play.call(FETCH, version, on="m", **{**fetching(group, "m", 0, topic_id, 0), **fields})
    play.call(FETCH, version, on="n", **fetching(group, "n", 0, play.known_id(NOBODY), 0, max_wait_ms=0))
    play.call(FETCH, version, on="o", **fetching(group, "o", 0, topic_id, 7, max_wait_ms=0))
    play.call(FETCH, version, on="o", **fetching(group, "o", 5, topic_id))


@scenario(ACKNOWLEDGE)
def acknowledgements_of_share_groups(play: Play, version: int) -> None:
    group, topic, topic_id = shared(play, b"a", b"b", b"c", b"d")
    play.call(ACKNOWLEDGE, version, on="m", **saying(group, "m", 0, topic_id, (0, 0, [1])))
    play.call(ACKNOWLEDGE, version, on="m", **saying(group, "m", 1, topic_id, (0, 0, [1])))
    play.do(FETCH, 2, on="m", **fetching(group, "m", 0, topic_id, 0))
    for epoch, said in enumerate(
        (
            ((0, 0, [1]),),
            ((0, 0, [1]),),
            ((1, 2, [2, 3]),),
            ((3, 3, [9]),),
            ((3, 2, [1]),),
            ((3, 3, []),),
            ((9, 9, [1]),),
            (),
        ),
        start=1,
    ):
        play.call(ACKNOWLEDGE, version, on="m", **saying(group, "m", epoch, topic_id, *said))
    stands(play, group, 1, **{topic: [0]})
    play.call(ACKNOWLEDGE, version, on="m", **saying(group, "m", 3, topic_id, (3, 3, [1])))
    unknown = saying(group, "m", 9, play.known_id(NOBODY), (3, 3, [1]))
    play.call(ACKNOWLEDGE, version, on="m", **unknown)
    play.call(ACKNOWLEDGE, version, on="m", **saying(group, "m", LEAVE, topic_id, (3, 3, [1])))
    stands(play, group, 1, **{topic: [0]})


@scenario(ACKNOWLEDGE, since=2)
def renewals_of_share_groups(play: Play, version: int) -> None:
    group, _, topic_id = shared(play, b"a", b"b")
    play.do(FETCH, 2, on="m", **fetching(group, "m", 0, topic_id, 0))
    play.call(ACKNOWLEDGE, version, on="m", **saying(group, "m", 1, topic_id, (0, 1, [4])))
    play.call(ACKNOWLEDGE, version, on="m", **saying(group, "m", 2, topic_id, (0, 1, [4]), is_renew_ack=True))
    said = [{"first_offset": 0, "last_offset": 0, "acknowledge_types": [4]}]
    rows = [{"partition_index": 0, "acknowledgement_batches": said}]
    renewal = {"topics": [{"topic_id": topic_id, "partitions": rows}], "is_renew_ack": True}
    play.call(FETCH, 2, on="m", **fetching(group, "m", 3, topic_id, **renewal))
    nothing = dict.fromkeys(("max_wait_ms", "min_bytes", "max_bytes", "max_records"), 0)
    play.call(FETCH, 2, on="m", **fetching(group, "m", 3, topic_id, **renewal, **nothing))
