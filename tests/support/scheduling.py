"""The order in which tests run side by side: the longest files first, so that none is left at the end.

This is a plugin of pytest, made part of a run by the conftests of ``interop-tests/`` and ``tests/``. With
``--dist loadfile`` the tests of a file run in one process, as many of them share a broker. The files of
`INDEPENDENT` share nothing: each of their tests runs in the next process that is free.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from xdist.scheduler.loadscope import LoadScopeScheduling

if TYPE_CHECKING:
    from xdist.remote import Producer

LONGEST: Final = (
    "test_logins.py",
    "test_certificates.py",
    "test_group_commands.py",
    "test_mixed_clusters.py",
    "test_cluster_tools.py",
    "test_exactly_once.py",
    "test_group_storm.py",
    "test_slow_links_and_full_disks.py",
    "test_data_directories.py",
    "test_znodes_of_two.py",
    "test_leader_epochs.py",
    "test_moved_replicas.py",
    "test_transactions_change_hands.py",
    "test_log_files.py",
    "test_secured_clusters.py",
    "test_own_commands.py",
    "test_partition_commands.py",
    "test_failing_tests.py",
    "test_faults_and_clients.py",
    "test_old_pinned.py",
    "test_mirror_maker.py",
    "test_transaction_tools.py",
    "test_copier_outlives_coordinator.py",
    "test_share_groups.py",
    "test_million.py",
    "test_connect_standalone.py",
    "test_sdist.py",
    "test_spark.py",
    "test_cluster_faults.py",
    "test_pages.py",
    "test_differential.py",
    "test_transactional_clients.py",
    "test_move_a_cluster.py",
    "test_virtual_cluster.py",
    "test_go.py",
    "test_every_crash.py",
    "test_kazoo_suite.py",
    "test_demo.py",
    "test_zookeeper_port.py",
    "test_admission.py",
    "test_compaction.py",
    "test_net_limits.py",
    "test_share_consumers.py",
    "test_zookeeper.py",
    "test_java.py",
    "test_old_high_level_consumer.py",
    "test_kafka_tools.py",
    "test_old_java.py",
    "test_container_image.py",
    "test_kio_parity.py",
    "test_conformance.py",
    "test_confluent.py",
    "test_zookeeper_ensemble.py",
    "test_round_trip.py",
    "test_crash.py",
    "test_install.py",
    "test_streams_groups.py",
    "test_start_command.py",
    "test_take_over.py",
    "test_portable.py",
    "test_flink.py",
    "test_cleaner_native.py",
    "test_transactional_groups.py",
    "test_killed_members.py",
    "test_replay.py",
    "test_peers.py",
    "test_connect.py",
    "test_conversion.py",
    "test_processes.py",
    "test_tls.py",
    "test_streams.py",
    "test_hostile_frames.py",
    "test_go_groups.py",
    "test_groups_in_a_cluster.py",
    "test_scanning.py",
    "test_nearest_replica.py",
    "test_net_sending.py",
    "test_replicas_beside_kafka.py",
    "test_kill_under_clients.py",
    "test_unclean_elections.py",
    "test_group_tools.py",
    "test_killed_brokers.py",
    "test_kcat.py",
    "test_znodes.py",
)
"""Files that take ten seconds or more, the longest first."""

INDEPENDENT: Final = ("test_pages.py", "test_virtual_cluster.py")
"""Files whose tests share no fixture that is expensive to set up."""


class FilesTogether(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Scheduler of xdist that keeps the tests of a file in one process, unless they are independent."""

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.split("::", 1)[0]
        return nodeid if path.endswith(INDEPENDENT) else path


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> FilesTogether | None:
    """Return the scheduler of a run with `--dist loadfile`, and None for another run."""
    return FilesTogether(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ranks = {name: rank for rank, name in enumerate(LONGEST)}
    items.sort(key=lambda item: ranks.get(item.path.name, len(ranks)))
