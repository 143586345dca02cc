"""Fetch (key 1), versions 0-18.

Behaviour
- Answers at once when there are `min_bytes`, when a partition has an error, or when nothing may be waited
  for; else waits for data, at most `max_wait_ms`. The next request of the same connection ends the wait with
  what there is, unless it is a fetch that closes no session. (A difference: on a Kafka broker it queues
  behind the long poll.)
- The first batch found is returned whole, however small the limits (KIP-74); `fetch.max.bytes` caps every
  answer.
- read_committed stops at the last stable offset and lists the aborted transactions of the range.
- A follower (a replica id of 0 and more, which needs CLUSTER_ACTION) reads up to the log end. What lies below
  the offset it fetches from, it has: that moves the high watermark, and lets it into the ISR.

Version notes
- 0, 1: messages of magic 0; 2, 3: of magic 1, converted while they are sent. 3: `max_bytes`; before it the
  limit of a partition holds even for its first batch.
- 4: batches v2, isolation level. 5: log start offset. 6: KAFKA_STORAGE_ERROR, which older versions see as
  NOT_LEADER_OR_FOLLOWER. 7: fetch sessions (KIP-227). 9: fenced by leader epoch (KIP-320).
- 10: zstd (KIP-110): 4 to 9 still get zstd batches, as from Kafka, unless the topic itself demands zstd.
- 11: rack id (KIP-392): where `replica.selector.class` is Kafka's RackAwareReplicaSelector, the leader sends
  a consumer to a replica in its rack. From this version on, followers serve consumers.
- 12: last fetched epoch and diverging epoch (KIP-595), tagged fields. 13: topics by id (KIP-516).
- 15: the replica id in a tagged struct, with the epoch of its broker (KIP-903): a fetch from a former life of
  the follower is refused.
- 16: who leads instead, beside NOT_LEADER_OR_FOLLOWER and FENCED_LEADER_EPOCH (KIP-951).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.cluster_view import current_leader, endpoints
from kcompat.api.context import Interruptible
from kcompat.api.old_fetch import FIRST_WITH_BATCHES, in_old_format
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
from kcompat.replication.waiting.delayed_fetch import DelayedFetch
from kcompat.replication.waiting.fetch_session import FINAL_EPOCH, FetchTarget, TopicKey
from kcompat.security.authorizer import CLUSTER, Resource
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

NOT_TO_BE_HAD = frozenset({ErrorCode.UNSUPPORTED_VERSION, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE})
"""Errors at which records are null, as this version cannot carry them; at any other they are empty."""

SERVED_ELSEWHERE = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})
"""Errors beside which a client is told who leads."""

TopicAnswer = FetchResponse.FetchableTopicResponse
PartitionAnswer = FetchResponse.PartitionData


def handle(context: RequestContext, request: FetchRequest) -> FetchResponse | Interruptible[FetchResponse]:
    """Read what there is, or wait for more."""
    if request.isolation_level not in (READ_UNCOMMITTED, READ_COMMITTED):
        return _refuse_all(context, request)
    reader = _reader(context, request)
    session = _open_session(context, request, reader)
    if isinstance(session, ErrorCode):
        return FetchResponse(error_code=session)
    services = context.services
    replicas = services.storage.replicas
    fetch = DelayedFetch(
        _resolve(context, session.targets, reader, replicas),
        reader,
        min_bytes=request.min_bytes,
        max_bytes=min(request.max_bytes, services.server.config.fetch_max_bytes),
        hard_limit=context.api_version < FIRST_WITH_MAX_BYTES,
    )
    results = fetch.read()
    if reader.is_replica:
        fetch.note(results, context.now_ms)

    def answer(results: Results) -> FetchResponse:
        if reader.is_replica:
            fetch.count(results, context.services.server.clock.now_ms())
        return _respond(context, session, results)

    if request.max_wait_ms <= 0 or not session.targets or fetch.must_answer(results):
        return answer(results)
    purgatory = replicas.replica_fetches if reader.is_replica else replicas.fetches
    delayed = purgatory.wait(fetch, fetch.keys, request.max_wait_ms)
    return Interruptible(delayed.promise.map(answer), delayed.expire)


def _refuse_all(context: RequestContext, request: FetchRequest) -> FetchResponse:
    """UNKNOWN_SERVER_ERROR for the request, and where topics have names for each partition of it."""
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
    """The session a request opens or goes on with. A partition named twice counts once, as named last."""
    by_id = context.api_version >= FIRST_WITH_IDS
    wanted: dict[PartitionKey, FetchTarget] = {}
    for topic in request.topics:
        topic_key: TopicKey = topic.topic_id if by_id else topic.topic
        for asked in topic.partitions:
            spec = FetchSpec(
                asked.fetch_offset,
                asked.partition_max_bytes,
                max(asked.current_leader_epoch, NO_EPOCH),
                max(asked.last_fetched_epoch, NO_EPOCH),
                asked.log_start_offset,
            )
            wanted[topic_key, asked.partition] = FetchTarget(topic_key, asked.partition, spec)
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
    """The partition that each target names, or why there is none."""
    if reader.is_replica and not context.may(Operation.CLUSTER_ACTION, CLUSTER):
        return [(target, ErrorCode.TOPIC_AUTHORIZATION_FAILED) for target in targets]
    find = replicas.find
    found: list[tuple[FetchTarget, Partition | ErrorCode]] = []
    asked: TopicKey | None = None
    topic: str | ErrorCode = ErrorCode.UNKNOWN_TOPIC_ID
    for target in targets:
        if target.topic != asked:  # partitions of a topic mostly follow each other: ask once
            asked = target.topic
            topic = _readable_topic(context, asked, reader.is_replica)
        found.append((target, find(topic, target.index) if isinstance(topic, str) else topic))
    if context.api_version < FIRST_WITH_ZSTD and not reader.is_replica:
        return [(target, _not_zstd(partition)) for target, partition in found]
    return found


def _readable_topic(context: RequestContext, key: TopicKey, is_follower: bool) -> str | ErrorCode:
    """The name of a topic that the client may read, or why it may not."""
    services = context.services
    name = services.cluster.metadata.image.topic_names.get(key) if isinstance(key, bytes) else key
    if name is None:
        return ErrorCode.UNKNOWN_TOPIC_ID
    may_all = is_follower or services.server.authorizer.allows_everything
    if may_all or context.may(Operation.READ, Resource.topic(name)):
        return name
    return ErrorCode.TOPIC_AUTHORIZATION_FAILED


def _not_zstd(partition: Partition | ErrorCode) -> Partition | ErrorCode:
    if isinstance(partition, Partition) and partition.log.config.compression_type == Codec.ZSTD.name.lower():
        return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    return partition


def _respond(context: RequestContext, session: FetchContext, results: Results) -> FetchResponse:
    if context.api_version < FIRST_WITH_BATCHES:
        results = in_old_format(results, context.api_version, context.services.storage.replicas)
    session_id, told = session.answer(results, context.now_ms)
    response = FetchResponse(session_id=session_id if context.api_version >= FIRST_WITH_SESSIONS else 0)
    leaders: list[int] = []
    topic_answer: TopicAnswer | None = None
    current: TopicKey | None = None
    for target, fetched in told:
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
        if error in SERVED_ELSEWHERE and context.api_version >= FIRST_WITH_LEADERS:
            leaders.append(_say_who_leads(context, target, answer))
        if fetched.diverging is not None:
            answer.diverging_epoch = PartitionAnswer.EpochEndOffset(*fetched.diverging)
        topic_answer.partitions.append(answer)
    if leaders:
        response.node_endpoints = [FetchResponse.NodeEndpoint(*each) for each in endpoints(context, leaders)]
    return response


def _say_who_leads(context: RequestContext, target: FetchTarget, answer: PartitionAnswer) -> int:
    """Say it in the answer; the id of the leader."""
    key = target.topic
    name = context.services.cluster.metadata.image.topic_names.get(key, "") if isinstance(key, bytes) else key
    answer.current_leader = PartitionAnswer.LeaderIdAndEpoch(*current_leader(context, name, target.index))
    return answer.current_leader.leader_id
