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
    "test_move_a_cluster.py",
    "test_exactly_once.py",
    "test_group_storm.py",
    "test_groups_in_a_cluster.py",
    "test_cluster_faults.py",
    "test_slow_links_and_full_disks.py",
    "test_data_directories.py",
    "test_moved_replicas.py",
    "test_leader_epochs.py",
    "test_connect.py",
    "test_transactional_clients.py",
    "test_transactions_change_hands.py",
    "test_spark.py",
    "test_pages.py",
    "test_container_image.py",
    "test_log_files.py",
    "test_old_java.py",
    "test_kafka_tools.py",
    "test_differential.py",
    "test_sdist.py",
    "test_old_pinned.py",
    "test_streams.py",
    "test_streams_groups.py",
    "test_flink.py",
    "test_java.py",
    "test_take_over.py",
    "test_every_crash.py",
    "test_crash.py",
    "test_cluster.py",
    "test_cleaner_native.py",
    "test_injected_faults.py",
    "test_hostile_frames.py",
    "test_add_an_api.py",
)
"""Files that take ten seconds or more, the longest first."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ranks = {name: rank for rank, name in enumerate(LONGEST)}
    items.sort(key=lambda item: ranks.get(item.path.name, len(ranks)))
