"""The one list of what the broker serves. ApiVersions, the coverage page and the parametrised tests come from
it.
"""

from __future__ import annotations

from kcompat.api import (
    alter_configs,
    api_versions,
    create_acls,
    create_partitions,
    create_topics,
    delete_acls,
    delete_groups,
    delete_records,
    delete_topics,
    describe_acls,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_log_dirs,
    describe_producers,
    describe_topic_partitions,
    fetch,
    find_coordinator,
    heartbeat,
    incremental_alter_configs,
    init_producer_id,
    join_group,
    leader_and_isr,
    leave_group,
    list_config_resources,
    list_groups,
    list_offsets,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    stop_replica,
    sync_group,
    update_metadata,
)
from kcompat.api.served import Handler, Served
from kcompat.net.answers import Mode
from kcompat.protocol.api_keys import API_FACTS, ApiKey


def _served(
    key: ApiKey,
    handle: Handler,
    *,
    since: int = 0,
    mode: Mode = Mode.BLOCKING,
) -> Served:
    return Served(
        key,
        handle,
        min_version=since,
        max_version=API_FACTS[key].latest_stable,
        mode=mode,
        listeners=API_FACTS[key].listeners,
    )


SERVED: tuple[Served, ...] = (
    _served(ApiKey.PRODUCE, produce.handle, mode=Mode.PIPELINED),
    _served(ApiKey.FETCH, fetch.handle, mode=Mode.INTERRUPTIBLE),
    _served(ApiKey.LIST_OFFSETS, list_offsets.handle),
    _served(ApiKey.METADATA, metadata.handle),
    _served(ApiKey.LEADER_AND_ISR, leader_and_isr.handle),
    _served(ApiKey.STOP_REPLICA, stop_replica.handle),
    _served(ApiKey.UPDATE_METADATA, update_metadata.handle),
    _served(ApiKey.OFFSET_COMMIT, offset_commit.handle),
    _served(ApiKey.OFFSET_FETCH, offset_fetch.handle),
    _served(ApiKey.FIND_COORDINATOR, find_coordinator.handle),
    _served(ApiKey.JOIN_GROUP, join_group.handle),
    _served(ApiKey.HEARTBEAT, heartbeat.handle),
    _served(ApiKey.LEAVE_GROUP, leave_group.handle),
    _served(ApiKey.SYNC_GROUP, sync_group.handle),
    _served(ApiKey.DESCRIBE_GROUPS, describe_groups.handle),
    _served(ApiKey.LIST_GROUPS, list_groups.handle),
    _served(ApiKey.API_VERSIONS, api_versions.handle),
    _served(ApiKey.CREATE_TOPICS, create_topics.handle),
    _served(ApiKey.DELETE_TOPICS, delete_topics.handle),
    _served(ApiKey.DELETE_RECORDS, delete_records.handle),
    _served(ApiKey.INIT_PRODUCER_ID, init_producer_id.handle),
    _served(ApiKey.OFFSET_FOR_LEADER_EPOCH, offset_for_leader_epoch.handle),
    _served(ApiKey.DESCRIBE_ACLS, describe_acls.handle),
    _served(ApiKey.CREATE_ACLS, create_acls.handle),
    _served(ApiKey.DELETE_ACLS, delete_acls.handle),
    _served(ApiKey.DESCRIBE_CONFIGS, describe_configs.handle),
    _served(ApiKey.ALTER_CONFIGS, alter_configs.handle),
    _served(ApiKey.DESCRIBE_LOG_DIRS, describe_log_dirs.handle),
    _served(ApiKey.CREATE_PARTITIONS, create_partitions.handle),
    _served(ApiKey.DELETE_GROUPS, delete_groups.handle),
    _served(ApiKey.INCREMENTAL_ALTER_CONFIGS, incremental_alter_configs.handle),
    _served(ApiKey.OFFSET_DELETE, offset_delete.handle),
    _served(ApiKey.DESCRIBE_CLUSTER, describe_cluster.handle),
    _served(ApiKey.DESCRIBE_PRODUCERS, describe_producers.handle),
    _served(ApiKey.LIST_CONFIG_RESOURCES, list_config_resources.handle),
    _served(ApiKey.DESCRIBE_TOPIC_PARTITIONS, describe_topic_partitions.handle),
)
