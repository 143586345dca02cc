"""DeleteShareGroupState (key 86), version 0: delete the state of share partitions (KIP-932).

Behaviour
- Group coordinators send the request. `share_state` has the rules that all five APIs have in common.
- Deleting an unknown share partition succeeds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.share_state import Wording, answer_each
from kcompat.protocol.messages.delete_share_group_state import (
    DeleteShareGroupStateRequest,
    DeleteShareGroupStateResponse,
)
from kcompat.share.persister import Outcome

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.promise import Promise

TopicAnswer = DeleteShareGroupStateResponse.DeleteStateResult
Answer = DeleteShareGroupStateResponse.PartitionResult


def handle(
    context: RequestContext, request: DeleteShareGroupStateRequest
) -> Promise[DeleteShareGroupStateResponse]:
    """Delete the state of each share partition."""
    coordinator = context.services.coordinators.share_coordinator
    answered = answer_each(context, request, lambda key, _: coordinator.delete(key), _WORDING)
    return answered.map(DeleteShareGroupStateResponse)


def _answer(index: int, outcome: Outcome) -> Answer:
    return Answer(index, *outcome)


_WORDING = Wording(Outcome, _answer, TopicAnswer)
