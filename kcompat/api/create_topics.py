"""CreateTopics (key 19), versions 0-7.

Behaviour
- Each topic succeeds or fails by itself; a name that appears twice has one row with an error.
- The response is sent when the topics can be used. A timeout of 0 or less creates nothing and gets
  REQUEST_TIMED_OUT, as from the controller of Kafka 3.9. On a single broker a positive timeout never runs
  out.
- The client needs CREATE on the cluster or on the topic. The response hides the topic's configs from a client
  that may not describe them.
- A request may create at most 10,000 partitions; a larger one gets POLICY_VIOLATION.
- The partitions count against the client's `controller_mutation_rate` (KIP-599).

Version notes
- 1: `validate_only`, error messages. 4: -1 for the broker's default number of partitions or replication
  factor (KIP-464; older versions accept it too). 5: the response has the number of partitions, the
  replication factor and the configs (KIP-525). 6: THROTTLING_QUOTA_EXCEEDED. 7: topic ids (KIP-516).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kcompat.api.mutations import Mutations
from kcompat.config.describe import describe_topic
from kcompat.controller.values import USE_DEFAULT, TopicSpec
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from kcompat.security.authorizer import CLUSTER, Purpose, Resource
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.api.context import RequestContext
    from kcompat.controller.values import TopicResult
    from kcompat.promise import Promise

FIRST_WITH_CONFIGS = 5
FIRST_WITH_STRICT_QUOTA = 6
_KRAFT_LOG = "__cluster_metadata"

Answer = CreateTopicsResponse.CreatableTopicResult
ConfigAnswer = CreateTopicsResponse.CreatableTopicConfigs


def handle(
    context: RequestContext, request: CreateTopicsRequest
) -> CreateTopicsResponse | Promise[CreateTopicsResponse]:
    """Create the topics, and answer once they can be used."""
    names = Counter(topic.name for topic in request.topics)
    refusals = {name: _refusal(context, name, times, request) for name, times in names.items()}
    refused = {name: refusal for name, refusal in refusals.items() if refusal is not None}
    mutations = Mutations(context, strict_since=FIRST_WITH_STRICT_QUOTA)
    if not request.validate_only:
        _count(context, request, mutations, refused)
    specs = [
        TopicSpec(
            topic.name,
            topic.num_partitions,
            topic.replication_factor,
            [(assignment.partition_index, assignment.broker_ids) for assignment in topic.assignments],
            [(config.name, config.value) for config in topic.configs],
        )
        for topic in request.topics
        if topic.name not in refused
    ]
    if not specs:
        return _response(names, refused)

    def created(results: list[TopicResult]) -> CreateTopicsResponse:
        mutations.uncount(result.name for result in results if result.error)
        made = {result.name: _answer(context, result) for result in results}
        return _response(names, {**refused, **made})

    return context.services.cluster.decisions.create_topics(specs, validate_only=request.validate_only).map(
        created
    )


def _count(
    context: RequestContext, request: CreateTopicsRequest, mutations: Mutations, refused: dict[str, Answer]
) -> None:
    """Count the partitions of the topics to create; add topics that the quota refuses to `refused`."""
    default = context.services.server.config.num_partitions
    for topic in request.topics:
        if topic.name in refused or topic.name in context.services.cluster.metadata.image.topics:
            continue
        partitions = len(topic.assignments) or topic.num_partitions
        if not mutations.count(topic.name, default if partitions == USE_DEFAULT else max(partitions, 0)):
            error = ErrorCode.THROTTLING_QUOTA_EXCEEDED
            refused[topic.name] = _failed(topic.name, error, error.message)


def _refusal(context: RequestContext, name: str, times: int, request: CreateTopicsRequest) -> Answer | None:
    """Return the refusal of a topic that the controller need not decide on, or None."""
    if times > 1:
        return _failed(name, ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
    if name == _KRAFT_LOG:
        message = f"Creation of internal topic {_KRAFT_LOG} is prohibited."
        return _failed(name, ErrorCode.INVALID_REQUEST, message)
    if not (
        context.may(Operation.CREATE, CLUSTER, Purpose.FILTER)
        or context.may(Operation.CREATE, Resource.topic(name))
    ):
        return _failed(name, ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Authorization failed.")
    if request.timeout_ms <= 0:
        return _failed(name, ErrorCode.REQUEST_TIMED_OUT, None)
    return None


def _failed(name: str, error: ErrorCode, message: str | None) -> Answer:
    return Answer(name=name, error_code=error, error_message=message)


def _answer(context: RequestContext, result: TopicResult) -> Answer:
    if result.error is not ErrorCode.NONE:
        return _failed(result.name, result.error, result.message)
    answer = Answer(name=result.name, topic_id=result.topic_id, error_message=None)
    if not context.may(Operation.DESCRIBE_CONFIGS, Resource.topic(result.name), Purpose.FILTER):
        answer.topic_config_error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    elif context.api_version >= FIRST_WITH_CONFIGS:
        answer.num_partitions = result.num_partitions
        answer.replication_factor = result.replication_factor
        answer.configs = [
            ConfigAnswer(
                name=entry.name,
                value=entry.value,
                read_only=entry.read_only,
                config_source=entry.source,
                is_sensitive=entry.sensitive,
            )
            for entry in describe_topic(context.services.server.config, result.configs)
        ]
    return answer


def _response(names: Counter[str], answers: Mapping[str, Answer]) -> CreateTopicsResponse:
    return CreateTopicsResponse(topics=[answers[name] for name in names])
