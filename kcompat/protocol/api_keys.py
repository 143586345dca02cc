"""Every API of the protocol: its key, versions, serving nodes, and the module of its messages."""

from __future__ import annotations

import importlib
from enum import IntEnum
from functools import cache
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import force_setattr

if TYPE_CHECKING:
    from kcompat.protocol.message import Message


class ApiKey(IntEnum):
    """API number at the start of a request header. The name in lower case is the module of the messages."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    LEADER_AND_ISR = 4
    STOP_REPLICA = 5
    UPDATE_METADATA = 6
    CONTROLLED_SHUTDOWN = 7
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    WRITE_TXN_MARKERS = 27
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_ACLS = 29
    CREATE_ACLS = 30
    DELETE_ACLS = 31
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    ALTER_REPLICA_LOG_DIRS = 34
    DESCRIBE_LOG_DIRS = 35
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    CREATE_DELEGATION_TOKEN = 38
    RENEW_DELEGATION_TOKEN = 39
    EXPIRE_DELEGATION_TOKEN = 40
    DESCRIBE_DELEGATION_TOKEN = 41
    DELETE_GROUPS = 42
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    OFFSET_DELETE = 47
    DESCRIBE_CLIENT_QUOTAS = 48
    ALTER_CLIENT_QUOTAS = 49
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50
    ALTER_USER_SCRAM_CREDENTIALS = 51
    VOTE = 52
    BEGIN_QUORUM_EPOCH = 53
    END_QUORUM_EPOCH = 54
    DESCRIBE_QUORUM = 55
    ALTER_PARTITION = 56
    UPDATE_FEATURES = 57
    ENVELOPE = 58
    FETCH_SNAPSHOT = 59
    DESCRIBE_CLUSTER = 60
    DESCRIBE_PRODUCERS = 61
    BROKER_REGISTRATION = 62
    BROKER_HEARTBEAT = 63
    UNREGISTER_BROKER = 64
    DESCRIBE_TRANSACTIONS = 65
    LIST_TRANSACTIONS = 66
    ALLOCATE_PRODUCER_IDS = 67
    CONSUMER_GROUP_HEARTBEAT = 68
    CONSUMER_GROUP_DESCRIBE = 69
    CONTROLLER_REGISTRATION = 70
    GET_TELEMETRY_SUBSCRIPTIONS = 71
    PUSH_TELEMETRY = 72
    ASSIGN_REPLICAS_TO_DIRS = 73
    LIST_CONFIG_RESOURCES = 74
    DESCRIBE_TOPIC_PARTITIONS = 75
    SHARE_GROUP_HEARTBEAT = 76
    SHARE_GROUP_DESCRIBE = 77
    SHARE_FETCH = 78
    SHARE_ACKNOWLEDGE = 79
    ADD_RAFT_VOTER = 80
    REMOVE_RAFT_VOTER = 81
    UPDATE_RAFT_VOTER = 82
    INITIALIZE_SHARE_GROUP_STATE = 83
    READ_SHARE_GROUP_STATE = 84
    WRITE_SHARE_GROUP_STATE = 85
    DELETE_SHARE_GROUP_STATE = 86
    READ_SHARE_GROUP_STATE_SUMMARY = 87
    STREAMS_GROUP_HEARTBEAT = 88
    STREAMS_GROUP_DESCRIBE = 89
    DESCRIBE_SHARE_GROUP_OFFSETS = 90
    ALTER_SHARE_GROUP_OFFSETS = 91
    DELETE_SHARE_GROUP_OFFSETS = 92
    STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE = 93
    UNREGISTER_CONTROLLER = 94


_BROKER: Final = frozenset({"broker"})
_ZK: Final = frozenset({"zkBroker"})
_CONTROLLER: Final = frozenset({"controller"})
_BOTH: Final = _BROKER | _CONTROLLER


class ApiFacts(Struct, frozen=True):
    """Facts about an API from Kafka's schema, independent of the versions that a broker serves.

    `last` is the highest existing version (all begin at 0), `first_flexible` the first with KIP-482 encoding,
    or None. `listeners` are the kinds of Kafka node that answer the API: `broker`, `controller`, or
    `zkBroker` (a broker of a cluster with ZooKeeper). A `cluster_action` API is used only between brokers. A
    broker forwards a `forwardable` request to the controller (KIP-590).
    """

    key: ApiKey
    last: int
    first_flexible: int | None
    listeners: frozenset[str]
    latest_stable: int = -1
    cluster_action: bool = False
    forwardable: bool = False

    def __post_init__(self) -> None:
        if self.latest_stable < 0:
            force_setattr(self, "latest_stable", self.last)

    @property
    def versions(self) -> range:
        """Every existing version."""
        return range(self.last + 1)

    def is_flexible(self, version: int) -> bool:
        """Return whether a version has compact lengths and tagged fields (KIP-482)."""
        return self.first_flexible is not None and version >= self.first_flexible

    def request_header_version(self, version: int) -> int:
        """Return the version of the request header for a version of the API."""
        if self.key == ApiKey.CONTROLLED_SHUTDOWN and version == 0:
            return 0
        return 2 if self.is_flexible(version) else 1

    def response_header_version(self, version: int) -> int:
        """Return the version of the response header; for ApiVersions it is always 0, so that any client can
        read it (KIP-511).
        """
        return int(self.key != ApiKey.API_VERSIONS and self.is_flexible(version))


_TABLE: Final = (
    ApiFacts(ApiKey.PRODUCE, 13, 9, _BROKER),
    ApiFacts(ApiKey.FETCH, 18, 12, _BOTH),
    ApiFacts(ApiKey.LIST_OFFSETS, 11, 6, _BROKER),
    ApiFacts(ApiKey.METADATA, 13, 9, _BROKER),
    ApiFacts(ApiKey.LEADER_AND_ISR, 7, 4, _ZK, cluster_action=True),
    ApiFacts(ApiKey.STOP_REPLICA, 4, 2, _ZK, cluster_action=True),
    ApiFacts(ApiKey.UPDATE_METADATA, 8, 6, _ZK, cluster_action=True),
    ApiFacts(ApiKey.CONTROLLED_SHUTDOWN, 3, 3, _ZK | _CONTROLLER, cluster_action=True),
    ApiFacts(ApiKey.OFFSET_COMMIT, 10, 8, _BROKER),
    ApiFacts(ApiKey.OFFSET_FETCH, 10, 6, _BROKER),
    ApiFacts(ApiKey.FIND_COORDINATOR, 6, 3, _BROKER),
    ApiFacts(ApiKey.JOIN_GROUP, 9, 6, _BROKER),
    ApiFacts(ApiKey.HEARTBEAT, 4, 4, _BROKER),
    ApiFacts(ApiKey.LEAVE_GROUP, 5, 4, _BROKER),
    ApiFacts(ApiKey.SYNC_GROUP, 5, 4, _BROKER),
    ApiFacts(ApiKey.DESCRIBE_GROUPS, 6, 5, _BROKER),
    ApiFacts(ApiKey.LIST_GROUPS, 5, 3, _BROKER),
    ApiFacts(ApiKey.SASL_HANDSHAKE, 1, None, _BOTH),
    ApiFacts(ApiKey.API_VERSIONS, 5, 3, _BOTH),
    ApiFacts(ApiKey.CREATE_TOPICS, 7, 5, _BOTH, forwardable=True),
    ApiFacts(ApiKey.DELETE_TOPICS, 6, 4, _BOTH, forwardable=True),
    ApiFacts(ApiKey.DELETE_RECORDS, 2, 2, _BROKER),
    ApiFacts(ApiKey.INIT_PRODUCER_ID, 6, 2, _BROKER, latest_stable=5),
    ApiFacts(ApiKey.OFFSET_FOR_LEADER_EPOCH, 4, 4, _BROKER),
    ApiFacts(ApiKey.ADD_PARTITIONS_TO_TXN, 5, 3, _BROKER),
    ApiFacts(ApiKey.ADD_OFFSETS_TO_TXN, 4, 3, _BROKER),
    ApiFacts(ApiKey.END_TXN, 5, 3, _BROKER),
    ApiFacts(ApiKey.WRITE_TXN_MARKERS, 2, 1, _BROKER, cluster_action=True),
    ApiFacts(ApiKey.TXN_OFFSET_COMMIT, 6, 3, _BROKER),
    ApiFacts(ApiKey.DESCRIBE_ACLS, 3, 2, _BOTH),
    ApiFacts(ApiKey.CREATE_ACLS, 3, 2, _BOTH, forwardable=True),
    ApiFacts(ApiKey.DELETE_ACLS, 3, 2, _BOTH, forwardable=True),
    ApiFacts(ApiKey.DESCRIBE_CONFIGS, 4, 4, _BOTH),
    ApiFacts(ApiKey.ALTER_CONFIGS, 2, 2, _BOTH, forwardable=True),
    ApiFacts(ApiKey.ALTER_REPLICA_LOG_DIRS, 2, 2, _BROKER),
    ApiFacts(ApiKey.DESCRIBE_LOG_DIRS, 5, 2, _BROKER),
    ApiFacts(ApiKey.SASL_AUTHENTICATE, 2, 2, _BOTH),
    ApiFacts(ApiKey.CREATE_PARTITIONS, 3, 2, _BOTH, forwardable=True),
    ApiFacts(ApiKey.CREATE_DELEGATION_TOKEN, 3, 2, _BOTH, forwardable=True),
    ApiFacts(ApiKey.RENEW_DELEGATION_TOKEN, 2, 2, _BOTH, forwardable=True),
    ApiFacts(ApiKey.EXPIRE_DELEGATION_TOKEN, 2, 2, _BOTH, forwardable=True),
    ApiFacts(ApiKey.DESCRIBE_DELEGATION_TOKEN, 3, 2, _BOTH),
    ApiFacts(ApiKey.DELETE_GROUPS, 3, 2, _BROKER),
    ApiFacts(ApiKey.ELECT_LEADERS, 2, 2, _BOTH, forwardable=True),
    ApiFacts(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, 1, _BOTH, forwardable=True),
    ApiFacts(ApiKey.ALTER_PARTITION_REASSIGNMENTS, 1, 0, _BOTH, forwardable=True),
    ApiFacts(ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, 0, _BOTH, forwardable=True),
    ApiFacts(ApiKey.OFFSET_DELETE, 0, None, _BROKER),
    ApiFacts(ApiKey.DESCRIBE_CLIENT_QUOTAS, 1, 1, _BROKER),
    ApiFacts(ApiKey.ALTER_CLIENT_QUOTAS, 1, 1, _BOTH, forwardable=True),
    ApiFacts(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, 0, _BOTH),
    ApiFacts(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, 0, _BOTH, forwardable=True),
    ApiFacts(ApiKey.VOTE, 2, 0, _CONTROLLER, cluster_action=True),
    ApiFacts(ApiKey.BEGIN_QUORUM_EPOCH, 1, 1, _CONTROLLER, cluster_action=True),
    ApiFacts(ApiKey.END_QUORUM_EPOCH, 1, 1, _CONTROLLER, cluster_action=True),
    ApiFacts(ApiKey.DESCRIBE_QUORUM, 2, 0, _BOTH, cluster_action=True, forwardable=True),
    ApiFacts(ApiKey.ALTER_PARTITION, 3, 0, _ZK | _CONTROLLER, cluster_action=True),
    ApiFacts(ApiKey.UPDATE_FEATURES, 2, 0, _BOTH, cluster_action=True, forwardable=True),
    ApiFacts(ApiKey.ENVELOPE, 0, 0, _CONTROLLER, cluster_action=True),
    ApiFacts(ApiKey.FETCH_SNAPSHOT, 1, 0, _CONTROLLER),
    ApiFacts(ApiKey.DESCRIBE_CLUSTER, 2, 0, _BOTH),
    ApiFacts(ApiKey.DESCRIBE_PRODUCERS, 0, 0, _BROKER),
    ApiFacts(ApiKey.BROKER_REGISTRATION, 4, 0, _CONTROLLER, cluster_action=True),
    ApiFacts(ApiKey.BROKER_HEARTBEAT, 2, 0, _CONTROLLER, cluster_action=True),
    ApiFacts(ApiKey.UNREGISTER_BROKER, 0, 0, _BOTH, forwardable=True),
    ApiFacts(ApiKey.DESCRIBE_TRANSACTIONS, 0, 0, _BROKER),
    ApiFacts(ApiKey.LIST_TRANSACTIONS, 2, 0, _BROKER),
    ApiFacts(ApiKey.ALLOCATE_PRODUCER_IDS, 0, 0, _ZK | _CONTROLLER, cluster_action=True, forwardable=True),
    ApiFacts(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, 0, _BROKER),
    ApiFacts(ApiKey.CONSUMER_GROUP_DESCRIBE, 1, 0, _BROKER),
    ApiFacts(ApiKey.CONTROLLER_REGISTRATION, 0, 0, _CONTROLLER),
    ApiFacts(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, 0, 0, _BROKER),
    ApiFacts(ApiKey.PUSH_TELEMETRY, 0, 0, _BROKER),
    ApiFacts(ApiKey.ASSIGN_REPLICAS_TO_DIRS, 0, 0, _CONTROLLER),
    ApiFacts(ApiKey.LIST_CONFIG_RESOURCES, 1, 0, _BROKER),
    ApiFacts(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, 0, _BROKER),
    ApiFacts(ApiKey.SHARE_GROUP_HEARTBEAT, 1, 0, _BROKER),
    ApiFacts(ApiKey.SHARE_GROUP_DESCRIBE, 1, 0, _BROKER),
    ApiFacts(ApiKey.SHARE_FETCH, 2, 0, _BROKER),
    ApiFacts(ApiKey.SHARE_ACKNOWLEDGE, 2, 0, _BROKER),
    ApiFacts(ApiKey.ADD_RAFT_VOTER, 1, 0, _BOTH, forwardable=True),
    ApiFacts(ApiKey.REMOVE_RAFT_VOTER, 0, 0, _BOTH, forwardable=True),
    ApiFacts(ApiKey.UPDATE_RAFT_VOTER, 0, 0, _CONTROLLER),
    ApiFacts(ApiKey.INITIALIZE_SHARE_GROUP_STATE, 0, 0, _BROKER, cluster_action=True),
    ApiFacts(ApiKey.READ_SHARE_GROUP_STATE, 0, 0, _BROKER, cluster_action=True),
    ApiFacts(ApiKey.WRITE_SHARE_GROUP_STATE, 1, 0, _BROKER, cluster_action=True),
    ApiFacts(ApiKey.DELETE_SHARE_GROUP_STATE, 0, 0, _BROKER, cluster_action=True),
    ApiFacts(ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, 1, 0, _BROKER, cluster_action=True),
    ApiFacts(ApiKey.STREAMS_GROUP_HEARTBEAT, 1, 0, _BROKER),
    ApiFacts(ApiKey.STREAMS_GROUP_DESCRIBE, 1, 0, _BROKER),
    ApiFacts(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, 1, 0, _BROKER),
    ApiFacts(ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0, 0, _BROKER),
    ApiFacts(ApiKey.DELETE_SHARE_GROUP_OFFSETS, 0, 0, _BROKER),
    ApiFacts(ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE, 0, 0, _BROKER),
    ApiFacts(ApiKey.UNREGISTER_CONTROLLER, 0, 0, _BOTH, forwardable=True),
)

API_FACTS: Final[dict[int, ApiFacts]] = {int(facts.key): facts for facts in _TABLE}


@cache
def request_class(key: int) -> type[Message]:
    """Return the request class of an API, imported on first use. Raises KeyError for an unknown key."""
    return _message_class(key, "Request")


@cache
def response_class(key: int) -> type[Message]:
    """Return the response class of an API, imported on first use. Raises KeyError for an unknown key."""
    return _message_class(key, "Response")


def _message_class(key: int, suffix: str) -> type[Message]:
    name = API_FACTS[key].key.name.lower()
    module = importlib.import_module(f"kcompat.protocol.messages.{name}")
    found: type[Message] = getattr(module, name.title().replace("_", "") + suffix)
    return found
