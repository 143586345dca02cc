"""Everything that clients can read from a broker, as one transcript: for brokers that should be equal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kcompat.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from differential.play import Play

TOPIC, BROKER = 2, 4
"""Types of resources that have configs."""
EVERY_ACL = {
    "resource_type_filter": 1, "resource_name_filter": None, "pattern_type_filter": 1,
    "principal_filter": None, "host_filter": None, "operation": 1, "permission_type": 1,
}  # fmt: skip
EARLIEST, LATEST, NEWEST = -2, -1, -3
"""Timestamps of ListOffsets; the last stands for the record with the largest timestamp."""
FETCH_BYTES = 10_000_000
OF_COORDINATORS = {"__consumer_offsets", "__transaction_state", "__share_group_state"}
"""Topics whose records have the times of one broker."""


def take(play: Play) -> None:
    """Record the answers to all requests that only read."""
    found = play.call(
        ApiKey.METADATA, 12, topics=None, include_topic_authorized_operations=True, trim=_in_order
    )
    topics = {str(topic.name): len(topic.partitions) for topic in found.topics}
    play.call(ApiKey.DESCRIBE_CLUSTER, 1, include_cluster_authorized_operations=True)
    play.call(ApiKey.API_VERSIONS, 4, client_software_name="inventory", client_software_version="1")
    _configs(play, topics)
    _partitions(play, topics)
    _groups(play)
    _transactions(play)
    _access(play)


def _in_order(answer: Any) -> None:
    """Sort the topics, whose ids are numbered as they come."""
    answer.topics.sort(key=lambda topic: topic.name)


def _configs(play: Play, topics: dict[str, int]) -> None:
    resources = [{"resource_type": TOPIC, "resource_name": name} for name in topics]
    resources += [{"resource_type": BROKER, "resource_name": name} for name in ("1", "")]
    play.call(ApiKey.DESCRIBE_CONFIGS, 4, resources=resources, include_synonyms=True, trim=_without_paths)


def _without_paths(answer: Any) -> None:
    """Remove configs that say where a broker is."""
    for result in answer.results:
        result.configs = [each for each in result.configs if each.name not in ("log.dirs", "listeners")]


def _partitions(play: Play, topics: dict[str, int]) -> None:
    def rows(**fields: Any) -> list[dict[str, Any]]:
        return [
            {"topic": name, "name": name, "partitions": [_row(index, fields) for index in range(count)]}
            for name, count in topics.items()
        ]

    for timestamp in (EARLIEST, LATEST, NEWEST):
        wanted = [
            _only(row, "name")
            for row in rows(partition_index=None, timestamp=timestamp)
            if timestamp != NEWEST or row["name"] not in OF_COORDINATORS
        ]
        play.call(ApiKey.LIST_OFFSETS, 8, replica_id=-1, topics=wanted)
    wanted = [_only(row, "topic") for row in rows(partition=None, current_leader_epoch=-1, leader_epoch=0)]
    play.call(ApiKey.OFFSET_FOR_LEADER_EPOCH, 4, replica_id=-1, topics=wanted)
    wanted = [{"name": name, "partition_indexes": list(range(count))} for name, count in topics.items()]
    play.call(ApiKey.DESCRIBE_PRODUCERS, 0, topics=wanted)
    play.call(ApiKey.DESCRIBE_LOG_DIRS, 4, topics=None)
    for isolation in (0, 1):
        for row in rows(partition=None, partition_max_bytes=FETCH_BYTES, fetch_offset=0):
            if row["topic"] not in OF_COORDINATORS:
                play.call(
                    ApiKey.FETCH, 12, replica_id=-1, max_wait_ms=0, min_bytes=0, max_bytes=FETCH_BYTES,
                    isolation_level=isolation, session_epoch=-1, topics=[_only(row, "topic")],
                )  # fmt: skip


def _row(index: int, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of one partition, whose index stands where a field is None."""
    return {name: index if value is None else value for name, value in fields.items()}


def _only(row: dict[str, Any], name: str) -> dict[str, Any]:
    return {name: row[name], "partitions": row["partitions"]}


def _groups(play: Play) -> None:
    listed = play.call(ApiKey.LIST_GROUPS, 5)
    for group in sorted(str(each.group_id) for each in listed.groups):
        play.call(ApiKey.DESCRIBE_GROUPS, 5, groups=[group])
        play.call(ApiKey.CONSUMER_GROUP_DESCRIBE, 1, group_ids=[group])
        play.call(ApiKey.SHARE_GROUP_DESCRIBE, 1, group_ids=[group])
        play.call(ApiKey.STREAMS_GROUP_DESCRIBE, 0, group_ids=[group])
        play.call(ApiKey.OFFSET_FETCH, 8, groups=[{"group_id": group, "topics": None}], require_stable=True)
        play.call(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, 1, groups=[{"group_id": group, "topics": None}])


def _transactions(play: Play) -> None:
    listed = play.call(ApiKey.LIST_TRANSACTIONS, 1)
    for name in sorted(str(each.transactional_id) for each in listed.transaction_states):
        play.call(ApiKey.DESCRIBE_TRANSACTIONS, 0, transactional_ids=[name])


def _access(play: Play) -> None:
    play.call(ApiKey.DESCRIBE_ACLS, 3, **EVERY_ACL)
    play.call(ApiKey.DESCRIBE_CLIENT_QUOTAS, 1, components=[], strict=False)
    play.call(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, users=None)
    play.call(ApiKey.DESCRIBE_DELEGATION_TOKEN, 3, owners=None)
    play.call(ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, topics=None, timeout_ms=1000)
    play.call(ApiKey.LIST_CONFIG_RESOURCES, 0)
