"""ShareFetch (key 78), versions 1-2: a member acquires records, and acknowledges earlier ones (KIP-932).

Behaviour
- The client needs READ on the group, and on each topic. Epoch 0 begins a share session, which also ends with
  the connection. Epoch -1 ends the session, fetches nothing and releases the member's records.
- Acknowledgements are applied first. Then records are acquired: at once if `min_bytes` are available, else
  when they are, and after `max_wait_ms` at the latest. The next request of the same connection ends the wait.
  No records are acquired after the session has ended, or after the member has sent another request on another
  connection.
- The partitions of a session take turns in being served first. The row of a partition that this broker does
  not lead names the leader.
- A broker with the maximum number of sessions answers SHARE_SESSION_LIMIT_REACHED after `max_wait_ms`.
- A group with the isolation level read_committed does not receive records of aborted transactions.

Version notes
- 1: the first stable version, with the maximum number of records and the `batch_size` of a range (KIP-1206).
- 2: the acquire mode record_limit, which never acquires more records than requested (KIP-1206), and renewal
  of acquisition locks (KIP-1222). A request that renews fetches nothing, and its limits have to be 0.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kcompat.api.cluster_view import current_leader, endpoints
from kcompat.api.context import Interruptible
from kcompat.api.share_members import (
    FIRST_WITH_RENEWALS,
    SERVED_ELSEWHERE,
    acknowledge,
    end_session,
    follow,
    refusal_of,
    topic_error,
)
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.share_fetch import ShareFetchRequest, ShareFetchResponse
from kcompat.share.fetching import ShareFetch, ShareFetchSpec
from kcompat.share.partition.limits import AcquireMode
from kcompat.share.sessions import FINAL_EPOCH, INITIAL_EPOCH, ShareSessionKey

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.api.context import RequestContext
    from kcompat.api.share_members import Outcomes
    from kcompat.share.fetching import Handed, Results
    from kcompat.share.persister import Outcome
    from kcompat.share.sessions import ShareSession, TopicIdPartition

TopicAnswer = ShareFetchResponse.ShareFetchableTopicResponse
Answer = ShareFetchResponse.PartitionData
Response = ShareFetchResponse | Promise[ShareFetchResponse] | Interruptible[ShareFetchResponse]


def handle(context: RequestContext, request: ShareFetchRequest) -> Response:
    """Apply the member's acknowledgements, and acquire records for it."""
    refusal = refusal_of(context, request.group_id, request.member_id)
    if not refusal and _renews(context, request) and _asks_for_records(request):
        refusal = ErrorCode.INVALID_REQUEST
    if refusal:
        return ShareFetchResponse(error_code=refusal)
    assert request.group_id is not None
    assert request.member_id is not None
    member = ShareSessionKey(request.group_id, request.member_id)
    session = _session(context, request, member)
    if session is ErrorCode.SHARE_SESSION_LIMIT_REACHED:
        return _later(context, request.max_wait_ms, ShareFetchResponse(error_code=session))
    if isinstance(session, ErrorCode):
        return ShareFetchResponse(error_code=session)
    return _serve(context, request, session)


def _renews(context: RequestContext, request: ShareFetchRequest) -> bool:
    return context.api_version >= FIRST_WITH_RENEWALS and request.is_renew_ack


def _asks_for_records(request: ShareFetchRequest) -> bool:
    return bool(request.max_bytes or request.min_bytes or request.max_records or request.max_wait_ms)


def _says_something(request: ShareFetchRequest) -> bool:
    return any(row.acknowledgement_batches for topic in request.topics for row in topic.partitions)


def _session(
    context: RequestContext, request: ShareFetchRequest, member: ShareSessionKey
) -> ShareSession | ErrorCode:
    session = context.services.coordinators.share_sessions.fetch(
        member,
        request.share_session_epoch,
        [(topic.topic_id, row.partition_index) for topic in request.topics for row in topic.partitions],
        [(topic.topic_id, index) for topic in request.forgotten_topics_data for index in topic.partitions],
        context.connection,
        has_acknowledgements=_says_something(request),
    )
    if request.share_session_epoch == INITIAL_EPOCH and not isinstance(session, ErrorCode):
        follow(context, member.group_id)
    return session


def _later(
    context: RequestContext, delay_ms: int, response: ShareFetchResponse
) -> Promise[ShareFetchResponse]:
    promise: Promise[ShareFetchResponse] = Promise()
    context.services.server.clock.call_later(delay_ms, partial(promise.complete, response))
    return promise


def _serve(context: RequestContext, request: ShareFetchRequest, session: ShareSession) -> Response:
    epoch, expected_epoch = request.share_session_epoch, session.epoch
    sessions = context.services.coordinators.share_sessions
    said: Promise[Outcomes] = Promise.resolved({})
    if _says_something(request):
        said = acknowledge(context, session.key, request.topics, renews=_renews(context, request))

    def is_awaited() -> bool:
        return sessions.find(session.key) is session and session.epoch == expected_epoch

    def answer(results: Results, outcomes: Outcomes) -> ShareFetchResponse:
        if not is_awaited():
            is_over = sessions.find(session.key) is None
            return ShareFetchResponse(
                error_code=ErrorCode.SHARE_SESSION_NOT_FOUND
                if is_over
                else ErrorCode.INVALID_SHARE_SESSION_EPOCH  # the member has sent another request
            )
        if epoch > INITIAL_EPOCH:
            results = [each for each in results if _must_tell(session, *each)]
        if epoch == FINAL_EPOCH:
            end_session(context.services, session)
        return _response(context, session.key, results, outcomes)

    if epoch == FINAL_EPOCH or _renews(context, request):
        return said.map(lambda outcomes: answer([], outcomes))
    delayed = context.services.coordinators.share_partitions.wait(
        _fetch(context, request, session, is_awaited), request.max_wait_ms
    )
    both = delayed.promise.flat_map(lambda results: said.map(lambda outcomes: answer(results, outcomes)))
    return Interruptible(both, delayed.expire)


def _must_tell(session: ShareSession, of: TopicIdPartition, handed: Handed) -> bool:
    return session.must_tell(of, has_records=len(handed.records) > 0, has_error=bool(handed.outcome.error))


def _fetch(
    context: RequestContext,
    request: ShareFetchRequest,
    session: ShareSession,
    is_awaited: Callable[[], bool],
) -> ShareFetch:
    shares, group_id = context.services.coordinators.share_partitions, session.key.group_id
    targets = [
        (of, topic_error(context, of) or shares.lead(group_id, of))
        for of in session.rotated(request.share_session_epoch)
    ]
    is_limit = request.share_acquire_mode == AcquireMode.RECORD_LIMIT
    max_bytes = min(request.max_bytes, context.services.server.config.fetch_max_bytes)
    spec = ShareFetchSpec(
        session.key.member_id,
        min(request.min_bytes, max_bytes),
        max_bytes,
        request.max_records,
        request.batch_size,
        AcquireMode.RECORD_LIMIT if is_limit else AcquireMode.BATCH_OPTIMIZED,
    )
    return ShareFetch(targets, spec, shares.settings.isolation_level(group_id), is_awaited)


def _response(
    context: RequestContext, member: ShareSessionKey, results: Results, outcomes: Outcomes
) -> ShareFetchResponse:
    rows: dict[TopicIdPartition, Answer] = {}
    leaders: list[int] = []
    for (topic_id, index), handed in results:
        row = rows[topic_id, index] = _row(index, handed)
        if handed.outcome.error in SERVED_ELSEWHERE:
            name = context.services.cluster.metadata.image.topic_names.get(topic_id, "")
            row.current_leader = ShareFetchResponse.LeaderIdAndEpoch(*current_leader(context, name, index))
            leaders.append(row.current_leader.leader_id)
    for of, outcome in outcomes.items():
        _tell(rows.setdefault(of, Answer(partition_index=of[1], records=b"")), outcome)
    topics: dict[bytes, TopicAnswer] = {}
    for (topic_id, _), row in rows.items():
        topics.setdefault(topic_id, TopicAnswer(topic_id)).partitions.append(row)
    limits = context.services.coordinators.share_partitions.settings.limits(member.group_id)
    return ShareFetchResponse(
        acquisition_lock_timeout_ms=limits.record_lock_duration_ms,
        responses=list(topics.values()),
        node_endpoints=[ShareFetchResponse.NodeEndpoint(*each) for each in endpoints(context, leaders)],
    )


def _row(index: int, handed: Handed) -> Answer:
    return Answer(
        partition_index=index,
        error_code=handed.outcome.error,
        records=handed.records,
        acquired_records=[ShareFetchResponse.AcquiredRecords(*each) for each in handed.acquired],
    )


def _tell(row: Answer, outcome: Outcome) -> None:
    row.acknowledge_error_code = outcome.error
    row.acknowledge_error_message = outcome.message
