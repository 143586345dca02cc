"""Counts of what partitions have served, by topic and over all topics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.replication.reading import FetchSpec, PartitionReader
from kcompat.replication.statistics import TopicStatistics

from .conftest import append

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.replication.partition import Partition
    from kcompat.replication.replica_manager import ReplicaManager


def test_appends_and_reads_count_for_their_topic(
    make_partition: Callable[..., Partition], replicas: ReplicaManager
) -> None:
    first, second, other = make_partition(), make_partition(index=1), make_partition("u")
    append(first, b"a", b"b")
    append(second, b"c")
    append(other, b"d")
    first.fetch(FetchSpec(0, 1 << 20), PartitionReader(), 1 << 20, min_one_batch=True)
    counts = replicas.statistics.of("t")
    assert (counts.produces, counts.messages_in, counts.fetches) == (2, 3, 1)
    assert counts.bytes_in == first.log.size + second.log.size
    total = replicas.statistics.total()
    assert (total.produces, total.messages_in) == (3, 4)


def test_totals_keep_what_a_removed_topic_has_counted(
    make_partition: Callable[..., Partition], replicas: ReplicaManager
) -> None:
    append(make_partition(), b"a", b"b")
    append(make_partition(index=1), b"c")
    replicas.remove("t", 0)
    assert replicas.statistics.of("t").messages_in == 3
    replicas.remove("t", 1)
    assert replicas.statistics.find("t") is None
    assert replicas.statistics.total().messages_in == 3
    append(make_partition(index=2), b"d")
    assert replicas.statistics.of("t").messages_in == 1
    assert replicas.statistics.total().messages_in == 4


@pytest.mark.parametrize(
    ("error", "failed", "rejected"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS, 1, 0),
        (ErrorCode.INVALID_TIMESTAMP, 1, 0),
        (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, 1, 0),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, 0, 0),
        (ErrorCode.CORRUPT_MESSAGE, 0, 0),
        (ErrorCode.MESSAGE_TOO_LARGE, 0, 70),
    ],
)
def test_only_unexpected_refusals_are_failures(error: ErrorCode, failed: int, rejected: int) -> None:
    counts = TopicStatistics()
    counts.note_refusal(error, 70)
    assert (counts.produces, counts.messages_in) == (1, 0)
    assert (counts.failed_produces, counts.bytes_rejected) == (failed, rejected)
