"""The writer of transaction markers to the partitions that this broker leads."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from kcompat.coordinator.operation import Writer
from kcompat.log.append import AppendTerms
from kcompat.promise import Promise, gather
from kcompat.protocol.errors import ErrorCode
from kcompat.records.control import ControlType, EndTransactionMarker, build_marker
from kcompat.topics import CONSUMER_OFFSETS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kcompat.clock import Clock
    from kcompat.topics import TopicPartition
    from kcompat.transaction.markers import Marker
    from kcompat.transaction.requests import Errors

    EndInGroups = Callable[[int, Writer, EndTransactionMarker], Promise[ErrorCode]]


NOT_READY: Final = frozenset(
    {
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
    }
)
"""Errors of the group coordinator that are answered to the transaction coordinator as
NOT_LEADER_OR_FOLLOWER.
"""


class MarkerLog(Protocol):
    """Port to this broker's partitions: `kcompat.replication.coordinator_logs.PartitionMarkerLog`."""

    def can_write(self, partition: TopicPartition) -> bool:
        """Return whether this broker has a replica of the partition on a disk that has not failed."""

    def append(
        self,
        partitions: Sequence[TopicPartition],
        batch: bytearray,
        terms: AppendTerms,
        now_ms: int,
        timeout_ms: int,
    ) -> Promise[Errors]:
        """Append the batch to each partition; promise the error of each once all appends are committed.

        The error is UNKNOWN_TOPIC_OR_PARTITION if `can_write` is false, and REQUEST_TIMED_OUT after
        `timeout_ms`.
        """


class LocalMarkers:
    """The `MarkerWriter` of this broker's partitions (`kcompat.transaction.marker_routes`).

    Kafka's counterpart: `KafkaApis.handleWriteTxnMarkersRequest`.
    """

    def __init__(self, log: MarkerLog, end_in_groups: EndInGroups, clock: Clock, timeout_ms: int) -> None:
        """`end_in_groups` is `Runtime.end_transaction` of the group coordinator; `timeout_ms` is the longest
        wait for the replicas of a partition.
        """
        self._log = log
        self._end_in_groups = end_in_groups
        self._clock = clock
        self._timeout_ms = timeout_ms

    def write(self, marker: Marker) -> Promise[Errors]:
        """Write the marker. A partition that takes longer than the time limit gets
        REQUEST_TIMED_OUT.
        """
        ending = EndTransactionMarker(
            ControlType.COMMIT if marker.commits else ControlType.ABORT, marker.coordinator_epoch
        )
        terms = AppendTerms(is_client=False, transaction_version=marker.version, marker=ending)
        writer = Writer(marker.producer.id, marker.producer.epoch, terms)
        errors: Errors = {}
        ends: list[Promise[Any]] = []
        others: list[TopicPartition] = []
        for each in marker.partitions:
            topic, index = each
            if topic != CONSUMER_OFFSETS:
                others.append(each)
            elif self._log.can_write(each):
                ended = self._end_in_groups(index, writer, ending)
                ends.append(ended.map(partial(_note_of_groups, errors, each)))
            else:
                errors[each] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if others:
            ends.append(self._append(others, writer, ending).map(errors.update))
        return gather(ends).map(lambda _: errors)

    def _append(
        self, partitions: Sequence[TopicPartition], writer: Writer, ending: EndTransactionMarker
    ) -> Promise[Errors]:
        now_ms = self._clock.now_ms()
        batch = build_marker(
            ending,
            producer_id=writer.producer_id,
            producer_epoch=writer.epoch,
            timestamp=now_ms,
            leader_epoch=0,
        )
        return self._log.append(partitions, batch, writer.terms, now_ms, self._timeout_ms)


def _note_of_groups(errors: Errors, partition: TopicPartition, error: ErrorCode) -> None:
    errors[partition] = ErrorCode.NOT_LEADER_OR_FOLLOWER if error in NOT_READY else error
