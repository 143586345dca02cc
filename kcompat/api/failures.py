"""Reasons why requests fail, for the log. Everything here is called only where a client is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.notices import causes
from kcompat.notices.cause import client
from kcompat.protocol.errors import ErrorCode, error_of
from kcompat.records.batch import read_header
from kcompat.records.layout import HEADER_SIZE
from kcompat.replication.partition import Partition
from kcompat.security.operations import camel_case

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.api.context import RequestContext
    from kcompat.group.modern.heartbeat import HeartbeatAnswer
    from kcompat.net.answers import Connection
    from kcompat.notices.cause import Cause
    from kcompat.protocol.api_keys import ApiKey
    from kcompat.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
    from kcompat.protocol.messages.heartbeat import HeartbeatRequest
    from kcompat.protocol.messages.init_producer_id import InitProducerIdRequest
    from kcompat.protocol.messages.join_group import JoinGroupRequest
    from kcompat.protocol.messages.offset_commit import OffsetCommitRequest
    from kcompat.protocol.messages.produce import ProduceResponse
    from kcompat.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
    from kcompat.protocol.messages.sync_group import SyncGroupRequest
    from kcompat.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
    from kcompat.records.batch import BatchHeader
    from kcompat.replication.waiting.fetch_session import FetchTarget

    MemberRequest = (
        HeartbeatRequest | JoinGroupRequest | OffsetCommitRequest | SyncGroupRequest | TxnOffsetCommitRequest
    )
    PartitionAnswer = ProduceResponse.PartitionProduceResponse

_UNKNOWN: Final = "unknown"

_CAUSE_OF_BATCH: Final[dict[ErrorCode, Cause]] = {
    ErrorCode.MESSAGE_TOO_LARGE: causes.BATCH_TOO_LARGE,
    ErrorCode.RECORD_LIST_TOO_LARGE: causes.BATCH_TOO_LARGE,
    ErrorCode.CORRUPT_MESSAGE: causes.BATCH_CORRUPT,
    ErrorCode.INVALID_TIMESTAMP: causes.BATCH_TIME,
    ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT: causes.BATCH_FORMAT,
    ErrorCode.UNSUPPORTED_COMPRESSION_TYPE: causes.BATCH_FORMAT,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: causes.PARTITION_MISSING,
    ErrorCode.NOT_ENOUGH_REPLICAS: causes.TOO_FEW_IN_SYNC,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: causes.TOO_FEW_IN_SYNC,
    ErrorCode.REQUEST_TIMED_OUT: causes.NOT_REPLICATED,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER: causes.OUT_OF_ORDER,
    ErrorCode.INVALID_PRODUCER_EPOCH: causes.PRODUCER_FENCED,
    ErrorCode.INVALID_RECORD: causes.BATCH_INVALID,
    ErrorCode.INVALID_REQUIRED_ACKS: causes.BATCH_INVALID,
    ErrorCode.INVALID_TOPIC_EXCEPTION: causes.BATCH_INVALID,
    ErrorCode.INVALID_TXN_STATE: causes.BATCH_INVALID,
}
"""Causes by the error of a batch. Other errors are normal, such as a leadership that has moved, or are logged
elsewhere, such as a failed disk.
"""

_FINAL_FOR_TOPICS: Final = frozenset(
    {
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.INVALID_REPLICATION_FACTOR,
        ErrorCode.INVALID_PARTITIONS,
        ErrorCode.INVALID_CONFIG,
        ErrorCode.POLICY_VIOLATION,
    }
)

_FENCED: Final = frozenset({ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH})

_USUAL_FOR_MEMBERS: Final = frozenset(
    {
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_MEMBER_EPOCH,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)
"""Errors that are not logged here: after them a member joins again or looks for its coordinator. The end of a
member's session is logged elsewhere.
"""

_JOIN_REFUSALS: Final = {
    ErrorCode.INVALID_SESSION_TIMEOUT: "group.min.session.timeout.ms and group.max.session.timeout.ms are "
    "the bounds of its session.timeout.ms",
    ErrorCode.INCONSISTENT_GROUP_PROTOCOL: "it has no assignment strategy or protocol in common with the "
    "members of the group",
    ErrorCode.GROUP_MAX_SIZE_REACHED: "the group is full (group.max.size)",
    ErrorCode.INVALID_GROUP_ID: "the group id is not valid",
}


def note_batch(
    context: RequestContext,
    place: tuple[str, int],
    refused: PartitionAnswer,
    partition: Partition | ErrorCode,
    batch: object,
) -> None:
    """Log why a batch for a partition, `place`, is refused. `batch` has its bytes, if there are any;
    `partition` is an error if this broker does not lead the partition.
    """
    error = error_of(refused.error_code)
    cause = _CAUSE_OF_BATCH.get(error)
    if cause is None:
        return
    details: dict[str, object] = {
        "partition": f"{place[0]}-{place[1]}",
        "error": error.name,
        "reason": refused.error_message or error.message,
    }
    if isinstance(partition, Partition):
        details["isr"] = len(partition.role.isr)
        if isinstance(batch, memoryview) and len(batch) >= HEADER_SIZE:
            details |= _details_of_producer(partition, read_header(batch))
    context.report(cause, **details)


def _details_of_producer(partition: Partition, header: BatchHeader) -> dict[str, object]:
    entry = partition.log.producer_state.entries.get(header.producer_id)
    return {
        "producer_id": header.producer_id,
        "epoch": header.producer_epoch,
        "sequence": header.base_sequence,
        "current": _UNKNOWN if entry is None else entry.epoch,
        "last": _UNKNOWN if entry is None else entry.last_sequence,
    }


def note_missing_topics(context: RequestContext, topics: Sequence[str], *, may_create: bool) -> None:
    """Log that topics which a client asks for do not exist. `may_create` tells that the client wants them to
    be created, which the broker does not do.
    """
    if may_create:
        for topic in topics:
            context.report(causes.TOPIC_MISSING, topic=topic)
    else:  # once a request: many topics in one are not yet a client that asks again and again
        context.report(causes.TOPIC_AWAITED, topic=topics[0])


def note_uncreated(context: RequestContext, topic: str, error: ErrorCode | None) -> None:
    """Log why a topic that a client asks for cannot be created, unless it may be created later."""
    if error in _FINAL_FOR_TOPICS:
        context.report(causes.TOPIC_NOT_CREATED, topic=topic, error=error.name, reason=error.message)


def note_throttling(connection: Connection, client_id: str | None, request: ApiKey, throttle_ms: int) -> None:
    """Log that a client is throttled for a long time."""
    connection.report(
        causes.THROTTLED,
        client(client_id, connection.peer_host),
        throttle_ms=throttle_ms,
        request=camel_case(request),
        principal=connection.principal,
    )


def note_fetch(context: RequestContext, target: FetchTarget, error: int) -> None:
    """Log why a consumer gets no records of a partition, if its offset is the reason."""
    if error != ErrorCode.OFFSET_OUT_OF_RANGE:
        return
    services = context.services
    key = target.topic
    name = services.cluster.metadata.image.topic_names.get(key, "") if isinstance(key, bytes) else key
    partition = services.storage.replicas.find(name, target.index)
    if isinstance(partition, Partition):
        context.report(
            causes.OFFSET_OUT_OF_RANGE,
            partition=f"{name}-{target.index}",
            offset=target.spec.offset,
            start=partition.log.log_start_offset,
            end=partition.log.log_end_offset,
        )


def note_fetch_session(context: RequestContext, session_id: int, error: ErrorCode) -> None:
    """Log that the session of a fetch was evicted for that of another client, if it was."""
    sessions = context.services.storage.fetch_sessions
    if error == ErrorCode.FETCH_SESSION_ID_NOT_FOUND and sessions.was_evicted(session_id):
        context.report(causes.FETCH_SESSION_EVICTED, slots=sessions.slots)


def note_transaction(context: RequestContext, name: str, epoch: int, error: ErrorCode) -> None:
    """Log that a request of a transactional id is refused, if its producer is fenced."""
    if error in _FENCED:
        request = camel_case(context.key)
        context.report(causes.TRANSACTION_FENCED, request=request, name=name, epoch=epoch)


def note_init(context: RequestContext, request: InitProducerIdRequest, error: ErrorCode) -> None:
    """Log why a producer with a transactional id gets no producer id, if the reason is in its request."""
    name = request.transactional_id or ""
    if error == ErrorCode.INVALID_TRANSACTION_TIMEOUT:
        limit = context.services.coordinators.transactions.config.max_timeout_ms
        timeout_ms = request.transaction_timeout_ms
        context.report(causes.TRANSACTION_TIMEOUT, name=name, timeout_ms=timeout_ms, limit=limit)
    else:
        note_transaction(context, name, request.producer_epoch, error)


def note_member(context: RequestContext, request: MemberRequest, error: ErrorCode) -> None:
    """Log why a member of a classic group is refused, unless the reason is an ordinary rebalance."""
    group = request.group_id
    if error == ErrorCode.FENCED_INSTANCE_ID:
        member, instance = request.member_id, request.group_instance_id
        context.report(causes.INSTANCE_FENCED, group=group, member=member, instance=instance)
    elif error in _JOIN_REFUSALS:
        context.report(causes.JOIN_REFUSED, group=group, error=error.name, reason=_JOIN_REFUSALS[error])


def note_modern_member(
    context: RequestContext,
    request: ConsumerGroupHeartbeatRequest | ShareGroupHeartbeatRequest,
    answer: HeartbeatAnswer,
) -> None:
    """Log why a heartbeat to a consumer or share group is refused, unless the reason is an ordinary
    rebalance.
    """
    error = answer.error
    if error and error not in _USUAL_FOR_MEMBERS:
        context.report(
            causes.JOIN_REFUSED,
            group=request.group_id,
            error=error.name,
            reason=answer.message or error.message,
        )
