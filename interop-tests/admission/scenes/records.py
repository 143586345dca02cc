"""Records: written, read, found and deleted."""

from __future__ import annotations

from typing import Any

from admission.stage import SHARED, TIMEOUT_MS, UNKNOWN, WRITTEN, Asker, scene
from differential.play import batch
from kcompat.protocol.api_keys import ApiKey


def producing(*topics: str) -> list[dict[str, Any]]:
    """Topics of a Produce, one batch each."""
    rows = [{"index": 0, "records": batch(b"v")}]
    return [{"name": topic, "partition_data": rows} for topic in topics]


@scene(ApiKey.PRODUCE, 3, 8, 9, 11, 12, 13)
def produce(play: Asker, version: int) -> None:
    asked = producing(*WRITTEN, *UNKNOWN)
    play.call(ApiKey.PRODUCE, version, trim=_no_offsets, acks=1, timeout_ms=TIMEOUT_MS, topic_data=asked)
    play.call(ApiKey.PRODUCE, version, acks=7, timeout_ms=TIMEOUT_MS, topic_data=asked)
    if version < 13:
        internal = producing("__consumer_offsets")
        play.call(ApiKey.PRODUCE, version, acks=1, timeout_ms=TIMEOUT_MS, topic_data=internal)
    for name in WRITTEN:
        play.send(ApiKey.PRODUCE, version, acks=0, timeout_ms=TIMEOUT_MS, topic_data=producing(name))
        play.call(ApiKey.API_VERSIONS, 0, trim=_no_rows)


def _no_offsets(answer: Any) -> None:
    for topic in answer.responses:
        for row in topic.partition_responses:
            row.base_offset = min(row.base_offset, 0)


def _no_rows(answer: Any) -> None:
    answer.api_keys = []


def fetching(*topics: str) -> list[dict[str, Any]]:
    """Topics of a Fetch."""
    rows = [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}]
    return [{"topic": topic, "partitions": rows} for topic in topics]


@scene(ApiKey.FETCH, 0, 4, 7, 11, 12, 13, 15, 17)
def fetch(play: Asker, version: int) -> None:
    common = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1 << 20, "session_epoch": -1}
    play.call(ApiKey.FETCH, version, topics=fetching(*SHARED, *UNKNOWN), replica_id=-1, **common)
    common["session_epoch"] = 0
    opened = play.call(ApiKey.FETCH, version, topics=fetching(*SHARED), replica_id=-1, **common)
    if opened is not None and opened.session_id:
        again = {**common, "session_id": opened.session_id, "session_epoch": 1}
        play.call(ApiKey.FETCH, version, topics=[], replica_id=-1, **again)


@scene(ApiKey.FETCH, 4, 11, 13, 17)
def fetch_as_a_replica(play: Asker, version: int) -> None:
    common = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1 << 20, "session_epoch": -1}
    state = {"replica_id": 5, "replica_epoch": -1}

    def without_hints(answer: Any) -> None:
        """Where the leader is belongs to clusters of more than one broker."""
        answer.node_endpoints = []
        for topic in answer.responses:
            for row in topic.partitions:
                row.current_leader = type(row.current_leader)()
                row.aborted_transactions = None

    asked = {"topics": fetching(*SHARED, *UNKNOWN), "replica_id": 5, "replica_state": state}
    play.call(ApiKey.FETCH, version, trim=without_hints, **asked, **common)


@scene(ApiKey.LIST_OFFSETS, 0, 1, 6, 9)
def list_offsets(play: Asker, version: int) -> None:
    rows = [{"partition_index": 0, "timestamp": -1, "max_num_offsets": 1}]
    topics = [{"name": topic, "partitions": rows} for topic in (*SHARED, *UNKNOWN)]
    play.call(ApiKey.LIST_OFFSETS, version, replica_id=-1, topics=topics)
    topics = [{"name": topic, "partitions": rows * 2} for topic in SHARED]
    play.call(ApiKey.LIST_OFFSETS, version, replica_id=-1, topics=topics)


@scene(ApiKey.OFFSET_FOR_LEADER_EPOCH)
def offset_for_leader_epoch(play: Asker, version: int) -> None:
    rows = [{"partition": 0, "leader_epoch": 0, "current_leader_epoch": -1}]
    topics = [{"topic": topic, "partitions": rows} for topic in (*SHARED, *UNKNOWN)]
    play.call(ApiKey.OFFSET_FOR_LEADER_EPOCH, version, replica_id=-1, topics=topics)


@scene(ApiKey.DELETE_RECORDS)
def delete_records(play: Asker, version: int) -> None:
    rows = [{"partition_index": 0, "offset": 0}]
    topics = [{"name": topic, "partitions": rows} for topic in (*WRITTEN, *UNKNOWN)]
    play.call(ApiKey.DELETE_RECORDS, version, topics=topics, timeout_ms=TIMEOUT_MS)


@scene(ApiKey.DESCRIBE_PRODUCERS)
def describe_producers(play: Asker, version: int) -> None:
    topics = [{"name": topic, "partition_indexes": [0, 9]} for topic in (*SHARED, *UNKNOWN, "a b")]

    def without_producers(answer: Any) -> None:  # scenes of transactions leave some
        for topic in answer.topics:
            for partition in topic.partitions:
                partition.active_producers = []

    play.call(ApiKey.DESCRIBE_PRODUCERS, version, trim=without_producers, topics=topics)


@scene(ApiKey.INIT_PRODUCER_ID)
def init_producer_id(play: Asker, version: int) -> None:
    play.until(
        lambda: not play.do(ApiKey.INIT_PRODUCER_ID, 0, transactional_id=None).error_code,
        "producer ids are there",
    )
    play.call(ApiKey.INIT_PRODUCER_ID, version, transactional_id=None, transaction_timeout_ms=1000)
    play.call(
        ApiKey.INIT_PRODUCER_ID, version, transactional_id=None, producer_id=5, transaction_timeout_ms=1000
    )
