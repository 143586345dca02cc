"""OffsetCommit (key 8), versions 0-10.

Behaviour
- Writes offsets to `__consumer_offsets` and answers once they are committed there.
- A commit of a member needs the generation of its group. A commit without a generation is accepted while the
  group has no members.
- A member of a consumer group commits in its epoch. In an older epoch it may commit partitions that were
  assigned to it by then (KIP-1251); otherwise all partitions get STALE_MEMBER_EPOCH. Versions below 9 get
  UNSUPPORTED_VERSION.
- Partitions that do not exist are refused one by one; the others are written.

Version notes
- 0: has neither member nor generation. Kafka kept these offsets in ZooKeeper; here they are in
  `__consumer_offsets` like all others, so the group can continue with a newer client.
- 1: the client may set the timestamp of each commit.
- 2-4: the client may choose the retention time of the offsets, counted from the commit.
- 6: leader epochs (KIP-320).
- 7: instance ids (KIP-345).
- 9: a generation of a missing group gets GROUP_ID_NOT_FOUND, not ILLEGAL_GENERATION (KIP-848).
- 10: topics by id (KIP-848).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kcompat.api.commit_rows import CommitRows, refuse_all
from kcompat.group.requests import CommitRequest
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.promise import Promise

FIRST_WITH_EPOCHS = 9
FIRST_WITH_IDS = 10
ANSWERS = (
    OffsetCommitResponse.OffsetCommitResponseTopic,
    OffsetCommitResponse.OffsetCommitResponsePartition,
)


def handle(
    context: RequestContext, request: OffsetCommitRequest
) -> OffsetCommitResponse | Promise[OffsetCommitResponse]:
    """Commit the offsets of the partitions that are not refused."""
    if not context.may(Operation.READ, Resource.group(request.group_id)):
        return OffsetCommitResponse(
            topics=refuse_all(request.topics, ANSWERS, ErrorCode.GROUP_AUTHORIZATION_FAILED)
        )
    version = context.api_version
    rows = CommitRows(context, request, ANSWERS, by_id=version >= FIRST_WITH_IDS)
    if not rows.offsets:
        return OffsetCommitResponse(topics=rows.answers())
    commit = CommitRequest(
        request.group_id,
        tuple(rows.offsets),
        request.member_id,
        request.generation_id_or_member_epoch,
        request.group_instance_id,
        request.retention_time_ms,
        knows_epochs=version >= FIRST_WITH_EPOCHS,
    )
    translate = partial(_translate, version)
    committed = context.services.coordinators.groups.commit(commit)
    return committed.map(lambda errors: OffsetCommitResponse(topics=rows.settle(errors, translate)))


def _translate(version: int, error: ErrorCode) -> ErrorCode:
    """Return the error that this version of OffsetCommit has for `error`."""
    if error == ErrorCode.GROUP_ID_NOT_FOUND and version < FIRST_WITH_EPOCHS:
        return ErrorCode.ILLEGAL_GENERATION
    return error
