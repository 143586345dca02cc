"""Metadata (key 3), versions 0-13.

Behaviour
- Topics are named, or from version 12 on given by id. If one row has an id, rows with only a name are
  ignored.
- Unknown names are created with the broker's defaults if `auto.create.topics.enable` and the client allow it.
  The response waits for the creation and contains the new topic. Kafka answers UNKNOWN_TOPIC_OR_PARTITION,
  and the client retries.
- The response waits for the controller's first metadata update, for at most a second
  (`kcompat.api.first_metadata_update`). If no update has come, it lists this broker alone, creates no topic,
  and the requested topics get LEADER_NOT_AVAILABLE.
- A broker whose process has ended leads no partition and its replicas are offline, but it stays in the list
  of brokers until its session ends, as in Kafka.
- Rows keep the order of the request; a name that is requested twice has one row. Partitions are in ascending
  order.
- Topics that the client may not describe are left out if it requests all topics. If it names them, they get
  TOPIC_AUTHORIZATION_FAILED, whether or not they exist. A missing topic that the client may not create gets
  the same error.
- A row without name and id gets INVALID_REQUEST, and so does any id in versions 10 and 11, as in Kafka.

Version notes
- 0: an empty list requests all topics; in later versions a null list does. A replica or ISR member that is
  down is left out of its list, and the partition gets REPLICA_NOT_AVAILABLE.
- 4: `allow_auto_topic_creation`, which counts as true in older versions. 5: offline replicas (KIP-112). 6:
  LISTENER_NOT_FOUND, for which older versions get LEADER_NOT_AVAILABLE. 7: leader epochs (KIP-320). 8:
  authorised operations (KIP-430), for the cluster up to 10 only (KIP-700). 10: topic ids in responses
  (KIP-516). 12: topic ids in requests. 13: a top-level error, never set here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.api.cluster_view import (
    absence_error,
    cluster_operations,
    leader_error,
    listed_brokers,
    offline_replicas,
    reachable_brokers,
)
from kcompat.api.failures import note_missing_topics, note_uncreated
from kcompat.api.topic_access import may_use_topic
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kcompat.protocol.uuids import ZERO_UUID
from kcompat.security.authorizer import CLUSTER, Purpose, Resource
from kcompat.security.operations import NOT_REQUESTED, Operation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from kcompat.api.context import RequestContext
    from kcompat.cluster.image import ClusterImage, PartitionInfo, TopicImage
    from kcompat.promise import Promise

FIRST_WITH_NULL_FOR_ALL = 1
FIRST_WITH_LISTENER_NOT_FOUND = 6
FIRST_WITH_TOPIC_IDS = 12

_DESCRIBE: Final = Operation.DESCRIBE  # Python 3.11 takes 0.2 us to find a member of an enumeration

TopicAnswer = MetadataResponse.MetadataResponseTopic
PartitionAnswer = MetadataResponse.MetadataResponsePartition
BrokerAnswer = MetadataResponse.MetadataResponseBroker
RequestedTopic = MetadataRequest.MetadataRequestTopic


def handle(context: RequestContext, request: MetadataRequest) -> MetadataResponse | Promise[MetadataResponse]:
    """Describe brokers and topics, after creating missing topics."""
    return context.services.cluster.first_metadata_update.wait_then(lambda: _answer(context, request))


def _answer(
    context: RequestContext, request: MetadataRequest
) -> MetadataResponse | Promise[MetadataResponse]:
    image = context.services.cluster.metadata.image
    requested = request.topics
    if requested is None or (not requested and context.api_version < FIRST_WITH_NULL_FOR_ALL):
        shown = [
            topic for topic in image.topics.values() if _may_describe(context, topic.name, Purpose.FILTER)
        ]
        return _response(context, request, shown, [])
    if any(_is_malformed(topic, context.api_version) for topic in requested):
        return _refusal(requested, context.api_version)
    if any(topic.topic_id != ZERO_UUID for topic in requested):
        return _by_id(context, request, requested)
    names = list(dict.fromkeys(topic.name for topic in requested if topic.name is not None))
    denied = {name for name in names if not _may_describe(context, name)}
    missing = [name for name in names if name not in image.topics and name not in denied]
    may_create = (
        request.allow_auto_topic_creation and context.services.server.config.auto_create_topics_enable
    )
    if not missing or not may_create or not image.is_from_controller:
        if missing and image.is_from_controller:
            note_missing_topics(context, missing, may_create=request.allow_auto_topic_creation)
        return _by_name(context, request, names, denied, {})
    if not context.may(Operation.CREATE, CLUSTER, Purpose.FILTER):
        denied.update(name for name in missing if not context.may(Operation.CREATE, Resource.topic(name)))
    creating = context.services.cluster.decisions.ensure_topics(
        [name for name in missing if name not in denied]
    )
    return creating.map(lambda errors: _by_name(context, request, names, denied, errors))


def _may_describe(context: RequestContext, name: str, purpose: Purpose = Purpose.ACCESS) -> bool:
    return may_use_topic(context, _DESCRIBE, name, purpose)


def _is_malformed(topic: RequestedTopic, version: int) -> bool:
    if version < FIRST_WITH_TOPIC_IDS:
        return topic.name is None or topic.topic_id != ZERO_UUID
    return topic.name is None and topic.topic_id == ZERO_UUID


def _refusal(requested: Sequence[RequestedTopic], version: int) -> MetadataResponse:
    nameless = None if version >= FIRST_WITH_TOPIC_IDS else ""
    return MetadataResponse(
        topics=[
            TopicAnswer(
                error_code=ErrorCode.INVALID_REQUEST,
                name=nameless if topic.name is None else topic.name,
                topic_id=topic.topic_id,
            )
            for topic in requested
        ]
    )


def _by_id(
    context: RequestContext, request: MetadataRequest, requested: Sequence[RequestedTopic]
) -> MetadataResponse:
    image = context.services.cluster.metadata.image
    ids = dict.fromkeys(topic.topic_id for topic in requested if topic.topic_id != ZERO_UUID)
    found, failed = [], []
    for topic_id in ids:
        topic = image.topic_by_id(topic_id)
        if topic is not None and _may_describe(context, topic.name):
            found.append(topic)
        else:
            error = ErrorCode.UNKNOWN_TOPIC_ID if topic is None else ErrorCode.TOPIC_AUTHORIZATION_FAILED
            failed.append(TopicAnswer(error_code=error, name=None, topic_id=topic_id))
    return _response(context, request, found, failed)


def _by_name(
    context: RequestContext,
    request: MetadataRequest,
    names: Sequence[str],
    denied: AbstractSet[str],
    errors: Mapping[str, ErrorCode],
) -> MetadataResponse:
    """Return the response for named topics. `denied` topics show nothing; `errors` has the errors of failed
    creations.
    """
    image = context.services.cluster.metadata.image
    found, failed = [], []
    for name in names:
        if name in denied:
            failed.append(TopicAnswer(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, name=name))
        elif name in image.topics:
            found.append(image.topics[name])
        else:
            error = errors.get(name) or absence_error(name, image)
            note_uncreated(context, name, errors.get(name))
            failed.append(TopicAnswer(error_code=error, name=name))
    return _response(context, request, found, failed)


def _response(
    context: RequestContext, request: MetadataRequest, topics: Sequence[TopicImage], failed: list[TopicAnswer]
) -> MetadataResponse:
    image = context.services.cluster.metadata.image
    reachable = reachable_brokers(context)
    rows = [
        TopicAnswer(
            name=topic.name,
            topic_id=topic.topic_id,
            is_internal=topic.is_internal,
            partitions=_partitions(topic, image, reachable.keys(), context.api_version),
        )
        for topic in topics
    ]
    rows += failed
    if request.include_topic_authorized_operations:
        for row in rows:
            if row.name is not None and row.error_code != ErrorCode.TOPIC_AUTHORIZATION_FAILED:
                row.topic_authorized_operations = context.operations_on(Resource.topic(row.name))
    requested = request.include_cluster_authorized_operations
    return MetadataResponse(
        brokers=[
            BrokerAnswer(node_id=broker, host=host, port=port, rack=rack)
            for broker, host, port, rack in listed_brokers(context, reachable)
        ],
        cluster_id=image.cluster_id,
        controller_id=image.controller_id,
        topics=rows,
        cluster_authorized_operations=cluster_operations(context) if requested else NOT_REQUESTED,
    )


def _partitions(
    topic: TopicImage, image: ClusterImage, reachable: AbstractSet[int], version: int
) -> list[PartitionAnswer]:
    describe = _partition if version >= FIRST_WITH_NULL_FOR_ALL else _partition_v0
    answers = []
    for index, partition in topic.partitions.items():
        error = leader_error(partition, image.brokers, reachable)
        if error is ErrorCode.LISTENER_NOT_FOUND and version < FIRST_WITH_LISTENER_NOT_FOUND:
            error = ErrorCode.LEADER_NOT_AVAILABLE
        answers.append(describe(index, partition, error, reachable))
    return answers


def _partition(
    index: int, partition: PartitionInfo, error: ErrorCode, reachable: AbstractSet[int]
) -> PartitionAnswer:
    return PartitionAnswer(
        error_code=error,
        partition_index=index,
        leader_id=partition.leader if error is ErrorCode.NONE else -1,
        leader_epoch=partition.leader_epoch,
        replica_nodes=list(partition.replicas),
        isr_nodes=list(partition.isr),
        offline_replicas=offline_replicas(partition, reachable),
    )


def _partition_v0(
    index: int, partition: PartitionInfo, error: ErrorCode, reachable: AbstractSet[int]
) -> PartitionAnswer:
    """Return a partition without its dead replicas, which clients of version 0 cannot handle."""
    replicas = [replica for replica in partition.replicas if replica in reachable]
    isr = [replica for replica in partition.isr if replica in reachable]
    complete = len(replicas) == len(partition.replicas) and len(isr) == len(partition.isr)
    if error is ErrorCode.NONE and not complete:
        error = ErrorCode.REPLICA_NOT_AVAILABLE
    return PartitionAnswer(
        error_code=error,
        partition_index=index,
        leader_id=partition.leader if partition.leader in reachable else -1,
        replica_nodes=replicas,
        isr_nodes=isr,
    )
