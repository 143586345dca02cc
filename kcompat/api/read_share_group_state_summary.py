"""ReadShareGroupStateSummary (key 87), versions 0-1: read the start offsets of share partitions (KIP-932).

Behaviour
- Group coordinators send the request for administrators. `share_state` has the rules that all five APIs have
  in common.
- An uninitialized share partition has the start offset -1.

Version notes
- 1: the number of records after the start offset whose delivery is complete (KIP-1226).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.share_state import Wording, answer_each
from kcompat.protocol.messages.read_share_group_state_summary import (
    ReadShareGroupStateSummaryRequest,
    ReadShareGroupStateSummaryResponse,
)
from kcompat.share.persister import StateSummary

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.promise import Promise

TopicAnswer = ReadShareGroupStateSummaryResponse.ReadStateSummaryResult
Answer = ReadShareGroupStateSummaryResponse.PartitionResult


def handle(
    context: RequestContext, request: ReadShareGroupStateSummaryRequest
) -> Promise[ReadShareGroupStateSummaryResponse]:
    """Return the start offset of each share partition."""
    coordinator = context.services.coordinators.share_coordinator
    answered = answer_each(
        context, request, lambda key, row: coordinator.summary(key, row.leader_epoch), _WORDING
    )
    return answered.map(ReadShareGroupStateSummaryResponse)


def _answer(index: int, summary: StateSummary) -> Answer:
    return Answer(index, *summary)


_WORDING = Wording(StateSummary, _answer, TopicAnswer)
