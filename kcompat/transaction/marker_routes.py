"""Routes of markers to leaders: a direct call to this broker, WriteTxnMarkers to the others."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from kcompat.promise import Promise, gather
from kcompat.protocol.errors import error_of
from kcompat.protocol.messages.write_txn_markers import WriteTxnMarkersRequest
from kcompat.topics import TRANSACTION_STATE, by_topic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.config.broker import ConfigFeed
    from kcompat.peer.peers import ImageSource, Peers
    from kcompat.topics import TopicPartition
    from kcompat.transaction.markers import Marker
    from kcompat.transaction.requests import Errors

Row = WriteTxnMarkersRequest.WritableTxnMarker


class MarkerWriter(Protocol):
    """Port that writes markers to partitions that this broker leads."""

    def write(self, marker: Marker) -> Promise[Errors]:
        """Write the marker; promise the error of each partition once all writes are committed as with
        acks=all.
        """


class MarkerRoutes:
    """The `MarkerPorts` of a broker: writes markers on this broker, or sends them to the leader's broker."""

    def __init__(self, here: MarkerWriter, peers: Peers, cluster: ImageSource, config: ConfigFeed) -> None:
        self._here = here
        self._peers = peers
        self._cluster = cluster
        self._config = config

    def leader_of(self, partition: TopicPartition) -> int | None:
        """Return the leader of a partition (`MarkerPorts.leader_of`), or -1 if the leader's broker is not
        live.

        A partition that is missing in the metadata image counts as deleted only if the image has
        `__transaction_state`: a broker that has just started coordinates before its first metadata update.
        """
        image = self._cluster.image
        known = image.partition(*partition)
        if known is None:
            return None if TRANSACTION_STATE in image.topics else -1
        return known.leader if known.leader in image.brokers else -1

    def write(self, broker_id: int, markers: Sequence[Marker]) -> Promise[list[Errors]]:
        if broker_id == self._peers.broker_id:
            return gather([self._here.write(marker) for marker in markers])
        request = WriteTxnMarkersRequest(markers=[_row(marker) for marker in markers])
        client = self._peers.of(broker_id, "transaction markers")
        answer: Promise[Any] = client.call(request, self._config.current.integer("request.timeout.ms"))
        return answer.map(partial(_errors, markers))


def _row(marker: Marker) -> Row:
    topics = [
        WriteTxnMarkersRequest.WritableTxnMarkerTopic(topic, indexes)
        for topic, indexes in by_topic(marker.partitions)
    ]
    producer = marker.producer
    return Row(producer.id, producer.epoch, marker.commits, topics, marker.coordinator_epoch, marker.version)


def _errors(markers: Sequence[Marker], response: Any) -> list[Errors]:
    """Return the errors of each marker. The rows of the response are in any order and found by
    producer id.
    """
    found: dict[int, Errors] = {}
    for row in response.markers:
        errors = found.setdefault(row.producer_id, {})
        for topic in row.topics:
            for result in topic.partitions:
                errors[topic.name, result.partition_index] = error_of(result.error_code)
    return [found.get(marker.producer.id, {}) for marker in markers]
