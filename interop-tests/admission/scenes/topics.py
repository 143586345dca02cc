"""Topics: described, made, deleted, and given more partitions."""

from __future__ import annotations

from typing import Any

from admission.stage import DENIED, SECRET_TOPIC, SHARED, TIMEOUT_MS, UNKNOWN, Asker, scene
from differential.scenarios.topics import few_configs, wanted
from kcompat.protocol.api_keys import ApiKey

METADATA = ApiKey.METADATA


@scene(ApiKey.METADATA, 0, 1, 4, 8, 10, 12, 13)
def metadata(play: Asker, version: int) -> None:
    operations = {
        "include_topic_authorized_operations": True,
        "include_cluster_authorized_operations": 8 <= version <= 10,
    }
    for topic in SHARED:
        play.topic_id(topic)
    topics = [{"name": topic} for topic in (*SHARED, *UNKNOWN, "secret/illegal")]
    if version >= 4:
        play.call(METADATA, version, topics=topics, allow_auto_topic_creation=False)
        if version >= 8:
            play.call(METADATA, version, topics=topics, allow_auto_topic_creation=False, **operations)
    else:
        play.call(METADATA, version, topics=topics[:2])

    def shared(answer: Any) -> None:
        answer.topics = [row for row in answer.topics if row.name in SHARED]

    everything = None if version >= 1 else []
    play.call(METADATA, version, trim=shared, topics=everything, **operations)
    if version >= 12:
        for topic in (*SHARED, UNKNOWN[1]):
            play.call(
                METADATA, version, topics=[{"name": None, "topic_id": play.topic_id(topic)}], **operations
            )


@scene(ApiKey.METADATA, 1, 9, 12)
def metadata_that_creates(play: Asker, version: int) -> None:
    def whether_denied(answer: Any) -> None:
        """Drop the parts of the answer that differ when a topic is created at once or a little later."""
        for row in answer.topics:
            if row.error_code not in DENIED:
                row.error_code, row.topic_id, row.partitions = 0, bytes(16), []

    names = [play.name("open"), play.name("secret"), "a b"]
    asked = [{"name": name} for name in names]
    play.call(METADATA, version, trim=whether_denied, topics=asked, allow_auto_topic_creation=True)


@scene(ApiKey.DESCRIBE_TOPIC_PARTITIONS)
def describe_topic_partitions(play: Asker, version: int) -> None:
    def shared(answer: Any) -> None:
        answer.topics = [row for row in answer.topics if row.name in SHARED]

    for topic in SHARED:
        play.topic_id(topic)
    topics = [{"name": topic} for topic in (*SHARED, *UNKNOWN, "secret/illegal")]
    key = ApiKey.DESCRIBE_TOPIC_PARTITIONS
    play.call(key, version, topics=topics, response_partition_limit=2000)
    play.call(key, version, trim=shared, topics=[], response_partition_limit=2000)
    for name in (UNKNOWN[1], SECRET_TOPIC):
        cursor = {"topic_name": name, "partition_index": 0}
        play.call(key, version, topics=topics, response_partition_limit=1, cursor=cursor)
    play.call(key, version, topics=topics[:2], response_partition_limit=1)
    cursor = {"topic_name": "neither", "partition_index": 0}
    play.call(key, version, topics=topics, response_partition_limit=1, cursor=cursor)


@scene(ApiKey.CREATE_TOPICS, 0, 4, 5, 7)
def create_topics(play: Asker, version: int) -> None:
    names = [play.name("open"), play.name("secret")]
    create = ApiKey.CREATE_TOPICS
    late = [wanted(play.name("secret"))]
    play.call(create, version, trim=few_configs, topics=late, timeout_ms=0)
    twice = wanted(play.name("secret-twice"))
    asked = [*(wanted(name) for name in names), wanted(SECRET_TOPIC), twice, twice, wanted("a b")]
    asked.append(wanted("__cluster_metadata"))
    play.call(create, version, trim=few_configs, topics=asked, timeout_ms=TIMEOUT_MS)


@scene(ApiKey.DELETE_TOPICS, 1, 5, 6)
def delete_topics(play: Asker, version: int) -> None:
    names = play.topics()
    asked = [*names, *UNKNOWN, SECRET_TOPIC + "x", SECRET_TOPIC + "x"]
    delete = ApiKey.DELETE_TOPICS
    rows = [{"name": name} for name in asked]
    late = {"topics": rows[1:2], "topic_names": names[1:], "timeout_ms": 0}
    play.call(delete, version, **late)
    if version < 6:
        play.call(delete, version, topic_names=asked, timeout_ms=TIMEOUT_MS)
        return
    ids = [{"name": None, "topic_id": play.topic_id(name)} for name in (*names, UNKNOWN[1])]
    both = [{"name": name, "topic_id": play.topic_id(name)} for name in names]
    play.call(delete, version, topics=both, timeout_ms=TIMEOUT_MS)
    play.call(delete, version, topics=[rows[0], ids[0], rows[1], ids[1]], timeout_ms=TIMEOUT_MS)
    play.call(delete, version, topics=ids, timeout_ms=TIMEOUT_MS)
    play.call(delete, version, topics=[{"name": name} for name in UNKNOWN], timeout_ms=TIMEOUT_MS)


@scene(ApiKey.CREATE_PARTITIONS)
def create_partitions(play: Asker, version: int) -> None:
    names = play.topics()
    key = ApiKey.CREATE_PARTITIONS
    asked = [{"name": name, "count": 2, "assignments": None} for name in (*names, *UNKNOWN)]
    twice = [{"name": "secret-twice", "count": 2, "assignments": None}] * 2
    play.call(key, version, topics=asked[1:2], timeout_ms=0)
    play.call(key, version, topics=asked + twice, timeout_ms=TIMEOUT_MS)
