"""The rules of the stories find faults of coordinators that are planted in one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.log.append import UNVERIFIED
from kcompat.records.batch import read_header
from kcompat.records.control import ControlType, EndTransactionMarker, build_marker
from kcompat.share.leading import LedSharePartition
from kcompat.share.partition.share_partition import SharePartition
from kcompat.transaction.states import State
from support.cluster_sharers import SHARERS
from support.cluster_story import StoryError, tell
from support.recorded_files import memory_directory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat.log.producers import ProducerEntry
    from kcompat.replication.partition import Partition
    from support.cluster_story import Fault
    from support.virtual_cluster import VirtualCluster

SEED = "coordinators"
COPY = "copied"


def led(cluster: VirtualCluster, topic: str) -> Iterator[Partition]:
    """The partitions of a topic where a leader runs."""
    for node in cluster.running.values():
        yield from (each for each in node.parts.storage.replicas if each.topic == topic and each.is_leader)


def open_in(partition: Partition) -> ProducerEntry | None:
    """A producer with an open transaction, of which something is committed."""
    for entry in partition.log.producer_state.entries.values():
        if 0 <= entry.current_txn_start_offset < partition.high_watermark:
            return entry
    return None


def end_unasked(cluster: VirtualCluster) -> bool:
    """A partition has a marker that aborts what the coordinator commits."""
    for partition in led(cluster, COPY):
        entry = open_in(partition)
        if entry is not None:
            marker = build_marker(
                EndTransactionMarker(ControlType.ABORT, 0),
                producer_id=entry.producer_id,
                producer_epoch=entry.epoch,
                timestamp=0,
                leader_epoch=0,
            )
            view = memoryview(marker)
            partition.append(view, read_header(view), -1, 0, UNVERIFIED)
            return True
    return False


def forget_open(cluster: VirtualCluster) -> bool:
    """A leader takes an open transaction for none."""
    for partition in led(cluster, COPY):
        if open_in(partition) is not None:
            state = partition.log.producer_state
            partition.log.producer_state = type(state)(end_offset=state.end_offset)
            return True
    return False


def forget_staged(cluster: VirtualCluster) -> bool:
    """A group coordinator loses what transactions have committed so far, time and again."""
    for node in cluster.running.values():
        for _, shard in node.parts.coordinators.groups.runtime.active():
            for offsets in shard.offsets.values():
                offsets.staged.clear()
    return False


def forget_id(cluster: VirtualCluster) -> bool:
    """A transaction coordinator takes an id for another one's than its log says."""
    for node in cluster.running.values():
        for _, shard in node.parts.coordinators.transactions.runtime.active():
            for name, transaction in shard.transactions.items():
                if transaction.state is State.ONGOING:
                    shard.transactions.set(name, transaction.fenced(0), 0)
                    return True
    return False


def shared(cluster: VirtualCluster) -> Iterator[SharePartition]:
    """The share partitions that are led, beyond the first records."""
    for node in cluster.running.values():
        for partition in node.parts.storage.replicas:
            if partition.topic == "stable" and partition.is_leader:
                of = partition.topic_id, partition.index
                found = node.parts.coordinators.sharing.partitions.lead(SHARERS, of)
                if isinstance(found, LedSharePartition) and found.machine and found.machine.start_offset:
                    yield found.machine


def share_again(cluster: VirtualCluster) -> bool:
    """The leader of a share partition begins at the first record again, though nobody has told it so."""
    for machine in shared(cluster):
        SharePartition.__init__(machine, machine.state_epoch, machine.leader_epoch, 0, ())
        return True
    return False


@pytest.mark.parametrize(
    ("fault", "rule"),
    [
        (end_unasked, "I18"),
        (forget_open, "I13"),
        (forget_staged, "I17"),
        (forget_id, "I17"),
        (share_again, "it was done with"),
    ],
)
def test_a_planted_fault_is_found(fault: Fault, rule: str) -> None:
    with memory_directory() as home, pytest.raises(StoryError) as found:
        tell(home / "story", SEED, fault)
    *transcript, _, verdict = str(found.value).splitlines()
    assert verdict.startswith(f"seed {SEED}: ")
    assert rule in verdict
    assert transcript
