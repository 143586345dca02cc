"""InitializeShareGroupState (key 83), version 0: initialize the state of share partitions (KIP-932).

Behaviour
- Group coordinators send the request. `share_state` has the rules that all five APIs have in common.
- The earlier delivery state is deleted. A state epoch below the stored one gets FENCED_STATE_EPOCH.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.share_state import Wording, answer_each
from kcompat.protocol.messages.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeShareGroupStateResponse,
)
from kcompat.share.persister import Outcome

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.promise import Promise
    from kcompat.share.key import SharePartitionKey

TopicAnswer = InitializeShareGroupStateResponse.InitializeStateResult
Answer = InitializeShareGroupStateResponse.PartitionResult


def handle(
    context: RequestContext, request: InitializeShareGroupStateRequest
) -> Promise[InitializeShareGroupStateResponse]:
    """Initialize the state of each share partition."""
    coordinator = context.services.coordinators.share_coordinator

    def ask(key: SharePartitionKey, row: InitializeShareGroupStateRequest.PartitionData) -> Promise[Outcome]:
        return coordinator.initialize(key, row.state_epoch, row.start_offset)

    answered = answer_each(context, request, ask, _WORDING, skips_empty_topics=True)
    return answered.map(InitializeShareGroupStateResponse)


def _answer(index: int, outcome: Outcome) -> Answer:
    return Answer(index, *outcome)


_WORDING = Wording(Outcome, _answer, TopicAnswer)
