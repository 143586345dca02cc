"""End offsets of partitions, requested from their leaders (Kafka's `NetworkPartitionMetadataClient`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kcompat.peer.errors import PeerError
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode, error_of
from kcompat.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kcompat.replication.listing import LATEST_TIMESTAMP, offset_for
from kcompat.replication.partition import Partition
from kcompat.replication.reading import ANY_CONSUMER

if TYPE_CHECKING:
    from kcompat.cluster.image import ImageHolder
    from kcompat.share.ports import PeersPort, Replicas

PURPOSE: Final = "partition ends"
ANSWER_MS: Final = 10_000


class End(NamedTuple):
    """Offset of the next record that consumers can read, or the error that hides it."""

    error: ErrorCode
    offset: int = -1


class PartitionEnds:
    """Reader of end offsets from leaders: direct calls on this broker, ListOffsets to others."""

    def __init__(self, broker_id: int, replicas: Replicas, peers: PeersPort, cluster: ImageHolder) -> None:
        self._broker_id = broker_id
        self._replicas = replicas
        self._peers = peers
        self._cluster = cluster

    def of(self, topic: str, index: int) -> Promise[End]:
        """Return a promise of the end offset of one partition."""
        image = self._cluster.image
        shown = image.partition(topic, index)
        if shown is None or shown.leader not in image.brokers:
            return Promise.resolved(End(ErrorCode.LEADER_NOT_AVAILABLE))
        if shown.leader == self._broker_id:
            return Promise.resolved(self._here(topic, index))
        answered: Promise[End] = Promise()

        def failed(fault: Exception) -> None:
            if isinstance(fault, PeerError):
                answered.complete(End(ErrorCode.NETWORK_EXCEPTION))
            else:
                answered.fail(fault)

        peer = self._peers.of(shown.leader, PURPOSE)
        peer.call(_question(topic, index), ANSWER_MS).map(_end).then(answered.complete, failed)
        return answered

    def _here(self, topic: str, index: int) -> End:
        partition = self._replicas.find(topic, index)
        if not isinstance(partition, Partition):
            return End(partition)
        found = offset_for(partition, LATEST_TIMESTAMP, ANY_CONSUMER, -1)
        return End(found.error, found.offset)


def _question(topic: str, index: int) -> ListOffsetsRequest:
    row = ListOffsetsRequest.ListOffsetsPartition(index, timestamp=LATEST_TIMESTAMP)
    return ListOffsetsRequest(
        replica_id=ANY_CONSUMER.replica_id, topics=[ListOffsetsRequest.ListOffsetsTopic(topic, [row])]
    )


def _end(response: ListOffsetsResponse) -> End:
    row = response.topics[0].partitions[0]
    return End(error_of(row.error_code), row.offset)
