"""Checks, acknowledgements and session ends that ShareFetch and ShareAcknowledge have in common (KIP-932).

Each row is checked by itself, in Kafka's order: the topic is known, the acknowledgements are valid, the
client may read the topic, the partition exists.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol

from kcompat.api.group_protocols import serves_share_groups
from kcompat.promise import Promise, gather
from kcompat.protocol.errors import ErrorCode
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from kcompat.share.key import SharePartitionKey
from kcompat.share.partition.acknowledgement import Acknowledgement, AcknowledgeType
from kcompat.share.persister import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.api.context import RequestContext, Services
    from kcompat.net.answers import Connection
    from kcompat.share.sessions import ShareSession, ShareSessionKey, TopicIdPartition

FIRST_WITH_RENEWALS = 2
MAX_MEMBER_ID = 36
"""Characters of a UUID in its text form."""

SERVED_ELSEWHERE = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})
"""Errors beside which a response names the current leader."""


class SaidBatch(Protocol):
    """A range of records in a request, and its acknowledgement types."""

    first_offset: int
    last_offset: int
    acknowledge_types: list[int]


class SaidPartition(Protocol):
    """A partition in a request, with its acknowledged ranges."""

    partition_index: int

    @property
    def acknowledgement_batches(self) -> Sequence[SaidBatch]:
        """The acknowledged ranges, in order."""


class SaidTopic(Protocol):
    """A topic in a request, with its partitions."""

    topic_id: bytes

    @property
    def partitions(self) -> Sequence[SaidPartition]:
        """The partitions of the topic."""


Outcomes = dict["TopicIdPartition", Outcome]


def refusal_of(context: RequestContext, group_id: str | None, member_id: str | None) -> ErrorCode:
    """Return the error that refuses the whole request of a member, or NONE."""
    if not serves_share_groups(context.services):
        return ErrorCode.UNSUPPORTED_VERSION
    if group_id is None:
        return ErrorCode.INVALID_REQUEST
    if not context.may(Operation.READ, Resource.group(group_id)):
        return ErrorCode.GROUP_AUTHORIZATION_FAILED
    return ErrorCode.NONE if is_member_id(member_id) else ErrorCode.INVALID_REQUEST


def is_member_id(text: str | None) -> bool:
    """Return whether `text` can be a member id, which share group members generate themselves."""
    return bool(text) and len(text or "") <= MAX_MEMBER_ID


def topic_error(context: RequestContext, of: TopicIdPartition) -> Outcome | None:
    """Return the error that keeps a client from fetching or acknowledging a partition, or None."""
    image = context.services.cluster.metadata.image
    name = image.topic_names.get(of[0])
    if name is None:
        return Outcome(ErrorCode.UNKNOWN_TOPIC_ID)
    if not context.may(Operation.READ, Resource.topic(name)):
        return Outcome(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    known = image.partition(name, of[1]) is not None
    return None if known else Outcome(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def acknowledge(
    context: RequestContext, member: ShareSessionKey, topics: Sequence[SaidTopic], *, renews: bool
) -> Promise[Outcomes]:
    """Apply a member's acknowledgements; promise the outcome of each partition.

    A partition without acknowledgements has an outcome only if others are acknowledged.
    """
    names = context.services.cluster.metadata.image.topic_names
    outcomes: Outcomes = {}
    silent: Outcomes = {}
    requested: dict[TopicIdPartition, Promise[Outcome]] = {}
    for topic in topics:
        for row in topic.partitions:
            of = topic.topic_id, row.partition_index
            said = _said(row.acknowledgement_batches, context.api_version, renews=renews)
            if topic.topic_id not in names:
                outcomes[of] = Outcome(ErrorCode.UNKNOWN_TOPIC_ID)
            elif said is None:
                outcomes[of] = Outcome(ErrorCode.INVALID_REQUEST)
            elif (refused := topic_error(context, of)) is not None:
                outcomes[of] = refused
            elif not said:
                silent[of] = Outcome()
            else:
                key = SharePartitionKey(member.group_id, *of)
                requested[of] = context.services.coordinators.share_partitions.acknowledge(
                    key, member.member_id, said
                )
    if not requested:
        return Promise.resolved(outcomes)

    def answered(done: list[Outcome]) -> Outcomes:
        return dict(zip(requested, done, strict=True)) | outcomes | silent

    return gather(list(requested.values())).map(answered)


def _said(batches: Sequence[SaidBatch], version: int, *, renews: bool) -> list[Acknowledgement] | None:
    """Return the acknowledged ranges, or None if they are invalid.

    Valid ranges are in order and have one type, or one type for each record; they renew only with `renews`.
    """
    newest = AcknowledgeType.RENEW if version >= FIRST_WITH_RENEWALS else AcknowledgeType.REJECT
    behind = -1
    said = []
    for batch in batches:
        first, last, types = batch.first_offset, batch.last_offset, batch.acknowledge_types
        is_sized = len(types) == 1 or len(types) == last - first + 1
        if first > last or first < behind or not types or not is_sized:
            return None
        if min(types) < 0 or max(types) > newest or (AcknowledgeType.RENEW in types and not renews):
            return None
        behind = last
        said.append(Acknowledgement(first, last, types))
    return said


def end_session(services: Services, session: ShareSession) -> None:
    """End a session and release the member's records, without waiting for the release.

    Does nothing if the member has begun another session since: its records belong to the new session.
    """
    if services.coordinators.share_sessions.find(session.key) is session:
        services.coordinators.share_partitions.release(
            session.key, services.coordinators.share_sessions.end(session.key)
        )


def follow(context: RequestContext, group_id: str) -> None:
    """Have the member's records released when the connection on which it has begun a session closes."""
    connection = context.connection
    connection.when_closed(partial(_disconnected, context.services, connection, group_id))


def _disconnected(services: Services, connection: Connection, group_id: str) -> None:
    """Release the records of the member whose session the closed connection had.

    If no member of the group has a session on this broker any more, the group's share partitions are dropped
    here, because administrators may reset them.
    """
    session = services.coordinators.share_sessions.disconnected(connection)
    released = (
        Promise.resolved([])
        if session is None
        else services.coordinators.share_partitions.release(session.key, session.partitions)
    )

    def forget(_: object) -> None:
        if not services.coordinators.share_sessions.has_members(group_id):
            services.coordinators.share_partitions.forget_group(group_id)

    released.then(forget)
