"""TxnOffsetCommit (key 28), versions 0-6.

Behaviour
- Writes offsets of a group to `__consumer_offsets` as part of a transaction: they take effect when it
  commits.
- Partitions that do not exist are refused one by one; the others are written.

Version notes
- 0, 1: COORDINATOR_NOT_AVAILABLE replaces COORDINATOR_LOAD_IN_PROGRESS, which is fatal to these clients
  (KAFKA-7296). 2: leader epochs. 3: the member and its generation (KIP-447).
- 4: TRANSACTION_ABORTABLE. 5: the request adds the group's partition to the transaction (KIP-890).
- 6: topics by id.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kcompat.api.commit_rows import CommitRows, refuse_all
from kcompat.coordinator.ports import Claim
from kcompat.group.requests import CommitRequest
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitResponse
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.promise import Promise

FIRST_WITH_LOADING = 2
FIRST_WITH_ABORTABLE = 4
FIRST_THAT_ADDS = 5
FIRST_WITH_IDS = 6
ANSWERS = (
    TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic,
    TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition,
)


def handle(
    context: RequestContext, request: TxnOffsetCommitRequest
) -> TxnOffsetCommitResponse | Promise[TxnOffsetCommitResponse]:
    """Commit the offsets of the partitions that are not refused, in a transaction."""
    denial = _denial(context, request)
    if denial:
        return TxnOffsetCommitResponse(topics=refuse_all(request.topics, ANSWERS, denial))
    version = context.api_version
    rows = CommitRows(context, request, ANSWERS, by_id=version >= FIRST_WITH_IDS)
    if not rows.offsets:
        return TxnOffsetCommitResponse(topics=rows.answers())
    commit = CommitRequest(
        request.group_id,
        tuple(rows.offsets),
        request.member_id,
        request.generation_id_or_member_epoch,
        request.group_instance_id,
        is_transactional=True,
    )
    claim = Claim(
        request.transactional_id,
        request.producer_id,
        request.producer_epoch,
        adds=version >= FIRST_THAT_ADDS,
        knows_abortable=version >= FIRST_WITH_ABORTABLE,
    )
    translate = partial(_translate, version)
    committed = context.services.coordinators.groups.commit_in_transaction(commit, claim)
    return committed.map(lambda errors: TxnOffsetCommitResponse(topics=rows.settle(errors, translate)))


def _denial(context: RequestContext, request: TxnOffsetCommitRequest) -> ErrorCode:
    if not context.may(Operation.WRITE, Resource.transactional_id(request.transactional_id)):
        return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    if not context.may(Operation.READ, Resource.group(request.group_id)):
        return ErrorCode.GROUP_AUTHORIZATION_FAILED
    return ErrorCode.NONE


def _translate(version: int, error: ErrorCode) -> ErrorCode:
    """Return the error that this version of TxnOffsetCommit has for `error`."""
    if error == ErrorCode.STALE_MEMBER_EPOCH:
        return ErrorCode.ILLEGAL_GENERATION
    is_loading = error == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    return ErrorCode.COORDINATOR_NOT_AVAILABLE if is_loading and version < FIRST_WITH_LOADING else error
