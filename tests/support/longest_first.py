"""The test files that take longest come first, so that where files run side by side none is left at the end.

This is a plugin of pytest, made part of a run by the conftests of ``interop-tests/`` and ``tests/``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pytest

LONGEST: Final = (
    "test_mixed_clusters.py",
    "test_cluster_tools.py",
    "test_exactly_once.py",
    "test_group_storm.py",
    "test_slow_links_and_full_disks.py",
    "test_data_directories.py",
    "test_znodes_of_two.py",
    "test_virtual_cluster.py",
    "test_spark.py",
    "test_cluster_faults.py",
    "test_pages.py",
    "test_groups_in_a_cluster.py",
    "test_differential.py",
    "test_kazoo_suite.py",
    "test_java.py",
    "test_transactional_clients.py",
    "test_container_image.py",
    "test_old_java.py",
    "test_kafka_tools.py",
    "test_admission.py",
    "test_share_consumers.py",
    "test_connect.py",
    "test_zookeeper.py",
    "test_sdist.py",
    "test_streams_groups.py",
    "test_move_a_cluster.py",
    "test_go.py",
    "test_demo.py",
    "test_killed_members.py",
    "test_streams.py",
    "test_old_high_level_consumer.py",
    "test_left_directories.py",
    "test_confluent.py",
    "test_copier_outlives_coordinator.py",
    "test_kill_under_clients.py",
    "test_container_scripts.py",
    "test_crash.py",
    "test_cleaner_native.py",
    "test_index.py",
    "test_net_limits.py",
    "test_every_crash.py",
    "test_start_command.py",
    "test_compaction.py",
    "test_old_fetches.py",
    "test_scanning.py",
    "test_zookeeper_port.py",
    "test_assignors.py",
    "test_kio_parity.py",
    "test_embedded.py",
    "test_sticky_tasks.py",
    "test_replay.py",
    "test_processes.py",
    "test_hostile_frames.py",
    "test_add_an_api.py",
    "test_cluster.py",
    "test_injected_faults.py",
    "test_leader_epochs.py",
    "test_moved_replicas.py",
    "test_transactions_change_hands.py",
    "test_log_files.py",
    "test_old_pinned.py",
    "test_flink.py",
    "test_take_over.py",
)
"""Files that take ten seconds or more, the longest first."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ranks = {name: rank for rank, name in enumerate(LONGEST)}
    items.sort(key=lambda item: ranks.get(item.path.name, len(ranks)))
