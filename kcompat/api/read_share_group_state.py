"""ReadShareGroupState (key 84), version 0: read the delivery state of share partitions (KIP-932).

Behaviour
- Leaders of partitions send the request before they deliver records. `share_state` has the rules that all
  five APIs have in common.
- A higher leader epoch is stored, and from then on fences older leaders (FENCED_LEADER_EPOCH).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.share_state import Wording, answer_each
from kcompat.protocol.messages.read_share_group_state import (
    ReadShareGroupStateRequest,
    ReadShareGroupStateResponse,
)
from kcompat.share.persister import StateRead

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.promise import Promise

TopicAnswer = ReadShareGroupStateResponse.ReadStateResult
Answer = ReadShareGroupStateResponse.PartitionResult


def handle(
    context: RequestContext, request: ReadShareGroupStateRequest
) -> Promise[ReadShareGroupStateResponse]:
    """Return the delivery state of each share partition."""
    coordinator = context.services.coordinators.share_coordinator
    answered = answer_each(
        context, request, lambda key, row: coordinator.read(key, row.leader_epoch), _WORDING
    )
    return answered.map(ReadShareGroupStateResponse)


def _answer(index: int, read: StateRead) -> Answer:
    return Answer(
        partition=index,
        error_code=read.error,
        error_message=read.message,
        state_epoch=read.state_epoch,
        start_offset=read.start_offset,
        state_batches=[ReadShareGroupStateResponse.StateBatch(*batch) for batch in read.batches],
    )


_WORDING = Wording(StateRead, _answer, TopicAnswer)
