"""WriteShareGroupState (key 85), versions 0-1: store the delivery state of share partitions (KIP-932).

Behaviour
- Leaders of partitions send the request before they confirm an acknowledgement. `share_state` has the rules
  that all five APIs have in common.
- Older leader epochs and state epochs are fenced; an epoch of -1 is not checked.

Version notes
- 1: the number of records after the start offset whose delivery is complete (KIP-1226).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.share_state import Wording, answer_each
from kcompat.protocol.messages.write_share_group_state import (
    WriteShareGroupStateRequest,
    WriteShareGroupStateResponse,
)
from kcompat.share.batches import StateBatch
from kcompat.share.persister import Outcome, StateWrite

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.promise import Promise
    from kcompat.share.key import SharePartitionKey

TopicAnswer = WriteShareGroupStateResponse.WriteStateResult
Answer = WriteShareGroupStateResponse.PartitionResult


def handle(
    context: RequestContext, request: WriteShareGroupStateRequest
) -> Promise[WriteShareGroupStateResponse]:
    """Store the delivery state of each share partition."""
    coordinator = context.services.coordinators.share_coordinator

    def ask(key: SharePartitionKey, row: WriteShareGroupStateRequest.PartitionData) -> Promise[Outcome]:
        batches = tuple(
            StateBatch(batch.first_offset, batch.last_offset, batch.delivery_state, batch.delivery_count)
            for batch in row.state_batches
        )
        return coordinator.write(
            key,
            StateWrite(
                row.state_epoch, row.leader_epoch, row.start_offset, row.delivery_complete_count, batches
            ),
        )

    answered = answer_each(context, request, ask, _WORDING)
    return answered.map(WriteShareGroupStateResponse)


def _answer(index: int, outcome: Outcome) -> Answer:
    return Answer(index, *outcome)


_WORDING = Wording(Outcome, _answer, TopicAnswer)
