"""Writes the markers of transactions to the partitions that this broker leads."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kcompat.coordinator.operation import Writer
from kcompat.log.append import AppendTerms
from kcompat.promise import Promise, gather
from kcompat.protocol.constants import ACKS_ALL
from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import read_header
from kcompat.records.control import ControlType, EndTransactionMarker, build_marker
from kcompat.replication.waiting.delayed_progress import DelayedProgress
from kcompat.topics import CONSUMER_OFFSETS

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.clock import Clock
    from kcompat.config.feed import ConfigFeed
    from kcompat.replication.partition import Partition
    from kcompat.replication.replica_manager import ReplicaManager
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
"""Errors of the group coordinator that the transaction coordinator does not know."""


class LocalMarkers:
    """The `MarkerWriter` of this broker's partitions (`kcompat.transaction.marker_routes`).

    Kafka's counterpart: `KafkaApis.handleWriteTxnMarkersRequest`.
    """

    def __init__(
        self, replicas: ReplicaManager, end_in_groups: EndInGroups, clock: Clock, config: ConfigFeed
    ) -> None:
        """`end_in_groups` is `Runtime.end_transaction` of the groups."""
        self._replicas = replicas
        self._end_in_groups = end_in_groups
        self._clock = clock
        self._config = config

    def write(self, marker: Marker) -> Promise[Errors]:
        """See `MarkerWriter`. REQUEST_TIMED_OUT where that takes longer than `request.timeout.ms`."""
        errors: Errors = {}
        waiting: dict[Partition, int] = {}
        ends: list[Promise[Any]] = []
        ending = EndTransactionMarker(
            ControlType.COMMIT if marker.commits else ControlType.ABORT, marker.coordinator_epoch
        )
        terms = AppendTerms(is_client=False, transaction_version=marker.version, marker=ending)
        writer = Writer(marker.producer.id, marker.producer.epoch, terms)
        for each in marker.partitions:
            partition = self._replicas.get(*each)
            if partition is None or partition.log.is_failed:
                errors[each] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            elif partition.topic == CONSUMER_OFFSETS:
                ended = self._end_in_groups(partition.index, writer, ending)
                ends.append(ended.map(partial(_note_of_groups, errors, partition)))
            else:
                self._append(partition, writer, ending, errors, waiting)
        if waiting:
            timeout_ms = self._config.current.integer("request.timeout.ms")
            settling = DelayedProgress(waiting, partial(_note, errors), answer=errors)
            wait = self._replicas.produces.wait(settling, tuple(waiting), timeout_ms)
            ends.append(wait.promise)
        return gather(ends).map(lambda _: errors)

    def _append(
        self,
        partition: Partition,
        writer: Writer,
        ending: EndTransactionMarker,
        errors: Errors,
        waiting: dict[Partition, int],
    ) -> None:
        """Append a marker; what is not final yet is noted in `waiting`."""
        now_ms = self._clock.now_ms()
        batch = memoryview(
            build_marker(
                ending,
                producer_id=writer.producer_id,
                producer_epoch=writer.epoch,
                timestamp=now_ms,
                leader_epoch=0,
            )
        )
        result = partition.append(batch, read_header(batch), ACKS_ALL, now_ms, writer.terms)
        if isinstance(result, ErrorCode):
            _note(errors, partition, result)
            return
        end = result.last_offset + 1
        error = result.error or partition.committed(end)
        if error is None:
            waiting[partition] = end
        else:
            _note(errors, partition, error)


def _note(errors: Errors, partition: Partition, error: ErrorCode) -> None:
    errors[partition.topic, partition.index] = error


def _note_of_groups(errors: Errors, partition: Partition, error: ErrorCode) -> None:
    _note(errors, partition, ErrorCode.NOT_LEADER_OR_FOLLOWER if error in NOT_READY else error)
