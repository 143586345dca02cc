"""DescribeQuorum (key 55), versions 0-2: the metadata store, described as a KRaft quorum (KIP-595).

Behaviour
- There is no KRaft quorum. The metadata store (`kcompat.store.interface`) takes its place: the controller is
  the leader and the only voter, in the controller epoch, and the other live brokers are observers.
- Offsets are transaction ids of the store. The last id is the high watermark, and the log end offset of the
  controller and of the broker that answers. The offsets of other brokers are unknown: -1.
- Any broker answers, as it reads the store itself; a Kafka broker forwards the request to the controller.
- A request for anything but partition 0 of `__cluster_metadata` gets UNKNOWN_TOPIC_OR_PARTITION for each
  partition.
- While there is no controller, the whole request gets NOT_LEADER_OR_FOLLOWER.

Version notes
- 1: the times when a replica last fetched and was last caught up (KIP-836). 2: directory ids, and the
  listeners of voters (KIP-853). A broker has no metadata directory; its listener is the one that the client
  used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.cluster_view import reachable_brokers
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.cluster.quorum import QuorumState
    from kcompat.promise import Promise

METADATA_TOPIC = "__cluster_metadata"
UNKNOWN = -1
FIRST_WITH_NODES = 2

_Topic = DescribeQuorumResponse.TopicData
_Partition = DescribeQuorumResponse.PartitionData
_Replica = DescribeQuorumResponse.ReplicaState
_Node = DescribeQuorumResponse.Node
_Listener = DescribeQuorumResponse.Listener


def handle(
    context: RequestContext, request: DescribeQuorumRequest
) -> DescribeQuorumResponse | Promise[DescribeQuorumResponse]:
    """Describe the metadata store as a quorum."""
    if not context.may(Operation.DESCRIBE, CLUSTER):
        return _refused(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    requested = [
        (topic.topic_name, row.partition_index) for topic in request.topics for row in topic.partitions
    ]
    if requested != [(METADATA_TOPIC, 0)] or len(request.topics) > 1:
        return _unknown_partitions(request)
    return context.services.cluster.quorum.read().map(lambda state: _response(context, state))


def _refused(error: ErrorCode) -> DescribeQuorumResponse:
    return DescribeQuorumResponse(error_code=error, error_message=error.message)


def _unknown_partitions(request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    topics = [
        _Topic(
            topic.topic_name,
            [_Partition(row.partition_index, error, error.message) for row in topic.partitions],
        )
        for topic in request.topics
    ]
    return DescribeQuorumResponse(topics=topics)


def _response(context: RequestContext, state: QuorumState | None) -> DescribeQuorumResponse:
    if state is None:
        return _refused(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    brokers = context.services.cluster.metadata.image.brokers
    leader, end = state.controller_id, state.last_zxid
    up_to_date = {leader, context.services.cluster.broker_id}

    def replica(broker_id: int) -> _Replica:
        if broker_id in up_to_date:
            return _Replica(
                broker_id,
                log_end_offset=end,
                last_fetch_timestamp=context.now_ms,
                last_caught_up_timestamp=context.now_ms,
            )
        return _Replica(broker_id, log_end_offset=UNKNOWN)

    partition = _Partition(
        leader_id=leader,
        leader_epoch=state.controller_epoch,
        high_watermark=end,
        current_voters=[replica(leader)],
        observers=[replica(broker_id) for broker_id in sorted(brokers) if broker_id != leader],
    )
    response = DescribeQuorumResponse(topics=[_Topic(METADATA_TOPIC, [partition])])
    if context.api_version >= FIRST_WITH_NODES:
        address = reachable_brokers(context).get(leader)
        response.nodes = [_Node(leader, [] if address is None else [_Listener(context.listener, *address)])]
    return response
