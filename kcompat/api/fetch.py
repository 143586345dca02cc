"""Fetch (key 1), versions 0-18.

Behaviour
- The response is sent at once if `min_bytes` are available, if a partition has an error, or if `max_wait_ms`
  is 0 or no partition is requested. Otherwise it waits for data for at most `max_wait_ms`. The next request
  of the same connection ends the wait, unless it is a fetch that does not close its session. (On a Kafka
  broker that request queues behind the waiting fetch.)
- The first batch found is returned whole, even if it exceeds the limits (KIP-74). `fetch.max.bytes` limits
  every response.
- A read_committed fetch stops at the last stable offset, and lists the aborted transactions of the range.
- A follower (a replica id of 0 or more, which needs CLUSTER_ACTION) reads up to the log end. It has all
  records below its fetch offset: this moves the high watermark, and lets the follower join the ISR.
- A client over its quota gets an empty response at the same time, and none of the records count against the
  quota (KIP-219). Followers have no quota.

Version notes
- 0, 1: messages of magic 0. 2, 3: messages of magic 1. The messages are converted while they are sent. 3:
  `max_bytes`; older versions apply the limit of a partition even to its first batch.
- 4: batches v2, isolation level. 5: log start offset. 6: KAFKA_STORAGE_ERROR, for which older versions get
  NOT_LEADER_OR_FOLLOWER. 7: fetch sessions (KIP-227). 9: fencing by leader epoch (KIP-320).
- 10: zstd (KIP-110). As in Kafka, versions 4 to 9 still get zstd batches, unless the topic's
  `compression.type` is zstd.
- 11: rack id (KIP-392). If `replica.selector.class` is Kafka's RackAwareReplicaSelector, the leader directs a
  consumer to a replica in its rack. From this version on, followers serve consumers.
- 12: last fetched epoch and diverging epoch (KIP-595), tagged fields. 13: topics by id (KIP-516).
- 15: the replica id in a tagged struct, with the follower's broker epoch (KIP-903): a fetch from a former
  registration of the follower is refused.
- 16: the current leader, beside NOT_LEADER_OR_FOLLOWER and FENCED_LEADER_EPOCH (KIP-951).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.api.cluster_view import current_leader, endpoints
from kcompat.api.context import Interruptible
from kcompat.api.failures import note_fetch, note_fetch_session
from kcompat.api.old_fetch import FIRST_WITH_BATCHES, in_old_format
from kcompat.api.topic_access import may_use_topic
from kcompat.protocol.constants import NO_EPOCH
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.fetch import FetchRequest, FetchResponse
from kcompat.records.compression import Codec
from kcompat.replication.partition import Partition
from kcompat.replication.preferred_replica import RACK_AWARE_SELECTOR, SameRack
from kcompat.replication.reading import (
    NO_REPLICA,
    READ_COMMITTED,
    READ_UNCOMMITTED,
    FetchSpec,
    PartitionReader,
)
from kcompat.replication.statistics import EXPECTED_OF_FETCHES
from kcompat.replication.waiting.delayed_fetch import DelayedFetch
from kcompat.replication.waiting.fetch_session import FINAL_EPOCH, FetchTarget, TopicKey
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.api.context import RequestContext
    from kcompat.replication.replica_manager import ReplicaManager
    from kcompat.replication.waiting.delayed_fetch import Results
    from kcompat.replication.waiting.fetch_session import FetchContext, PartitionKey

FIRST_WITH_MAX_BYTES = 3
FIRST_WITH_STORAGE_ERROR = 6
FIRST_WITH_SESSIONS = 7
FIRST_WITH_ZSTD = 10
FIRST_WITH_RACK = 11
FIRST_WITH_IDS = 13
FIRST_WITH_REPLICA_STATE = 15
FIRST_WITH_LEADERS = 16

_READ: Final = Operation.READ  # Python 3.11 takes 0.2 us to find a member of an enumeration

NOT_TO_BE_HAD = frozenset({ErrorCode.UNSUPPORTED_VERSION, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE})
"""Errors with which `records` is null: this version of Fetch cannot carry the stored records. With any other
error `records` is empty.
"""

SERVED_ELSEWHERE = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})
"""Errors beside which a response names the current leader."""

_ENVELOPE_SIZE, _ROW_SIZE = 16, 57
"""Bytes of a response without partitions, and of each partition with its topic and without its records."""

TopicAnswer = FetchResponse.FetchableTopicResponse
PartitionAnswer = FetchResponse.PartitionData


def handle(context: RequestContext, request: FetchRequest) -> FetchResponse | Interruptible[FetchResponse]:
    """Read the available records, or wait for more."""
    if request.isolation_level not in (READ_UNCOMMITTED, READ_COMMITTED):
        return _refuse_all(context, request)
    reader = _reader(context, request)
    session = _open_session(context, request, reader)
    if isinstance(session, ErrorCode):
        note_fetch_session(context, request.session_id, session)
        return FetchResponse(error_code=session)
    services = context.services
    replicas = services.storage.replicas
    max_bytes = min(request.max_bytes, services.server.config.fetch_max_bytes)
    charges = context.charges
    if charges is not None:
        charges.is_exempt = reader.is_replica
        max_bytes = min(max_bytes, charges.most_fetched)
    fetch = DelayedFetch(
        _resolve(context, session.targets, reader, replicas),
        reader,
        min_bytes=request.min_bytes if charges is None else min(request.min_bytes, max_bytes),
        max_bytes=max_bytes,
        hard_limit=context.api_version < FIRST_WITH_MAX_BYTES,
    )
    results = fetch.read()
    if reader.is_replica:
        fetch.note(results, context.now_ms)

    def answer(results: Results) -> FetchResponse:
        if reader.is_replica:
            fetch.count(results, context.services.server.clock.now_ms())
        return _respond(context, session, reader, results)

    if request.max_wait_ms <= 0 or not session.targets or fetch.must_answer(results):
        return answer(results)
    purgatory = replicas.replica_fetches if reader.is_replica else replicas.fetches
    delayed = purgatory.wait(fetch, fetch.keys, request.max_wait_ms)
    return Interruptible(delayed.promise.map(answer), delayed.expire)


def _refuse_all(context: RequestContext, request: FetchRequest) -> FetchResponse:
    """Return the response with UNKNOWN_SERVER_ERROR for the request and, in versions with topic names, for
    each partition.
    """
    error = ErrorCode.UNKNOWN_SERVER_ERROR
    response = FetchResponse(error_code=error)
    if context.api_version < FIRST_WITH_IDS:
        for topic in request.topics:
            rows = [
                PartitionAnswer(partition_index=row.partition, error_code=error, high_watermark=-1)
                for row in topic.partitions
            ]
            response.responses.append(TopicAnswer(topic=topic.topic, partitions=rows))
    return response


def _open_session(
    context: RequestContext, request: FetchRequest, reader: PartitionReader
) -> FetchContext | ErrorCode:
    """Return the session that a request opens or continues, or the error. A partition that is named twice
    counts once, as named last.
    """
    by_id = context.api_version >= FIRST_WITH_IDS
    wanted: dict[PartitionKey, FetchTarget] = {}
    for topic in request.topics:
        topic_key: TopicKey = topic.topic_id if by_id else topic.topic
        for requested in topic.partitions:
            spec = FetchSpec(
                requested.fetch_offset,
                requested.partition_max_bytes,
                max(requested.current_leader_epoch, NO_EPOCH),
                max(requested.last_fetched_epoch, NO_EPOCH),
                requested.log_start_offset,
            )
            wanted[topic_key, requested.partition] = FetchTarget(topic_key, requested.partition, spec)
    forgotten: list[PartitionKey] = [
        (topic.topic_id if by_id else topic.topic, index)
        for topic in request.forgotten_topics_data
        for index in topic.partitions
    ]
    return context.services.storage.fetch_sessions.open(
        request.session_id,
        request.session_epoch if context.api_version >= FIRST_WITH_SESSIONS else FINAL_EPOCH,
        list(wanted.values()),
        forgotten,
        uses_topic_ids=by_id,
        now_ms=context.now_ms,
        is_privileged=reader.is_replica and context.may(Operation.CLUSTER_ACTION, CLUSTER),
    )


def _reader(context: RequestContext, request: FetchRequest) -> PartitionReader:
    version = context.api_version
    replica_id, broker_epoch = request.replica_id, -1
    if version >= FIRST_WITH_REPLICA_STATE:
        replica_id, broker_epoch = request.replica_state.replica_id, request.replica_state.replica_epoch
    is_old = version < FIRST_WITH_RACK
    choice: SameRack | None = None
    if request.rack_id and replica_id < 0 and not is_old:
        services = context.services
        if services.server.config.get("replica.selector.class") == RACK_AWARE_SELECTOR:
            brokers = services.cluster.metadata.image.brokers
            choice = SameRack(request.rack_id, context.listener, services.cluster.broker_id, brokers)
    return PartitionReader(
        request.isolation_level,
        replica_id,
        broker_epoch,
        leader_only=is_old or replica_id >= 0,
        choice=choice,
    )


def _resolve(
    context: RequestContext,
    targets: Sequence[FetchTarget],
    reader: PartitionReader,
    replicas: ReplicaManager,
) -> list[tuple[FetchTarget, Partition | ErrorCode]]:
    """Return the partition that each target names, or the error that hides it."""
    if reader.is_replica and not context.may(Operation.CLUSTER_ACTION, CLUSTER):
        return [(target, ErrorCode.TOPIC_AUTHORIZATION_FAILED) for target in targets]
    find = replicas.find
    found: list[tuple[FetchTarget, Partition | ErrorCode]] = []
    current: TopicKey | None = None
    topic: str | ErrorCode = ErrorCode.UNKNOWN_TOPIC_ID
    for target in targets:
        if target.topic != current:  # partitions of a topic are mostly adjacent: look the topic up once
            current = target.topic
            topic = _readable_topic(context, current, reader.is_replica)
        found.append((target, find(topic, target.index) if isinstance(topic, str) else topic))
    if context.api_version < FIRST_WITH_ZSTD and not reader.is_replica:
        return [(target, _not_zstd(partition)) for target, partition in found]
    return found


def _readable_topic(context: RequestContext, key: TopicKey, is_follower: bool) -> str | ErrorCode:
    """Return the name of a topic that the client may read, or the error that refuses it."""
    services = context.services
    name = services.cluster.metadata.image.topic_names.get(key) if isinstance(key, bytes) else key
    if name is None:
        return ErrorCode.UNKNOWN_TOPIC_ID
    if is_follower or may_use_topic(context, _READ, name):
        return name
    return ErrorCode.TOPIC_AUTHORIZATION_FAILED


def _not_zstd(partition: Partition | ErrorCode) -> Partition | ErrorCode:
    if isinstance(partition, Partition) and partition.log.config.compression_type == Codec.ZSTD.name.lower():
        return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    return partition


def _respond(
    context: RequestContext, session: FetchContext, reader: PartitionReader, results: Results
) -> FetchResponse:
    if context.api_version < FIRST_WITH_BATCHES:
        results = in_old_format(results, context.api_version, context.services.storage.replicas)
    charges = context.charges
    if charges is not None and not charges.charge_fetched(_size(results, session)):
        return FetchResponse(session_id=session.session_id)
    session_id, included = session.answer(results, context.now_ms)
    _count(context, reader, included)
    response = FetchResponse(session_id=session_id if context.api_version >= FIRST_WITH_SESSIONS else 0)
    leaders: list[int] = []
    topic_answer: TopicAnswer | None = None
    current: TopicKey | None = None
    for target, fetched in included:
        if topic_answer is None or target.topic != current:
            current = target.topic
            topic_answer = TopicAnswer()
            if isinstance(current, bytes):
                topic_answer.topic_id = current
            else:
                topic_answer.topic = current
            response.responses.append(topic_answer)
        error = fetched.error
        if context.api_version < FIRST_WITH_STORAGE_ERROR and error == ErrorCode.KAFKA_STORAGE_ERROR:
            error = ErrorCode.NOT_LEADER_OR_FOLLOWER
        answer = PartitionAnswer(
            partition_index=target.index,
            error_code=error,
            high_watermark=fetched.high_watermark,
            last_stable_offset=fetched.last_stable_offset,
            log_start_offset=fetched.log_start_offset,
            records=None if error in NOT_TO_BE_HAD else fetched.records,
        )
        if fetched.aborted is None:
            answer.aborted_transactions = None
        else:
            answer.aborted_transactions = [
                FetchResponse.AbortedTransaction(*transaction) for transaction in fetched.aborted
            ]
        if fetched.preferred_replica != NO_REPLICA:
            answer.preferred_read_replica = fetched.preferred_replica
        if error:
            _explain(context, session, target, answer, leaders)
        if fetched.diverging is not None:
            answer.diverging_epoch = PartitionAnswer.EpochEndOffset(*fetched.diverging)
        topic_answer.partitions.append(answer)
    if leaders:
        response.node_endpoints = [FetchResponse.NodeEndpoint(*each) for each in endpoints(context, leaders)]
    return response


def _count(context: RequestContext, reader: PartitionReader, included: Results) -> None:
    """Count the bytes of records in a response, and the failed reads, by topic."""
    services = context.services
    names = services.cluster.metadata.image.topic_names
    statistics = services.storage.replicas.statistics
    for target, fetched in included:
        size = len(fetched.records)
        if not size and not fetched.error:
            continue
        key = target.topic
        name = names.get(key) if isinstance(key, bytes) else key
        of_topic = None if name is None else statistics.find(name)
        if of_topic is None:  # this broker has no partition of the topic
            continue
        if reader.replica_id >= 0:
            of_topic.bytes_to_followers += size
        else:
            of_topic.bytes_out += size
        if fetched.error and fetched.error not in EXPECTED_OF_FETCHES:
            of_topic.failed_fetches += 1


def _size(results: Results, session: FetchContext) -> int:
    """Return the bytes of a response, exact but for the lengths of names and of varints."""
    sizes = [len(fetched.records) for _, fetched in results]
    rows = sum(1 for size in sizes if size) if session.is_incremental else len(sizes)
    return _ENVELOPE_SIZE + rows * _ROW_SIZE + sum(sizes)


def _explain(
    context: RequestContext,
    session: FetchContext,
    target: FetchTarget,
    answer: PartitionAnswer,
    leaders: list[int],
) -> None:
    """Add the current leader to `leaders` and to the row of a partition with an error of leadership; log the
    reason of a consumer's error.
    """
    if not session.is_privileged:
        note_fetch(context, target, answer.error_code)
    if answer.error_code in SERVED_ELSEWHERE and context.api_version >= FIRST_WITH_LEADERS:
        leaders.append(_say_who_leads(context, target, answer))


def _say_who_leads(context: RequestContext, target: FetchTarget, answer: PartitionAnswer) -> int:
    """Add the current leader to the row of a partition; return the leader's id."""
    key = target.topic
    name = context.services.cluster.metadata.image.topic_names.get(key, "") if isinstance(key, bytes) else key
    answer.current_leader = PartitionAnswer.LeaderIdAndEpoch(*current_leader(context, name, target.index))
    return answer.current_leader.leader_id
