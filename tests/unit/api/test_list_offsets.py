"""Unit tests of ListOffsets: what is refused before anything is looked up in a log."""

from __future__ import annotations

import pytest

from kcompat.api import list_offsets
from kcompat.cluster.feed import MetadataCache
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.list_offsets import ListOffsetsRequest
from kcompat.replication.replicas import ReplicaManager
from support.asking import context_of, services_of
from support.virtual_clock import VirtualClock

UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
UNSUPPORTED = ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.parametrize(
    ("version", "timestamp", "error"),
    [
        (0, -1, UNKNOWN),
        (0, 5, UNKNOWN),
        (0, -3, UNSUPPORTED),
        (6, -3, UNSUPPORTED),
        (7, -3, UNKNOWN),
        (7, -4, UNSUPPORTED),
        (8, -4, UNKNOWN),
        (9, -5, UNKNOWN),
        (9, -7, UNSUPPORTED),
        (11, -6, UNKNOWN),
    ],
)
def test_a_special_time_is_refused_before_the_partition(
    version: int, timestamp: int, error: ErrorCode
) -> None:
    replicas = ReplicaManager(1, VirtualClock(), MetadataCache("cluster"))
    context = context_of(services_of(replicas=replicas), version)
    question = ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    topic = ListOffsetsRequest.ListOffsetsTopic(name="t", partitions=[question])
    answer = list_offsets.handle(context, ListOffsetsRequest(replica_id=-1, topics=[topic]))
    assert answer.topics[0].partitions[0].error_code is error
