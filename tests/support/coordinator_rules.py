"""Rules that hold for the coordinators of a cluster, beside those for all partitions.

- I13: consumers of what is committed may read up to the first offset of the earliest transaction that is
  open, or whose marker is not below the high watermark; up to the log start where that offset was deleted.
- I17: replaying a coordinator's log gives what the coordinator has.
- I18: what was decided of a transaction stays decided: commit or abort, then done; and no partition has a
  marker of what nobody decided.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.records.batch import iter_headers
from kcompat.records.control import ControlType, read_marker
from kcompat.replication.coordinator_logs import TopicLog
from kcompat.topics import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE
from support.coordinator_state import (
    kept_of_groups,
    kept_of_shares,
    kept_of_transactions,
    replayed_groups,
    replayed_shares,
    replayed_transactions,
)
from support.decisions import Decisions
from support.guarded_store import ViolationError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat.node.broker import BrokerNode
    from kcompat.records.batch import BatchHeader
    from kcompat.replication.partition import Partition
    from support.decisions import Decision
    from support.virtual_cluster import VirtualCluster


class Stability:
    """How far what is committed may be read in one log, by its batches alone.

    What a broker has read from its files when it started, or cut its log, may say less of transactions that
    are over: those of a snapshot have no markers to wait for (as in Kafka). They are decided all the same.
    """

    def __init__(self, *, is_new: bool) -> None:
        """`is_new`: the log was empty, so that all of it was written by a broker that runs."""
        self._is_new = is_new
        self._open: dict[int, int] = {}
        self._closed: list[tuple[int, int]] = []
        """First offset and marker of each transaction, as long as the high watermark is not past that."""

    def note(self, header: BatchHeader) -> None:
        """The next batch of the log."""
        if header.is_control:
            first = self._open.pop(header.producer_id, None)
            if first is not None:
                self._closed.append((first, header.base_offset))
        elif header.is_transactional:
            self._open.setdefault(header.producer_id, header.base_offset)

    def last_stable_offsets(self, log_start_offset: int, high_watermark: int) -> tuple[int, int]:
        """Between where and where readers of what is committed stop; they cannot do so before the log
        starts.
        """
        self._closed = [each for each in self._closed if each[1] >= high_watermark]
        most = min([high_watermark, *self._open.values()])
        least = min([most, *(first for first, _ in self._closed)])
        least, most = max(least, log_start_offset), max(most, log_start_offset)
        return least, least if self._is_new else most


class CoordinatorRules:
    """Hears of all that is committed, and looks at the coordinators of a cluster."""

    def __init__(self, cluster: VirtualCluster) -> None:
        self._cluster = cluster
        self._decisions = Decisions()
        self._markers: dict[Decision, str] = {}

    def committed(self, partition: Partition, offset: int) -> None:
        """The batch that begins here, a marker or one of `__transaction_state`, is below the high watermark
        of some replica for the first time. Raises ViolationError.
        """
        batch, header = _batch_at(partition, offset)
        if header.is_control:
            marker = read_marker(batch)
            assert marker is not None
            commits = marker.type is ControlType.COMMIT
            decision = (header.producer_id, header.producer_epoch, commits)
            self._markers.setdefault(decision, f"{partition.topic}-{partition.index} at {header.base_offset}")
        elif partition.topic == TRANSACTION_STATE:
            self._decisions.read(batch)

    def check_decisions(self) -> None:
        """Assert that each marker is of something decided; once all that is decided is committed."""
        for decision, place in self._markers.items():
            if decision not in self._decisions.made:
                producer_id, epoch, commits = decision
                raise ViolationError(
                    f"I18: {place} says that producer {producer_id} {'commits' if commits else 'aborts'} in "
                    f"epoch {epoch}, and nobody has decided that"
                )

    def unsettled(self) -> list[str]:
        """Transactions that are not over, and partitions where they hold readers up."""
        found = self._decisions.open()
        for broker_id, node in self._cluster.running.items():
            found += [
                f"{each.topic}-{each.index} of broker {broker_id} is read up to {each.last_stable_offset} of "
                f"{each.high_watermark}"
                for each in node.parts.storage.replicas
                if each.is_leader and each.last_stable_offset < each.high_watermark
            ]
        return found

    def check_replay(self) -> None:
        """Assert I17 of every coordinator that serves. Raises ViolationError."""
        for broker_id, node in self._cluster.running.items():
            for name, live, replayed in _replays(node):
                if live != replayed:
                    raise ViolationError(
                        f"I17: {name} of broker {broker_id} has {live}; replayed it is {replayed}"
                    )


def _replays(node: BrokerNode) -> Iterator[tuple[str, object, object]]:
    """Each partition that a broker coordinates by: what it has, and what its log gives."""
    parts = node.parts
    log = TopicLog(parts.storage.replicas, CONSUMER_OFFSETS)
    for partition, groups in parts.coordinators.groups.runtime.active():
        image = parts.storage.metadata.image
        replayed = replayed_groups(log, parts.coordinators.groups.config, partition, image)
        yield f"{log.topic}-{partition}", kept_of_groups(groups), kept_of_groups(replayed)
    log = TopicLog(parts.storage.replicas, TRANSACTION_STATE)
    for partition, shard in parts.coordinators.transactions.runtime.active():
        again = replayed_transactions(log, partition)
        yield f"{log.topic}-{partition}", kept_of_transactions(shard), kept_of_transactions(again)
    log = TopicLog(parts.storage.replicas, SHARE_GROUP_STATE)
    for partition, shares in parts.coordinators.sharing.coordinator.runtime.active():
        found = replayed_shares(log, parts.coordinators.sharing.coordinator.config, partition)
        yield f"{log.topic}-{partition}", kept_of_shares(shares), kept_of_shares(found)


def _batch_at(partition: Partition, offset: int) -> tuple[memoryview, BatchHeader]:
    """The batch of a log that begins at an offset."""
    log = partition.log
    data = log.read(offset, 1, log.log_end_offset, min_one_batch=True)
    assert data is not None
    view = memoryview(data.read())
    _, header = next(iter_headers(view))
    return view[: header.size], header
