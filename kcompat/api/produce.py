"""Produce (key 0), versions 0-13.

Behaviour
- Each partition stands alone: one refused batch does not touch the others. A partition named twice is
  written and answered once, with its last batch, be it in one entry of its topic or in two.
- acks=0 has no answer; a failure then closes the connection, the only signal Kafka gives.
- acks=1 is answered after the local append, acks=all once the high watermark has passed it or after the
  request's timeout; neither before the sync that the append waits for (`flush.messages`).
- A topic needs WRITE, and so does the transactional id of a batch that belongs to a transaction.
- The first batch of a transaction in a partition is appended once the transaction's coordinator has said that
  it has the partition; see `kcompat.api.claimed`.
- Clients may not write internal topics, except the one Kafka itself trusts (`__admin_client`).

Version notes
- 0, 1: messages of magic 0, 2: of magic 1, stored as one batch v2. A set without one whole message
  stores nothing and is no error.
- 3: exactly one batch v2. 8: per-record errors and an error message (KIP-467).
- 10: who leads instead, beside NOT_LEADER_OR_FOLLOWER (KIP-951).
- 11: TRANSACTION_ABORTABLE. 12: partitions are added to the transaction by being written to (KIP-890).
- 13: topics by id (KIP-516).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.acceptance import Acceptance
from kcompat.api.claimed import claim, has_transactional
from kcompat.api.production import (
    PartitionAnswer,
    Production,
    TopicAnswer,
    admit,
    close_if_failed,
    once,
    resolve,
)
from kcompat.protocol.constants import ACKS_NONE
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.produce import ProduceResponse
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat.api.context import Busy, RequestContext
    from kcompat.api.production import PartitionData, TopicData
    from kcompat.net.answers import Close
    from kcompat.promise import Promise
    from kcompat.protocol.messages.produce import ProduceRequest


def handle(
    context: RequestContext, request: ProduceRequest
) -> ProduceResponse | Promise[ProduceResponse] | Busy[ProduceResponse] | Close | None:
    """Append every batch, then answer as `acks` asks."""
    production = Production(context, request, [], [], {}, [])
    is_transactional = has_transactional(request)
    if len(request.topic_data) > 1:
        request.topic_data = _merged(request.topic_data)
    if is_transactional:
        return _handle_transactional(production)
    answer = production.go_on(None)
    return production.go_on_later(answer) if isinstance(answer, Acceptance) else answer


def _handle_transactional(
    production: Production,
) -> ProduceResponse | Promise[ProduceResponse] | Busy[ProduceResponse] | Close | None:
    """Append what the transaction has, once that is known."""
    context, request = production.context, production.request
    name = request.transactional_id
    if name is None or not context.may(Operation.WRITE, Resource.transactional_id(name)):
        return _refuse_all(request, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    production.admitted = _admit_all(context, request)
    claimed = claim(context, name, _writable(request, production.admitted))
    if isinstance(claimed, ErrorCode):
        return _refuse_all(request, claimed)
    if not claimed.done:
        return production.go_on_when(claimed)
    production.claimed = claimed.value
    answer = production.go_on(None)
    return production.go_on_later(answer) if isinstance(answer, Acceptance) else answer


def _admit_all(context: RequestContext, request: ProduceRequest) -> list[tuple[str, ErrorCode]]:
    """The name of each topic, and with what it is refused."""
    names = [resolve(context, topic) for topic in request.topic_data]
    return [(name, admit(context, name, request.acks)) for name in names]


def _writable(
    request: ProduceRequest, admitted: list[tuple[str, ErrorCode]]
) -> Iterator[tuple[str, PartitionData]]:
    """The partitions of topics that the client may write to."""
    for topic, (name, refusal) in zip(request.topic_data, admitted, strict=True):
        if not refusal:
            for data in once(topic.partition_data):
                yield name, data


def _refuse_all(request: ProduceRequest, error: ErrorCode) -> ProduceResponse | Close | None:
    response = ProduceResponse(
        [
            TopicAnswer(
                topic.name,
                topic.topic_id,
                [PartitionAnswer(data.index, error, -1) for data in topic.partition_data],
            )
            for topic in request.topic_data
        ]
    )
    return close_if_failed(response) if request.acks == ACKS_NONE else response


def _merged(topics: list[TopicData]) -> list[TopicData]:
    """Each topic once, with all that is named of it. A partition in two entries would be written twice, and
    only the later batch be waited for: acks=all would be answered for the other before it is replicated.
    """
    merged: dict[tuple[str, bytes], TopicData] = {}
    for topic in topics:
        known = merged.setdefault((topic.name, topic.topic_id), topic)
        if known is not topic:
            known.partition_data += topic.partition_data
    return list(merged.values())
