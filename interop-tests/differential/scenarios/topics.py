"""CreateTopics, DeleteTopics and CreatePartitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from differential.catalogue import scenario
from differential.play import NOBODY
from differential.transactions import with_internal_topics
from kcompat.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from differential.play import Play

CREATE, DELETE, GROW = ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS, ApiKey.CREATE_PARTITIONS
SEVEN_KEYS = frozenset(
    {"cleanup.policy", "retention.ms", "segment.bytes", "compression.type", "max.message.bytes",
     "min.insync.replicas", "message.timestamp.type"}
)  # fmt: skip
"""Configs of a created topic that are compared; `describe_topic` compares all of them."""


def wanted(
    name: str, partitions: int = 1, replicas: int = 1, *, assigned: Any = (), **configs: str | None
) -> Any:
    """One topic to create; config names have _ for their dots."""
    return {
        "name": name,
        "num_partitions": partitions,
        "replication_factor": replicas,
        "assignments": [{"partition_index": index, "broker_ids": brokers} for index, brokers in assigned],
        "configs": [{"name": key.replace("_", "."), "value": value} for key, value in configs.items()],
    }


def few_configs(answer: Any) -> None:
    """Leave seven configs of each topic."""
    for topic in answer.topics:
        topic.configs = topic.configs and [row for row in topic.configs if row.name in SEVEN_KEYS]


def create(play: Play, version: int, *topics: Any, **fields: Any) -> None:
    """Create topics, and compare the answers."""
    play.call(CREATE, version, trim=few_configs, topics=list(topics), timeout_ms=10_000, **fields)


@scenario(CREATE)
def create_topics(play: Play, version: int) -> None:
    first = play.name("a")
    create(play, version, wanted(first, 2))
    play.await_topic(first, 2)
    create(play, version, wanted(first, 2))
    create(
        play, version, wanted(play.name("b")), wanted(play.name("c"), 3, retention_ms="1000"), wanted(first)
    )
    create(play, version, wanted(play.name("d"), -1, -1))
    create(play, version)


@scenario(CREATE)
def create_topics_with_every_kind_of_config(play: Play, version: int) -> None:
    configs = {
        "cleanup_policy": "compact,delete", "compression_type": "lz4", "max_message_bytes": "5000",
        "message_timestamp_type": "LogAppendTime", "min_insync_replicas": "1", "segment_bytes": "1048576",
        "retention_ms": "-1", "unclean_leader_election_enable": "true", "min_cleanable_dirty_ratio": "0.25",
        "follower_replication_throttled_replicas": "*", "preallocate": "false",
    }  # fmt: skip
    create(play, version, wanted(play.name("a"), **configs))


@scenario(CREATE, since=1)
def create_topics_only_validated(play: Play, version: int) -> None:
    first = play.topic("a")
    create(play, version, wanted(play.name("b"), 4), validate_only=True)
    create(play, version, wanted(first), validate_only=True)
    create(play, version, wanted(play.name("c"), 0), validate_only=True)
    fields = {"topics": [{"name": play.name("b")}], "allow_auto_topic_creation": False}
    play.call(ApiKey.METADATA, 9, **fields)


@scenario(CREATE)
def create_topics_named_twice(play: Play, version: int) -> None:
    create(play, version, wanted(play.name("a")), wanted(play.name("a")), wanted(play.name("b")))


@scenario(CREATE)
def create_topics_with_illegal_names(play: Play, version: int) -> None:
    for name in ("", ".", "..", "a b", "é", "a/b", "x" * 250):
        create(play, version, wanted(name))
    create(play, version, wanted(play.name("a.b")))
    play.await_topic(play.name("a.b"))
    create(play, version, wanted(play.name("a_b")))
    create(play, version, wanted(play.name("c.d")), wanted(play.name("c_d")))


@scenario(CREATE)
def create_topics_with_bad_counts(play: Play, version: int) -> None:
    for partitions, replicas in ((0, 1), (-2, 1), (1, 0), (1, -2), (1, 2), (1, 32767), (-1, 1), (1, -1)):
        create(play, version, wanted(play.name(f"{partitions}x{replicas}"), partitions, replicas))


@scenario(CREATE)
def create_topics_with_assignments(play: Play, version: int) -> None:
    for suffix, partitions, replicas, assigned in (
        ("good", -1, -1, [(0, [1]), (1, [1])]),
        ("counted", 2, -1, [(0, [1]), (1, [1])]),
        ("counted-too", -1, 1, [(0, [1]), (1, [1])]),
        ("nobody", -1, -1, [(0, [])]),
        ("stranger", -1, -1, [(0, [99])]),
        ("negative", -1, -1, [(0, [-1])]),
        ("repeated", -1, -1, [(0, [1, 1])]),
        ("gap", -1, -1, [(0, [1]), (2, [1])]),
        ("late", -1, -1, [(1, [1])]),
        ("twice", -1, -1, [(0, [1]), (0, [1])]),
        ("uneven", -1, -1, [(0, [1]), (1, [1, 2])]),
    ):
        create(play, version, wanted(play.name(suffix), partitions, replicas, assigned=assigned))


@scenario(CREATE)
def create_topics_with_bad_configs(play: Play, version: int) -> None:
    for suffix, configs in (
        ("unknown", {"no_such_key": "1"}),
        ("word", {"retention_ms": "soon"}),
        ("small", {"segment_bytes": "1"}),
        ("null", {"retention_ms": None}),
        ("empty", {"retention_ms": ""}),
        ("policy", {"cleanup_policy": "burn"}),
        ("no-policy", {"cleanup_policy": ""}),
        ("codec", {"compression_type": "rar"}),
        ("boolean", {"preallocate": "maybe"}),
        ("ratio", {"min_cleanable_dirty_ratio": "1.5"}),
        ("throttle", {"leader_replication_throttled_replicas": "1-2"}),
        ("spaces", {"retention_ms": " 1000 "}),
        ("lags", {"min_compaction_lag_ms": "10", "max_compaction_lag_ms": "5"}),
        ("long", {"retention_ms": "9223372036854775808"}),
        ("remote", {"remote_storage_enable": "true"}),
    ):
        create(play, version, wanted(play.name(suffix), **configs))


@scenario(CREATE)
def create_topics_with_a_config_twice(play: Play, version: int) -> None:
    topic = wanted(play.name("a"))
    topic["configs"] = [{"name": "retention.ms", "value": "1"}, {"name": "retention.ms", "value": "2"}]
    create(play, version, topic)


@scenario(CREATE)
def create_internal_topics(play: Play, version: int) -> None:
    with_internal_topics(play)
    create(play, version, wanted("__cluster_metadata"), wanted("__transaction_state", 0))


@scenario(DELETE)
def delete_topics(play: Play, version: int) -> None:
    names = [play.topic(suffix) for suffix in ("a", "b", "c")]

    def delete(*wanted_names: str) -> None:
        fields = {"topic_names": list(wanted_names), "topics": [{"name": name} for name in wanted_names]}
        play.call(DELETE, version, timeout_ms=10_000, **fields)

    delete(names[0])
    play.until(lambda: absent(play, names[0]), "the topic is gone")
    delete(names[0])
    delete(names[1], play.name("never"))
    delete(names[2], names[2])
    delete("no good", "", "..")
    delete()


def absent(play: Play, name: str) -> bool:
    """Whether the broker no longer knows a topic."""
    fields = {"topics": [{"name": name}], "allow_auto_topic_creation": False}
    return bool(play.do(ApiKey.METADATA, 9, **fields).topics[0].error_code)


@scenario(DELETE, since=6)
def delete_topics_by_id(play: Play, version: int) -> None:
    names = [play.topic(suffix) for suffix in ("a", "b", "c")]
    ids = [play.topic_id(name) for name in names]

    def delete(*rows: Any) -> None:
        play.call(DELETE, version, timeout_ms=10_000, topics=list(rows))

    delete({"name": None, "topic_id": ids[0]})
    play.until(lambda: absent(play, names[0]), "the topic is gone")
    delete({"name": None, "topic_id": ids[0]})
    delete({"name": None, "topic_id": play.known_id(NOBODY)})
    delete({"name": names[1], "topic_id": ids[1]})
    delete({"name": names[1], "topic_id": ids[2]})
    delete({"name": None, "topic_id": bytes(16)})
    delete({"name": None, "topic_id": ids[1]}, {"name": names[1]})
    delete({"name": None, "topic_id": ids[2]}, {"name": None, "topic_id": ids[2]})


@scenario(GROW)
def create_partitions(play: Play, version: int) -> None:
    topic = play.topic(partitions=2)

    def grow(count: int, assigned: Any = None, *, name: str = topic, **fields: Any) -> None:
        rows = assigned if assigned is None else [{"broker_ids": brokers} for brokers in assigned]
        topics = [{"name": name, "count": count, "assignments": rows}]
        play.call(GROW, version, topics=topics, timeout_ms=10_000, **fields)

    grow(3, validate_only=True)
    grow(3)
    play.await_topic(topic, 3)
    for count in (3, 2, 0, -1):
        grow(count)
    grow(4, [[1]])
    play.await_topic(topic, 4)
    for count, assigned in (
        (5, [[1], [1]]),
        (7, [[1]]),
        (5, [[99]]),
        (5, [[1, 1]]),
        (5, [[]]),
        (5, []),
        (5, [[-1]]),
    ):
        grow(count, assigned)
    for name in (play.name("never"), "no good", ""):
        grow(5, name=name)
    play.call(GROW, version, topics=[], timeout_ms=10_000)


@scenario(GROW)
def create_partitions_named_twice(play: Play, version: int) -> None:
    first, second = play.topic("a"), play.topic("b")
    rows = [{"name": first, "count": 2}, {"name": first, "count": 3}, {"name": second, "count": 2}]
    play.call(GROW, version, topics=[{**row, "assignments": None} for row in rows], timeout_ms=10_000)
