"""AlterReplicaLogDirs over a broker of three directories: what is answered; `test_moves` has what is done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kcompat.api import alter_replica_log_dirs, describe_log_dirs
from kcompat.protocol.messages.alter_replica_log_dirs import AlterReplicaLogDirsRequest
from kcompat.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation
from support.asking import Denying, ask, services_of
from support.replica_moves import SLOW, MovesFixture, append

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kcompat.api.context import Services

Directory = AlterReplicaLogDirsRequest.AlterReplicaLogDir
Topic = AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic
VERSIONS = range(3)


@pytest.fixture
def fixture(tmp_path: Path) -> Iterator[MovesFixture]:
    """Moves come to a halt after a batch."""
    fixture = MovesFixture(tmp_path, bytes_per_second=SLOW)
    yield fixture
    fixture.stop()


@pytest.fixture
def services(fixture: MovesFixture) -> Services:
    for index in range(2):
        append(fixture.create(index=index), *[b"v" * 100] * 3)
    return services_of(logs=fixture.logs, replicas=fixture.replicas, moves=fixture.moves)


def errors(services: Services, version: int, *dirs: tuple[str, str, list[int]]) -> dict[str, int]:
    """By partition; `dirs` has directory, topic and partitions."""
    asked = [Directory(path, [Topic(topic, partitions)]) for path, topic, partitions in dirs]
    answer = ask(alter_replica_log_dirs, version, AlterReplicaLogDirsRequest(asked), services)
    return {
        f"{topic.topic_name}-{row.partition_index}": row.error_code
        for topic in answer.results
        for row in topic.partitions
    }


def shown(services: Services, fixture: MovesFixture) -> dict[str, list[tuple[int, int, bool]]]:
    """Return the answer of DescribeLogDirs by directory: partition, lag, and whether it is a copy."""
    answer: Any = ask(describe_log_dirs, 4, DescribeLogDirsRequest(topics=None), services)
    return {
        result.log_dir.removeprefix(f"{fixture.home}/"): sorted(
            (row.partition_index, row.offset_lag, row.is_future_key)
            for topic in result.topics
            for row in topic.partitions
        )
        for result in answer.results
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_each_partition_has_its_answer(services: Services, fixture: MovesFixture, version: int) -> None:
    asked = [(fixture.c, "t", [0, 5]), ("/nowhere", "t", [1]), (fixture.c, "none", [0])]
    assert errors(services, version, *asked) == {"t-0": 0, "t-5": 3, "t-1": 57, "none-0": 3}


def test_a_move_is_shown_with_how_far_it_is(services: Services, fixture: MovesFixture) -> None:
    assert shown(services, fixture) == {"a": [(0, 0, False)], "b": [(1, 0, False)], "c": []}
    assert errors(services, 2, (fixture.c, "t", [0])) == {"t-0": 0}
    assert shown(services, fixture) == {"a": [(0, 0, False)], "b": [(1, 0, False)], "c": [(0, 3, True)]}
    fixture.clock.advance(0)
    assert shown(services, fixture)["c"] == [(0, 2, True)]
    fixture.allow(1 << 40)
    assert shown(services, fixture) == {"a": [], "b": [(1, 0, False)], "c": [(0, 0, False)]}


def test_the_last_directory_counts_that_a_partition_is_named_in(
    services: Services, fixture: MovesFixture
) -> None:
    assert errors(services, 1, (fixture.b, "t", [0]), (fixture.c, "t", [0])) == {"t-0": 0}
    assert shown(services, fixture) == {"a": [(0, 0, False)], "b": [(1, 0, False)], "c": [(0, 3, True)]}


def test_a_log_that_is_no_replica_of_this_broker_has_no_lag(
    services: Services, fixture: MovesFixture
) -> None:
    fixture.replicas.remove("t", 0)
    assert shown(services, fixture)["a"] == [(0, -1, False)]


@pytest.mark.parametrize("version", VERSIONS)
def test_needs_to_alter_the_cluster(services: Services, fixture: MovesFixture, version: int) -> None:
    services.server.authorizer = Denying((Operation.ALTER, CLUSTER))
    assert errors(services, version, (fixture.c, "t", [0, 7])) == {"t-0": 31, "t-7": 31}
    assert shown(services, fixture)["c"] == []
