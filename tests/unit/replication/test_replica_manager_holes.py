"""A log in which offsets are missing since a power cut, once its partition has a role."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.cluster.control_requests import AssignedPartition, Role
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.config.broker import BrokerConfig
from kcompat.config.topic import topic_config
from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import build_batch, read_header
from kcompat.records.record import Record
from kcompat.replication.replica_manager import ReplicaManager
from support.default_settings import log_settings
from support.local_brokers import DONE, NEW, local_broker, take, told
from support.log_manager import log_manager
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from pathlib import Path

    from kcompat.log.log import Log
    from kcompat.log.manager import LogManager


def logs_with_a_hole(home: Path) -> LogManager:
    """Return logs of which one lost the second of three batches, each in a segment of its own, in a power
    cut.
    """
    config = log_settings(segment_bytes=100)
    logs = log_manager([home], VirtualClock())
    logs.open(1, "cluster", config)
    log = logs.create("t", 0, NEW, config)
    for number in range(3):
        batch = memoryview(build_batch([Record(0, 1, None, b"%d" % number)]))
        assert not log.append_as_leader(batch, read_header(batch), 0, 1).error
    logs.abandon()
    (home / "t-0" / "00000000000000000001.log").write_bytes(b"")
    return opened(home)


def opened(home: Path) -> LogManager:
    logs = log_manager([home], VirtualClock())
    logs.open(1, "cluster", log_settings(segment_bytes=100))
    return logs


def led_by(logs: LogManager, policy: str, *leaders: int) -> Log:
    """The log, once its broker has heard of these leaders, one after the other."""
    local = local_broker(logs, VirtualClock(), {"log.cleanup.policy": policy})
    for epoch, leader in enumerate(leaders):
        role = Role(leader, epoch, (1, 2), (1, 2), epoch)
        assert told(local, take(AssignedPartition("t", NEW, 0, role, is_new=False))) == DONE
    log = logs.get("t", 0)
    assert log is not None
    return log


@pytest.mark.leaves_gaps("compaction may have removed what is missing")
@pytest.mark.parametrize(
    ("policy", "leaders", "end"),
    [
        ("delete", (1,), 1),
        ("delete", (-1,), 1),
        ("compact", (1,), 3),
        ("compact", (-1,), 3),
        ("compact", (2,), 1),
        ("compact", (-1, 2), 1),
        ("compact", (1, 2), 3),
        ("compact", (-1, 1, 2), 3),
    ],
)
def test_a_log_that_a_power_cut_left_with_a_hole_ends_there_unless_it_is_compacted_and_led_here(
    tmp_path: Path, policy: str, leaders: tuple[int, ...], end: int
) -> None:
    logs = logs_with_a_hole(tmp_path)
    assert led_by(logs, policy, *leaders).log_end_offset == end
    logs.close()


@pytest.mark.leaves_gaps("compaction may have removed what is missing")
def test_nothing_is_committed_that_was_cut_at_a_hole(tmp_path: Path) -> None:
    logs = logs_with_a_hole(tmp_path)
    log = logs.get("t", 0)
    assert log is not None
    log.update_config(log_settings(cleanup_policy=frozenset({"compact"})))
    replicas = ReplicaManager(1, VirtualClock(), MetadataCache("cluster"))
    partition = replicas.add(log, topic_config(BrokerConfig({}), {"cleanup.policy": "compact"}), 3)
    for epoch, leader in enumerate((-1, 2)):
        assert replicas.take_role("t", 0, Role(leader, epoch, (1, 2), (1, 2), epoch)) == ErrorCode.NONE
        assert partition.high_watermark == (3 if leader < 0 else 1)
    partition.check_invariants()
    logs.close()


@pytest.mark.parametrize("ends_well", [True, False])
def test_a_hole_is_found_again_by_the_next_run_while_nobody_has_led(
    tmp_path: Path, *, ends_well: bool
) -> None:
    """The broker may stop before the controller has told it of a leader."""
    logs = logs_with_a_hole(tmp_path)
    log = logs.get("t", 0)
    assert log is not None
    log.flush()
    logs.checkpoint_recovery_points()
    if ends_well:
        logs.close()
    else:
        logs.abandon()
    logs = opened(tmp_path)
    assert led_by(logs, "delete", 1).log_end_offset == 1
    logs.close()
