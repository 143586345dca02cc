"""Fetch: reading, limits, waiting, errors, and incremental sessions."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from differential.catalogue import scenario
from differential.play import batch
from kcompat.protocol.api_keys import ApiKey
from kcompat.records.compression import Codec

if TYPE_CHECKING:
    from differential.play import Play

FETCH = ApiKey.FETCH
BY_ID = 13


def row(offset: int, partition: int = 0, size: int = 1 << 20, **fields: int) -> dict[str, int]:
    """One partition to fetch."""
    return {"partition": partition, "fetch_offset": offset, "partition_max_bytes": size, **fields}


class Fetcher:
    """Fetches by name or by id, as the version asks for."""

    def __init__(self, play: Play, version: int) -> None:
        self._play = play
        self._version = version

    @staticmethod
    def topic(name: str, *rows: Any) -> dict[str, Any]:
        """One topic of a request."""
        return {"topic": name, "partitions": list(rows)}

    def __call__(self, *topics: dict[str, Any], **fields: Any) -> Any:
        """Fetch, and record the answer."""
        return self._play.call(FETCH, self._version, **{**DEFAULTS, "topics": list(topics), **fields})

    def send(self, *topics: dict[str, Any], **fields: Any) -> None:
        """Fetch without waiting for the answer."""
        self._play.send(FETCH, self._version, **{**DEFAULTS, "topics": list(topics), **fields})

    def answer(self) -> None:
        """Record the answer to what `send` has asked."""
        self._play.receive(FETCH, self._version)

    def answer_meanwhile(self) -> None:
        """Record the answer to what was asked before something was appended, without the ends of partitions.

        Kafka looks for those before it reads: what is appended in between comes with the end of before. A
        fetch that waits by then comes with the new one.
        """
        self._play.receive(FETCH, self._version, trim=_ends_aside)


def _ends_aside(answer: Any) -> None:
    for topic in answer.responses:
        for partition in topic.partitions:
            partition.high_watermark = partition.last_stable_offset = None


DEFAULTS = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20, "session_epoch": -1}


@scenario(FETCH)
def fetch_from_each_offset(play: Play, version: int) -> None:
    topic, fetch = play.topic(), Fetcher(play, version)
    fetch(fetch.topic(topic, row(0)))
    play.append(topic, b"one", b"two")
    play.append(topic, b"three", codec=Codec.GZIP)
    for offset in (0, 1, 2, 3, 4, -1, -2, 2**60):
        fetch(fetch.topic(topic, row(offset)))


@scenario(FETCH)
def fetch_with_limits(play: Play, version: int) -> None:
    topic, fetch = play.topic(partitions=2), Fetcher(play, version)
    for partition in (0, 1):
        for _ in range(3):
            play.append(topic, b"x" * 100, partition=partition)
    size = len(batch(b"x" * 100))
    for limit in (0, 1, size - 1, size, size + 1, 2 * size, 2 * size + 60, 3 * size):
        fetch(fetch.topic(topic, row(0, size=limit)))
        fetch(fetch.topic(topic, row(0), row(0, partition=1)), max_bytes=limit)
        fetch(fetch.topic(topic, row(0, size=limit), row(0, partition=1, size=limit)))


@scenario(FETCH)
def fetch_with_negative_limits(play: Play, version: int) -> None:
    topic, fetch = play.topic(), Fetcher(play, version)
    play.append(topic, b"one")
    fetch(fetch.topic(topic, row(0)), max_bytes=-1)
    fetch(fetch.topic(topic, row(0)), min_bytes=-1)
    fetch(fetch.topic(topic, row(0)), max_wait_ms=-1)
    fetch(fetch.topic(topic, row(0, size=-1)))


@scenario(FETCH)
def fetch_from_unknown_places(play: Play, version: int) -> None:
    topic, fetch = play.topic(), Fetcher(play, version)
    play.append(topic, b"one")
    fetch(fetch.topic(topic, row(0, partition=5), row(0, partition=-1), row(0)))
    fetch(fetch.topic("absent", row(0)))
    fetch(fetch.topic("absent", row(0), row(0, partition=3)), fetch.topic(topic, row(0)))
    fetch(fetch.topic("a/b", row(0)))
    fetch()


@scenario(FETCH)
def fetch_waits_for_records(play: Play, version: int) -> None:
    topic, fetch = play.topic(), Fetcher(play, version)
    fetch.send(fetch.topic(topic, row(0)), max_wait_ms=10_000)
    play.append(topic, b"one")
    fetch.answer_meanwhile()
    size = len(batch(b"one"))
    fetch.send(fetch.topic(topic, row(0)), max_wait_ms=10_000, min_bytes=2 * size)
    play.append(topic, b"two")
    fetch.answer_meanwhile()


@scenario(FETCH)
def fetch_waits_in_vain(play: Play, version: int) -> None:
    topic, fetch = play.topic(), Fetcher(play, version)
    play.append(topic, b"one")
    fetch(fetch.topic(topic, row(1)), max_wait_ms=30)
    fetch(fetch.topic(topic, row(0)), max_wait_ms=30, min_bytes=1 << 19)


def waited(play: Play, label: str, fetch: Fetcher, *topics: dict[str, Any], min_bytes: int = 1) -> None:
    """Record whether a fetch waited out its 600 ms."""
    began = time.monotonic()
    fetch(*topics, max_wait_ms=600, min_bytes=min_bytes)
    play.note(label, time.monotonic() - began > 0.5)


@scenario(FETCH, since=12, until=13)
def what_ends_a_waiting_fetch(play: Play, version: int) -> None:
    topic, fetch = play.topic(partitions=2), Fetcher(play, version)
    play.append(topic, b"one")
    waited(play, "nothing new", fetch, fetch.topic(topic, row(1)))
    waited(play, "enough", fetch, fetch.topic(topic, row(0)))
    waited(play, "min_bytes 0", fetch, fetch.topic(topic, row(1)), min_bytes=0)
    waited(play, "out of range", fetch, fetch.topic(topic, row(9), row(0, partition=1)))
    waited(play, "unknown partition", fetch, fetch.topic(topic, row(0, partition=9)))
    waited(play, "unknown topic", fetch, fetch.topic("absent", row(0)))
    waited(play, "no topic", fetch)


@scenario(FETCH)
def fetch_waits_while_a_topic_is_deleted(play: Play, version: int) -> None:
    topic, fetch = play.topic(), Fetcher(play, version)
    fetch.send(fetch.topic(topic, row(0)), max_wait_ms=2000)
    deleting = threading.Thread(
        target=lambda: play.do(ApiKey.DELETE_TOPICS, 1, topic_names=[topic], timeout_ms=5000)
    )
    deleting.start()
    fetch.answer()
    deleting.join()


@scenario(FETCH)
def fetch_below_a_moved_start(play: Play, version: int) -> None:
    topic, fetch = play.topic(), Fetcher(play, version)
    for _ in range(3):
        play.append(topic, b"one", b"two")
    partitions = [{"partition_index": 0, "offset": 3}]
    topics = [{"name": topic, "partitions": partitions}]
    play.call(ApiKey.DELETE_RECORDS, 1, topics=topics, timeout_ms=5000)
    for offset in (0, 2, 3, 6):
        fetch(fetch.topic(topic, row(offset)))


@scenario(FETCH)
def fetch_one_partition_twice(play: Play, version: int) -> None:
    topic, fetch = play.topic(), Fetcher(play, version)
    play.append(topic, b"one")
    play.append(topic, b"two")
    fetch(fetch.topic(topic, row(0), row(1)))
    fetch(fetch.topic(topic, row(1)), fetch.topic(topic, row(0)))


@scenario(FETCH)
def fetch_with_isolation(play: Play, version: int) -> None:
    topic, fetch = play.topic(), Fetcher(play, version)
    play.append(topic, b"one")
    for level in (0, 1):
        fetch(fetch.topic(topic, row(0)), isolation_level=level)
        fetch(fetch.topic(topic, row(5)), isolation_level=level)


@scenario(FETCH)
def fetch_with_unknown_isolation(play: Play, version: int) -> None:
    topic, fetch = play.topic(), Fetcher(play, version)
    play.append(topic, b"one")
    fetch(fetch.topic(topic, row(0)), isolation_level=2)


@scenario(FETCH, since=9)
def fetch_with_leader_epochs(play: Play, version: int) -> None:
    topic, fetch = play.topic(), Fetcher(play, version)
    play.append(topic, b"one")
    for epoch in (-1, 0, 1, 7, -2):
        fetch(fetch.topic(topic, row(0, current_leader_epoch=epoch)))


@scenario(FETCH, since=12)
def fetch_with_last_fetched_epochs(play: Play, version: int) -> None:
    topic, fetch = play.topic(), Fetcher(play, version)
    play.append(topic, b"one", b"two")
    for offset, epoch in ((0, 0), (1, 0), (2, 0), (3, 0), (0, 1), (1, 5), (0, -1), (0, -2)):
        fetch(fetch.topic(topic, row(offset, last_fetched_epoch=epoch)))


@scenario(FETCH)
def fetch_zstd(play: Play, version: int) -> None:
    fetch = Fetcher(play, version)
    topic, plain = play.topic("zstd", compression_type="zstd"), play.topic("plain")
    for name in (topic, plain):
        play.append(name, b"one" * 50, codec=Codec.ZSTD)
        play.append(name, b"two" * 50, codec=Codec.NONE)
    fetch(fetch.topic(plain, row(0)))
    fetch(fetch.topic(plain, row(1)))

    def sizes_aside(answer: Any) -> None:
        answer.responses[0].partitions[0].records = None

    play.call(FETCH, version, trim=sizes_aside, **{**DEFAULTS, "topics": [fetch.topic(topic, row(0))]})


@scenario(FETCH)
def fetch_as_a_follower(play: Play, version: int) -> None:
    topic, fetch = play.topic(), Fetcher(play, version)
    play.append(topic, b"one")
    for replica in (-1, -2):
        state = {"replica_id": replica, "replica_epoch": -1}
        fetch(fetch.topic(topic, row(0)), replica_id=replica, replica_state=state)


@scenario(FETCH, since=11, until=11)
def fetch_with_a_request_behind_it(play: Play, version: int) -> None:
    topic, fetch = play.topic(), Fetcher(play, version)
    began = time.monotonic()
    fetch.send(fetch.topic(topic, row(0)), max_wait_ms=1500)
    play.send(ApiKey.LIST_OFFSETS, 1, topics=[])
    fetch.answer()
    play.receive(ApiKey.LIST_OFFSETS, 1)
    play.note("the fetch waited all the same", time.monotonic() - began > 1.4)


@scenario(FETCH, until=17)
def fetch_across_segments(play: Play, version: int) -> None:
    topic, fetch = play.topic(segment_bytes="300"), Fetcher(play, version)
    for number in range(8):
        play.append(topic, b"%d" % number * 50)
    for offset in range(9):
        fetch(fetch.topic(topic, row(offset)))
    fetch(fetch.topic(topic, row(1, size=200)))


@scenario(FETCH)
def fetch_from_a_deleted_topic(play: Play, version: int) -> None:
    topic, fetch = play.topic(), Fetcher(play, version)
    play.append(topic, b"one")
    topic_id = play.topic_id(topic)
    opened = fetch(fetch.topic(topic, row(0)), session_epoch=0)
    play.do(ApiKey.DELETE_TOPICS, 3, topic_names=[topic], timeout_ms=5000)
    gone = {"topics": [{"name": topic}], "allow_auto_topic_creation": False}
    play.until(lambda: play.do(ApiKey.METADATA, 9, **gone).topics[0].error_code != 0, "the topic is gone")
    fetch({"topic": topic, "topic_id": topic_id, "partitions": [row(0)]})
    if opened.session_id:
        fetch(session_id=opened.session_id, session_epoch=1)
    play.append(play.topic(), b"other")
    fetch({"topic": topic, "topic_id": topic_id, "partitions": [row(0)]})


# Sessions (KIP-227)


@scenario(FETCH, since=7)
def session_life(play: Play, version: int) -> None:
    topic, fetch = play.topic(partitions=3), Fetcher(play, version)
    play.append(topic, b"one")
    opened = fetch(fetch.topic(topic, row(0), row(0, partition=1)), session_epoch=0)
    session = {"session_id": opened.session_id}
    fetch(session_epoch=1, **session)
    fetch(fetch.topic(topic, row(1)), session_epoch=2, **session)
    play.append(topic, b"two", partition=1)
    fetch(session_epoch=3, **session)
    fetch(fetch.topic(topic, row(1, partition=1)), session_epoch=4, **session)
    fetch(fetch.topic(topic, row(0, partition=2)), session_epoch=5, **session)
    fetch(fetch.topic(topic, row(5)), session_epoch=6, **session)
    fetch(session_epoch=7, **session)
    fetch(fetch.topic(topic, row(0, partition=9)), session_epoch=8, **session)
    fetch(session_epoch=9, **session)
    fetch(fetch.topic(topic, row(0)), session_epoch=-1, **session)
    fetch(session_epoch=10, **session)


@scenario(FETCH, since=7)
def session_errors(play: Play, version: int) -> None:
    topic, fetch = play.topic(), Fetcher(play, version)
    play.append(topic, b"one")
    fetch(session_id=123456, session_epoch=1)
    fetch(session_id=0, session_epoch=1)
    fetch(session_id=123456, session_epoch=-1)
    fetch(fetch.topic(topic, row(0)), session_id=123456, session_epoch=0)
    opened = fetch(fetch.topic(topic, row(0)), session_epoch=0)
    for epoch in (2, 0x7FFFFFFF, 3, -2, 1):
        fetch(session_id=opened.session_id, session_epoch=epoch)
    fetch(session_epoch=0)


@scenario(FETCH, since=7)
def session_forgets(play: Play, version: int) -> None:
    topic, fetch = play.topic(partitions=3), Fetcher(play, version)
    rows = [row(0, partition=index) for index in range(3)]
    opened = fetch(fetch.topic(topic, *rows), session_epoch=0)
    for partition in range(3):
        play.append(topic, b"one", partition=partition)

    def forgetting(*partitions: int) -> dict[str, Any]:
        return {
            "session_id": opened.session_id,
            "forgotten_topics_data": [{"topic": topic, "partitions": list(partitions)}],
        }

    fetch(session_epoch=1, **forgetting(1))
    fetch(session_epoch=2, **forgetting(7))
    fetch(session_epoch=3, **forgetting(0, 2))
    fetch(session_epoch=4, session_id=opened.session_id)


@scenario(FETCH, since=7)
def session_replaced(play: Play, version: int) -> None:
    topic, fetch = play.topic(), Fetcher(play, version)
    opened = fetch(fetch.topic(topic, row(0)), session_epoch=0)
    again = fetch(fetch.topic(topic, row(0)), session_epoch=0, session_id=opened.session_id)
    fetch(session_id=opened.session_id, session_epoch=1)
    fetch(session_id=again.session_id, session_epoch=1)


@scenario(FETCH, since=7)
def session_of_unknown_topics(play: Play, version: int) -> None:
    topic, fetch = play.topic(), Fetcher(play, version)
    opened = fetch(fetch.topic("absent", row(0)), fetch.topic(topic, row(0)), session_epoch=0)
    session = {"session_id": opened.session_id}
    fetch(session_epoch=1, **session)
    play.append(topic, b"one")
    fetch(session_epoch=2, **session)


@scenario(FETCH, since=7)
def session_waits(play: Play, version: int) -> None:
    topic, fetch = play.topic(partitions=2), Fetcher(play, version)
    opened = fetch(fetch.topic(topic, row(0), row(0, partition=1)), session_epoch=0)
    fetch.send(session_id=opened.session_id, session_epoch=1, max_wait_ms=10_000)
    play.append(topic, b"one", partition=1)
    fetch.answer_meanwhile()
    seen = {**DEFAULTS, "session_id": opened.session_id, "session_epoch": 2, "topics": []}
    play.do(FETCH, version, on="main", **seen)  # this says where the partition ends: the next need not
    moved = fetch.topic(topic, row(1, partition=1))
    fetch.send(moved, session_id=opened.session_id, session_epoch=3, max_wait_ms=30)
    fetch.answer()


@scenario(FETCH, since=12)
def session_changes_from_names_to_ids(play: Play, version: int) -> None:
    topic = play.topic()
    other = BY_ID if version < BY_ID else BY_ID - 1
    first, second = Fetcher(play, version), Fetcher(play, other)
    opened = first(first.topic(topic, row(0)), session_epoch=0)
    second(session_id=opened.session_id, session_epoch=1)
    first(session_id=opened.session_id, session_epoch=1)
    first(session_id=opened.session_id, session_epoch=2)
