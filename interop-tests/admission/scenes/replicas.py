"""Replicas: which of them leads, where they are, and which features the cluster has."""

from __future__ import annotations

from typing import Any

from admission.stage import DENIED, SHARED, TIMEOUT_MS, UNKNOWN, Asker, scene
from kcompat.protocol.api_keys import ApiKey

NOBODY = 9
"""A broker that is not there."""
NOWHERE = "/nowhere"
FIRST_WITH_KINDS = 1


@scene(ApiKey.ELECT_LEADERS, 0, 1, 2)
def elect_leaders(play: Asker, version: int) -> None:
    rows = [{"topic": topic, "partitions": [0, 3]} for topic in (*SHARED, *UNKNOWN)]
    for kind in (0, 1) if version >= FIRST_WITH_KINDS else (0,):
        for asked in (rows, [], None):
            fields = {"topic_partitions": asked, "timeout_ms": TIMEOUT_MS}
            play.call(ApiKey.ELECT_LEADERS, version, election_type=kind, **fields)


@scene(ApiKey.ALTER_PARTITION_REASSIGNMENTS)
def alter_partition_reassignments(play: Asker, version: int) -> None:
    key = ApiKey.ALTER_PARTITION_REASSIGNMENTS
    for replicas in (None, [], [NOBODY]):
        rows = [{"partition_index": index, "replicas": replicas} for index in (0, 3)]
        asked = [{"name": topic, "partitions": rows} for topic in (*SHARED, *UNKNOWN)]
        for topics in (asked, asked[1:2]):
            play.call(key, version, trim=_few_reasons, topics=topics, timeout_ms=TIMEOUT_MS)
    play.call(key, version, topics=[], timeout_ms=TIMEOUT_MS)


def _few_reasons(answer: Any) -> None:
    """A Kafka without ZooKeeper, which version 1 is compared with, gives other reasons."""
    for topic in answer.responses:
        for row in topic.partitions:
            if row.error_code not in DENIED:
                row.error_message = None


@scene(ApiKey.LIST_PARTITION_REASSIGNMENTS)
def list_partition_reassignments(play: Asker, version: int) -> None:
    named = [{"name": topic, "partition_indexes": [0, 3]} for topic in (*SHARED, *UNKNOWN)]
    for topics in (named, [], None):
        play.call(ApiKey.LIST_PARTITION_REASSIGNMENTS, version, topics=topics, timeout_ms=TIMEOUT_MS)


@scene(ApiKey.ALTER_REPLICA_LOG_DIRS, 0, 1, 2)
def alter_replica_log_dirs(play: Asker, version: int) -> None:
    topics = [{"name": topic, "partitions": [0, 3]} for topic in (*SHARED, *UNKNOWN)]
    for dirs in ([{"path": NOWHERE, "topics": topics}], [{"path": NOWHERE, "topics": []}], []):
        play.call(ApiKey.ALTER_REPLICA_LOG_DIRS, version, dirs=dirs)


@scene(ApiKey.UPDATE_FEATURES, 0, 1, 2)
def update_features(play: Asker, version: int) -> None:
    for names in (["no feature", "nor this"], []):
        updates = [{"feature": name, "max_version_level": 1} for name in names]
        play.call(ApiKey.UPDATE_FEATURES, version, feature_updates=updates, timeout_ms=TIMEOUT_MS)
