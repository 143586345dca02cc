"""Every error code of the protocol, with the client's reaction and a sentence that describes the error."""

from __future__ import annotations

import sys
from enum import IntEnum
from typing import Final, Self

_FINAL: Final = 0
_RETRY: Final = 1
_REFRESH: Final = 2


class ErrorCode(IntEnum):
    """An error code of responses. `message` describes the error.

    Clients send the request again after a `retriable` error; after one with `refresh_metadata` they ask for
    new metadata first.
    """

    message: str
    retriable: bool
    refresh_metadata: bool

    def __new__(cls, code: int, message: str, remedy: int = _FINAL) -> Self:
        """Create one member of the enumeration."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.message = message
        member.retriable = remedy != _FINAL
        member.refresh_metadata = remedy == _REFRESH
        return member

    UNKNOWN_SERVER_ERROR = -1, "The broker met a fault it did not expect."
    NONE = 0, "No error."
    OFFSET_OUT_OF_RANGE = 1, "The offset is before the start of the log or past its end."
    CORRUPT_MESSAGE = 2, "The checksum, size or form of a record batch is wrong.", _RETRY
    UNKNOWN_TOPIC_OR_PARTITION = 3, "This broker has no such topic or partition.", _REFRESH
    INVALID_FETCH_SIZE = 4, "The fetch size is not valid."
    LEADER_NOT_AVAILABLE = 5, "The partition has no leader at the moment.", _REFRESH
    NOT_LEADER_OR_FOLLOWER = 6, "This broker is not the leader, or not a replica, of the partition.", _REFRESH
    REQUEST_TIMED_OUT = 7, "The request was not done within its time.", _RETRY
    BROKER_NOT_AVAILABLE = 8, "The broker is not there."
    REPLICA_NOT_AVAILABLE = 9, "The replica is not there, or cannot serve the request.", _REFRESH
    MESSAGE_TOO_LARGE = 10, "A record batch is larger than the topic allows."
    STALE_CONTROLLER_EPOCH = 11, "The request comes from a controller that has been replaced."
    OFFSET_METADATA_TOO_LARGE = 12, "The metadata of a committed offset is too long."
    NETWORK_EXCEPTION = 13, "The connection went away before the answer came.", _REFRESH
    COORDINATOR_LOAD_IN_PROGRESS = 14, "The coordinator is still loading its state.", _RETRY
    COORDINATOR_NOT_AVAILABLE = 15, "There is no coordinator at the moment.", _RETRY
    NOT_COORDINATOR = 16, "Another broker is the coordinator.", _RETRY
    INVALID_TOPIC_EXCEPTION = 17, "The topic name is not allowed."
    RECORD_LIST_TOO_LARGE = 18, "The batch is larger than a segment of the log may be."
    NOT_ENOUGH_REPLICAS = 19, "Fewer replicas are in sync than the topic demands.", _RETRY
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20, "Written, but by fewer in-sync replicas than demanded.", _RETRY
    INVALID_REQUIRED_ACKS = 21, "acks is none of -1, 0 and 1."
    ILLEGAL_GENERATION = 22, "The generation is not the present one of the group."
    INCONSISTENT_GROUP_PROTOCOL = 23, "The member shares no protocol with the group."
    INVALID_GROUP_ID = 24, "The group id is not allowed."
    UNKNOWN_MEMBER_ID = 25, "The group has no such member."
    INVALID_SESSION_TIMEOUT = 26, "The session timeout is outside the limits of the broker."
    REBALANCE_IN_PROGRESS = 27, "The group is rebalancing; the member must join again."
    INVALID_COMMIT_OFFSET_SIZE = 28, "The offset commit is too large to be stored."
    TOPIC_AUTHORIZATION_FAILED = 29, "The principal may not do this to the topic."
    GROUP_AUTHORIZATION_FAILED = 30, "The principal may not do this to the group."
    CLUSTER_AUTHORIZATION_FAILED = 31, "The principal may not do this to the cluster."
    INVALID_TIMESTAMP = 32, "A record timestamp is out of the allowed range."
    UNSUPPORTED_SASL_MECHANISM = 33, "The listener does not offer this SASL mechanism."
    ILLEGAL_SASL_STATE = 34, "This request does not belong here in the authentication."
    UNSUPPORTED_VERSION = 35, "This version of the API is not supported."
    TOPIC_ALREADY_EXISTS = 36, "A topic of this name exists."
    INVALID_PARTITIONS = 37, "The number of partitions is not valid."
    INVALID_REPLICATION_FACTOR = (
        38,
        "The replication factor is not positive, or larger than the number of brokers.",
    )
    INVALID_REPLICA_ASSIGNMENT = 39, "The replica assignment is not valid."
    INVALID_CONFIG = 40, "A configuration entry is not valid."
    NOT_CONTROLLER = 41, "This broker is not the controller.", _RETRY
    INVALID_REQUEST = 42, "The request contradicts itself or the protocol."
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43, "The message format of the broker does not support this."
    POLICY_VIOLATION = 44, "A policy of the cluster forbids this."
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45, "A batch before this one of the producer is missing."
    DUPLICATE_SEQUENCE_NUMBER = 46, "The producer has sent this batch before."
    INVALID_PRODUCER_EPOCH = 47, "The producer has been replaced by one with a higher epoch."
    INVALID_TXN_STATE = 48, "The transaction is in a state that does not allow this."
    INVALID_PRODUCER_ID_MAPPING = 49, "The producer id does not belong to this transactional id."
    INVALID_TRANSACTION_TIMEOUT = 50, "The transaction timeout is longer than the broker allows."
    CONCURRENT_TRANSACTIONS = 51, "The previous transaction of this id is not finished yet.", _RETRY
    TRANSACTION_COORDINATOR_FENCED = 52, "A newer transaction coordinator has taken over."
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53, "The principal may not use this transactional id."
    SECURITY_DISABLED = 54, "Security features are not enabled."
    OPERATION_NOT_ATTEMPTED = 55, "Not tried, because another part of the request failed."
    KAFKA_STORAGE_ERROR = 56, "The log directory failed.", _REFRESH
    LOG_DIR_NOT_FOUND = 57, "The broker has no such log directory."
    SASL_AUTHENTICATION_FAILED = 58, "Authentication failed."
    UNKNOWN_PRODUCER_ID = 59, "The broker knows nothing of this producer id."
    REASSIGNMENT_IN_PROGRESS = 60, "The partition is being reassigned."
    DELEGATION_TOKEN_AUTH_DISABLED = 61, "Delegation tokens are not enabled."
    DELEGATION_TOKEN_NOT_FOUND = 62, "There is no such delegation token."
    DELEGATION_TOKEN_OWNER_MISMATCH = 63, "The principal is neither owner nor renewer of the token."
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64, "This connection may not ask for delegation tokens."
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65, "The principal may not do this to delegation tokens."
    DELEGATION_TOKEN_EXPIRED = 66, "The delegation token has expired."
    INVALID_PRINCIPAL_TYPE = 67, "This type of principal is not supported here."
    NON_EMPTY_GROUP = 68, "The group has members."
    GROUP_ID_NOT_FOUND = 69, "There is no such group."
    FETCH_SESSION_ID_NOT_FOUND = 70, "There is no such fetch session.", _RETRY
    INVALID_FETCH_SESSION_EPOCH = 71, "The fetch session is at another epoch.", _RETRY
    LISTENER_NOT_FOUND = 72, "The leader has no listener of the name this request came in by.", _REFRESH
    TOPIC_DELETION_DISABLED = 73, "Topics may not be deleted here."
    FENCED_LEADER_EPOCH = 74, "The leader epoch is older than the present one.", _REFRESH
    UNKNOWN_LEADER_EPOCH = 75, "The leader epoch is newer than this broker knows.", _RETRY
    UNSUPPORTED_COMPRESSION_TYPE = 76, "The client cannot read the compression of these records."
    STALE_BROKER_EPOCH = 77, "The broker has registered again since."
    OFFSET_NOT_AVAILABLE = 78, "The new leader does not know its high watermark yet.", _RETRY
    MEMBER_ID_REQUIRED = 79, "Join again with the member id given here."
    PREFERRED_LEADER_NOT_AVAILABLE = 80, "The preferred leader cannot lead now.", _REFRESH
    GROUP_MAX_SIZE_REACHED = 81, "The group is full."
    FENCED_INSTANCE_ID = 82, "Another member has joined with this group instance id."
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83, "No replica that could lead is there.", _REFRESH
    ELECTION_NOT_NEEDED = 84, "The partition has the leader it should have.", _REFRESH
    NO_REASSIGNMENT_IN_PROGRESS = 85, "The partition is not being reassigned."
    GROUP_SUBSCRIBED_TO_TOPIC = 86, "The group is subscribed to the topic, so its offsets stay."
    INVALID_RECORD = 87, "A record breaks a rule of the topic or of the format."
    UNSTABLE_OFFSET_COMMIT = 88, "A transaction that commits this offset is still open.", _RETRY
    THROTTLING_QUOTA_EXCEEDED = 89, "A quota is used up for the moment.", _RETRY
    PRODUCER_FENCED = 90, "A newer producer uses this transactional id."
    RESOURCE_NOT_FOUND = 91, "There is no such resource."
    DUPLICATE_RESOURCE = 92, "The request names a resource twice."
    UNACCEPTABLE_CREDENTIAL = 93, "The credential does not meet the demands."
    INCONSISTENT_VOTER_SET = 94, "The voter is not part of the expected voters."
    INVALID_UPDATE_VERSION = 95, "The version to update to is not valid."
    FEATURE_UPDATE_FAILED = 96, "The features could not be updated."
    PRINCIPAL_DESERIALIZATION_FAILURE = 97, "The forwarded principal cannot be read."
    SNAPSHOT_NOT_FOUND = 98, "There is no such snapshot."
    POSITION_OUT_OF_RANGE = 99, "The position is outside the snapshot."
    UNKNOWN_TOPIC_ID = 100, "This broker has no topic of this id.", _REFRESH
    DUPLICATE_BROKER_REGISTRATION = 101, "Another broker is registered under this id."
    BROKER_ID_NOT_REGISTERED = 102, "No broker is registered under this id."
    INCONSISTENT_TOPIC_ID = 103, "The log belongs to a topic of another id.", _REFRESH
    INCONSISTENT_CLUSTER_ID = 104, "The cluster id is not that of this cluster."
    TRANSACTIONAL_ID_NOT_FOUND = 105, "There is no such transactional id."
    FETCH_SESSION_TOPIC_ID_ERROR = 106, "The fetch session mixes topic names and topic ids.", _RETRY
    INELIGIBLE_REPLICA = 107, "The replica may not enter the ISR now."
    NEW_LEADER_ELECTED = 108, "The partition has got a new leader by this change."
    OFFSET_MOVED_TO_TIERED_STORAGE = 109, "The offset lies in tiered storage."
    FENCED_MEMBER_EPOCH = 110, "The member epoch is fenced; the member must join again."
    UNRELEASED_INSTANCE_ID = 111, "The group instance id is still in use by another member."
    UNSUPPORTED_ASSIGNOR = 112, "The group does not support this assignor."
    STALE_MEMBER_EPOCH = 113, "The member epoch is not the present one."
    MISMATCHED_ENDPOINT_TYPE = 114, "This endpoint is of another type than asked for."
    UNSUPPORTED_ENDPOINT_TYPE = 115, "There is no such endpoint type."
    UNKNOWN_CONTROLLER_ID = 116, "There is no controller of this id."
    UNKNOWN_SUBSCRIPTION_ID = 117, "The telemetry subscription has changed or never was."
    TELEMETRY_TOO_LARGE = 118, "The pushed metrics are larger than the broker accepts."
    INVALID_REGISTRATION = 119, "The registration is not valid."
    TRANSACTION_ABORTABLE = 120, "The transaction must be aborted; the producer may go on after that."
    INVALID_RECORD_STATE = 121, "The record is in a state that does not allow this acknowledgement."
    SHARE_SESSION_NOT_FOUND = 122, "There is no such share session.", _RETRY
    INVALID_SHARE_SESSION_EPOCH = 123, "The share session is at another epoch.", _RETRY
    FENCED_STATE_EPOCH = 124, "The state epoch of the share partition is not the present one."
    INVALID_VOTER_KEY = 125, "The voter key is not that of this voter."
    DUPLICATE_VOTER = 126, "The voter is in the quorum already."
    VOTER_NOT_FOUND = 127, "The quorum has no such voter."
    INVALID_REGULAR_EXPRESSION = 128, "The regular expression is not valid."
    REBOOTSTRAP_REQUIRED = 129, "The client must start again from its bootstrap servers."
    STREAMS_INVALID_TOPOLOGY = 130, "The streams topology is not valid."
    STREAMS_INVALID_TOPOLOGY_EPOCH = 131, "The epoch of the streams topology is not valid."
    STREAMS_TOPOLOGY_FENCED = 132, "The streams topology is older than that of the group."
    SHARE_SESSION_LIMIT_REACHED = 133, "The broker can hold no more share sessions.", _RETRY
    GROUP_DELETION_FAILED = 134, "The group could not be deleted."
    STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED = 135, "The topology description could not be stored."
    CONTROLLER_ID_NOT_REGISTERED = 136, "No controller is registered under this id."


if sys.version_info < (3, 12):
    for _member in ErrorCode:
        # As later versions of Python do it: else each ErrorCode.NAME calls the metaclass's __getattr__, which
        # takes a tenth of a microsecond, and a small request meets half a dozen of them.
        type.__setattr__(ErrorCode, _member.name, _member)

_BY_NUMBER: Final = {int(member): member for member in ErrorCode}


def error_of(number: int) -> ErrorCode:
    """Return the error code with this number; UNKNOWN_SERVER_ERROR for an unknown number."""
    return _BY_NUMBER.get(number, ErrorCode.UNKNOWN_SERVER_ERROR)


NO_ERROR: Final = ErrorCode.NONE
"""`ErrorCode.NONE` for hot paths: reading a module's name takes an eighth of the time of an enum member."""
