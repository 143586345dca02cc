"""CreatePartitions (key 37), versions 0-3 (KIP-195): add partitions to topics.

Behaviour
- Each topic succeeds or fails by itself; a name that appears twice has one row with an error.
- The number of partitions can only grow. The client may assign the new partitions; else they continue the
  round robin over the brokers from the topic's first partition.
- The response is sent when the partitions can be used. A timeout of 0 or less creates nothing and gets
  REQUEST_TIMED_OUT.
- The new partitions count against the client's `controller_mutation_rate`.

Version notes
- 1: same as 0. 2: flexible. 3: THROTTLING_QUOTA_EXCEEDED (KIP-599).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kcompat.api.mutations import Mutations
from kcompat.controller.values import PartitionsSpec, TopicOutcome
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsResponse
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.api.context import RequestContext
    from kcompat.promise import Promise

FIRST_WITH_STRICT_QUOTA = 3

Answer = CreatePartitionsResponse.CreatePartitionsTopicResult

_DUPLICATE = TopicOutcome(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")


def handle(
    context: RequestContext, request: CreatePartitionsRequest
) -> CreatePartitionsResponse | Promise[CreatePartitionsResponse]:
    """Add the partitions, and answer once they can be used."""
    names = Counter(topic.name for topic in request.topics)
    refused = {name: _DUPLICATE for name, times in names.items() if times > 1}
    for name in names.keys() - refused.keys():
        if not context.may(Operation.ALTER, Resource.topic(name)):
            refused[name] = TopicOutcome(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        elif request.timeout_ms <= 0:
            refused[name] = TopicOutcome(ErrorCode.REQUEST_TIMED_OUT)
    mutations = Mutations(context, strict_since=FIRST_WITH_STRICT_QUOTA)
    if not request.validate_only:
        _count(context, request, mutations, refused)
    specs = [
        PartitionsSpec(
            topic.name,
            topic.count,
            None if topic.assignments is None else [row.broker_ids for row in topic.assignments],
        )
        for topic in request.topics
        if topic.name not in refused
    ]
    if not specs:
        return _response(names, refused)
    growing = context.services.cluster.decisions.create_partitions(specs, validate_only=request.validate_only)

    def grown(outcomes: dict[str, TopicOutcome]) -> CreatePartitionsResponse:
        mutations.uncount(name for name, outcome in outcomes.items() if outcome.error)
        return _response(names, {**refused, **outcomes})

    return growing.map(grown)


def _count(
    context: RequestContext,
    request: CreatePartitionsRequest,
    mutations: Mutations,
    refused: dict[str, TopicOutcome],
) -> None:
    """Count the partitions to add, and add the topics that the quota refuses to `refused`."""
    topics = context.services.cluster.metadata.image.topics
    for topic in request.topics:
        if topic.name not in refused and topic.name in topics:
            more = topic.count - len(topics[topic.name].partitions)
            if more > 0 and not mutations.count(topic.name, more):
                refused[topic.name] = TopicOutcome(ErrorCode.THROTTLING_QUOTA_EXCEEDED)


def _response(names: Counter[str], outcomes: Mapping[str, TopicOutcome]) -> CreatePartitionsResponse:
    return CreatePartitionsResponse(
        results=[
            Answer(name=name, error_code=outcomes[name].error, error_message=outcomes[name].message)
            for name in names
        ]
    )
