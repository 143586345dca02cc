"""Names of a log's files and directories."""

from __future__ import annotations

from random import Random

from kcompat.log import names


def test_names() -> None:
    assert names.segment_name(42, names.TIME_INDEX) == "00000000000000000042.timeindex"
    assert names.offset_of("00000000000000000042.log.swap") == 42
    assert names.offset_of("leader-epoch-checkpoint") is None
    assert names.parse_partition_directory("my-topic-12") == ("my-topic", 12)
    assert names.parse_partition_directory("a.b_c-0") == ("a.b_c", 0)
    assert names.parse_partition_directory("__cluster_metadata") is None
    deleted = names.deleted_directory("t" * 249, 7, Random(0))
    assert len(deleted) <= 255
    assert names.is_deleted_directory(deleted)
    assert names.parse_partition_directory(deleted) is None
    assert names.parse_partition_directory("t-0." + "a" * 32 + "-future") is None
    assert names.parse_partition_directory("t-delete-0") == ("t-delete", 0)
