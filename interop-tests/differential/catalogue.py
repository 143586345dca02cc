"""Where scenarios are registered, and the versions they are played at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from differential.play import Play
from kcompat.api.registry import SERVED
from kcompat.protocol.api_keys import ApiKey

Scene: TypeAlias = Callable[[Play, int], None]

KAFKA_3_9_LAST = {
    ApiKey.PRODUCE: 11, ApiKey.FETCH: 17, ApiKey.LIST_OFFSETS: 9, ApiKey.METADATA: 12,
    ApiKey.OFFSET_COMMIT: 9, ApiKey.OFFSET_FETCH: 9, ApiKey.FIND_COORDINATOR: 6, ApiKey.JOIN_GROUP: 9,
    ApiKey.HEARTBEAT: 4, ApiKey.LEAVE_GROUP: 5, ApiKey.SYNC_GROUP: 5, ApiKey.DESCRIBE_GROUPS: 5,
    ApiKey.LIST_GROUPS: 5, ApiKey.API_VERSIONS: 4, ApiKey.CREATE_TOPICS: 7, ApiKey.DELETE_TOPICS: 6,
    ApiKey.DELETE_RECORDS: 2, ApiKey.INIT_PRODUCER_ID: 5, ApiKey.OFFSET_FOR_LEADER_EPOCH: 4,
    ApiKey.DESCRIBE_ACLS: 3, ApiKey.CREATE_ACLS: 3, ApiKey.DELETE_ACLS: 3,
    ApiKey.DESCRIBE_CONFIGS: 4, ApiKey.ALTER_CONFIGS: 2, ApiKey.DESCRIBE_LOG_DIRS: 4,
    ApiKey.CREATE_PARTITIONS: 3, ApiKey.DELETE_GROUPS: 2, ApiKey.INCREMENTAL_ALTER_CONFIGS: 1,
    ApiKey.OFFSET_DELETE: 0, ApiKey.DESCRIBE_CLUSTER: 1, ApiKey.DESCRIBE_PRODUCERS: 0,
    ApiKey.LIST_CONFIG_RESOURCES: 0, ApiKey.DESCRIBE_TOPIC_PARTITIONS: 0, ApiKey.ELECT_LEADERS: 2,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: 0, ApiKey.LIST_PARTITION_REASSIGNMENTS: 0,
    ApiKey.ALTER_REPLICA_LOG_DIRS: 2,
    ApiKey.UPDATE_FEATURES: 1,
    ApiKey.ADD_PARTITIONS_TO_TXN: 5, ApiKey.ADD_OFFSETS_TO_TXN: 4, ApiKey.END_TXN: 4,
    ApiKey.WRITE_TXN_MARKERS: 1, ApiKey.TXN_OFFSET_COMMIT: 4,
    ApiKey.DESCRIBE_TRANSACTIONS: 0, ApiKey.LIST_TRANSACTIONS: 1,
    ApiKey.SASL_HANDSHAKE: 1, ApiKey.SASL_AUTHENTICATE: 2,
    ApiKey.CREATE_DELEGATION_TOKEN: 3, ApiKey.RENEW_DELEGATION_TOKEN: 2, ApiKey.EXPIRE_DELEGATION_TOKEN: 2,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: 3, ApiKey.DESCRIBE_CLIENT_QUOTAS: 1, ApiKey.ALTER_CLIENT_QUOTAS: 1,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: 0, ApiKey.ALTER_USER_SCRAM_CREDENTIALS: 0,
    ApiKey.DESCRIBE_QUORUM: 2,
}  # fmt: skip
"""The last version of each API that a Kafka 3.9.2 advertises; a test holds it against the running one."""

KAFKA_4_3_LAST = {
    ApiKey.PRODUCE: 13, ApiKey.FETCH: 18, ApiKey.LIST_OFFSETS: 11, ApiKey.METADATA: 13,
    ApiKey.OFFSET_COMMIT: 10, ApiKey.OFFSET_FETCH: 10, ApiKey.DESCRIBE_GROUPS: 6, ApiKey.DESCRIBE_CLUSTER: 2,
    ApiKey.DESCRIBE_LOG_DIRS: 5, ApiKey.LIST_CONFIG_RESOURCES: 1, ApiKey.ALTER_PARTITION_REASSIGNMENTS: 1,
    ApiKey.UPDATE_FEATURES: 2, ApiKey.END_TXN: 5, ApiKey.WRITE_TXN_MARKERS: 2, ApiKey.TXN_OFFSET_COMMIT: 5,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: 1, ApiKey.CONSUMER_GROUP_DESCRIBE: 1, ApiKey.LIST_TRANSACTIONS: 2,
    ApiKey.SHARE_GROUP_HEARTBEAT: 1, ApiKey.SHARE_GROUP_DESCRIBE: 1, ApiKey.SHARE_FETCH: 2,
    ApiKey.SHARE_ACKNOWLEDGE: 2, ApiKey.INITIALIZE_SHARE_GROUP_STATE: 0, ApiKey.READ_SHARE_GROUP_STATE: 0,
    ApiKey.WRITE_SHARE_GROUP_STATE: 1, ApiKey.DELETE_SHARE_GROUP_STATE: 0,
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: 1, ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: 1,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: 0, ApiKey.DELETE_SHARE_GROUP_OFFSETS: 0,
    ApiKey.STREAMS_GROUP_HEARTBEAT: 0, ApiKey.STREAMS_GROUP_DESCRIBE: 0,
}  # fmt: skip
"""Where a Kafka 4.3.0 goes further, or is the reference for all versions: consumer groups have changed,
share and streams groups are new."""

AMONG_BROKERS = {
    ApiKey.LEADER_AND_ISR: 7, ApiKey.STOP_REPLICA: 4, ApiKey.UPDATE_METADATA: 8,
    ApiKey.CONTROLLED_SHUTDOWN: 3, ApiKey.ALTER_PARTITION: 3, ApiKey.ALLOCATE_PRODUCER_IDS: 0,
}  # fmt: skip
"""APIs among brokers and the controller, with the last version that a Kafka 3.9.2 with ZooKeeper has. A
Kafka without ZooKeeper does not serve them at client listeners.
"""

NOT_SERVED = {ApiKey.UNREGISTER_BROKER, ApiKey.ADD_RAFT_VOTER, ApiKey.REMOVE_RAFT_VOTER}
"""APIs that a Kafka with KRaft serves to clients and kcompat does not: they change a KRaft quorum."""

WITH_ZOOKEEPER = {
    ApiKey.ELECT_LEADERS, ApiKey.ALTER_PARTITION_REASSIGNMENTS, ApiKey.LIST_PARTITION_REASSIGNMENTS,
    ApiKey.ALTER_REPLICA_LOG_DIRS,
    ApiKey.UPDATE_FEATURES,
}  # fmt: skip
"""Compared with a Kafka that has ZooKeeper, and other answers (`among_three.py`)."""

_OURS = {served.key: served for served in SERVED}


@dataclass(frozen=True)
class Scenario:
    """A scene and the versions of the API it is about."""

    name: str
    scene: Scene
    key: ApiKey
    versions: range


SCENARIOS: list[Scenario] = []


def common_versions(key: ApiKey) -> range:
    """The versions of an API that we and one of the references serve."""
    ours = _OURS[key]
    last = {**AMONG_BROKERS, **KAFKA_3_9_LAST, **KAFKA_4_3_LAST}[key]
    return range(ours.min_version, min(ours.max_version, last) + 1)


def release_of(key: ApiKey, version: int) -> str:
    """The Kafka that is the reference for a version."""
    last = KAFKA_3_9_LAST.get(key, version if key in AMONG_BROKERS else -1)
    return "4.3.0" if version > last else "3.9.2"


def needs_zookeeper(key: ApiKey, version: int) -> bool:
    """Whether that Kafka has to have a ZooKeeper."""
    return key in AMONG_BROKERS or (key in WITH_ZOOKEEPER and release_of(key, version) == "3.9.2")


def scenario(key: ApiKey, since: int = 0, until: int = 99) -> Callable[[Scene], Scene]:
    """Play the decorated scene at every version of `key` from `since` to `until` that both brokers serve."""

    def register(scene: Scene) -> Scene:
        common = common_versions(key)
        versions = range(max(since, common.start), min(until + 1, common.stop))
        assert versions, f"{scene.__name__} is played at no version"
        SCENARIOS.append(Scenario(scene.__name__, scene, key, versions))
        return scene

    return register
