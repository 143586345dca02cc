"""DescribeLogDirs over real directories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kcompat.api import describe_log_dirs
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kcompat.replication.replica_manager import ReplicaManager
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation
from support.asking import Denying, ask, services_of
from support.default_settings import log_settings
from support.log_manager import log_manager
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kcompat.api.context import Services

Topic = DescribeLogDirsRequest.DescribableLogDirTopic


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    """Two directories with a partition of t in each."""
    clock = VirtualClock()
    logs = log_manager([tmp_path / "a", tmp_path / "b"], clock)
    logs.open(1, "cluster", log_settings())
    for index in range(2):
        logs.create("t", index, bytes(16), log_settings())
    yield services_of(logs=logs, replicas=ReplicaManager(1, clock, MetadataCache("cluster")))
    logs.close()


def partitions(answer: Any) -> list[tuple[str, int]]:
    return sorted(
        (topic.name, row.partition_index)
        for result in answer.results
        for topic in result.topics
        for row in topic.partitions
    )


@pytest.mark.parametrize("version", range(6))
def test_every_directory_with_what_lies_in_it(services: Services, version: int) -> None:
    answer = ask(describe_log_dirs, version, DescribeLogDirsRequest(topics=None), services)
    assert [result.error_code for result in answer.results] == [0, 0]
    assert len({result.log_dir for result in answer.results}) == 2
    assert partitions(answer) == [("t", 0), ("t", 1)]
    assert all((result.total_bytes > 0) == (version >= 4) for result in answer.results)


def test_only_the_partitions_that_are_asked_for(services: Services) -> None:
    asked = DescribeLogDirsRequest(
        topics=[Topic(topic="t", partitions=[1, 9]), Topic(topic="u", partitions=[0])]
    )
    assert partitions(ask(describe_log_dirs, 4, asked, services)) == [("t", 1)]


@pytest.mark.parametrize("version", range(6))
def test_needs_to_describe_the_cluster(services: Services, version: int) -> None:
    services.server.authorizer = Denying((Operation.DESCRIBE, CLUSTER))
    answer = ask(describe_log_dirs, version, DescribeLogDirsRequest(topics=None), services)
    assert (answer.error_code, answer.results) == (31 if version >= 3 else 0, [])
