"""Requests encoded before the clock runs."""

from __future__ import annotations

import random
import time

from kcompat.protocol.messages.fetch import FetchRequest
from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.raw_client import request_frame

PRODUCE_VERSION = 7
FETCH_VERSION = 11
TIMEOUT_MS = 30_000

_random = random.Random(1)  # the same bytes in every run


def produce(topic: str, partition: int, *, records: int, size: int, acks: int = 1) -> bytes:
    """A Produce of one batch of `records` records of `size` random bytes each, as a frame."""
    request = produce_request(topic, partition, records=records, size=size, acks=acks)
    return request_frame(request, PRODUCE_VERSION, correlation_id=1, client_id="bench")


def produce_request(topic: str, partition: int, *, records: int, size: int, acks: int = 1) -> ProduceRequest:
    """A Produce of one batch of `records` records of `size` random bytes each."""
    now_ms = int(time.time() * 1000)
    batch = build_batch([Record(0, now_ms, None, _random.randbytes(size)) for _ in range(records)])
    data = ProduceRequest.PartitionProduceData(index=partition, records=memoryview(batch))
    topic_data = ProduceRequest.TopicProduceData(name=topic, partition_data=[data])
    return ProduceRequest(acks=acks, timeout_ms=TIMEOUT_MS, topic_data=[topic_data])


def fetch(topic: str, partition: int, max_bytes: int) -> bytes:
    """A Fetch of the beginning of a partition, as a frame."""
    request = fetch_request(topic, partition, max_bytes)
    return request_frame(request, FETCH_VERSION, correlation_id=1, client_id="bench")


def fetch_request(topic: str, partition: int, max_bytes: int) -> FetchRequest:
    """A Fetch of the beginning of a partition, outside of any session."""
    wanted = FetchRequest.FetchPartition(
        partition=partition, current_leader_epoch=-1, fetch_offset=0, partition_max_bytes=max_bytes
    )
    return FetchRequest(
        replica_id=-1,
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=max_bytes,
        session_id=0,
        session_epoch=-1,
        topics=[FetchRequest.FetchTopic(topic=topic, partitions=[wanted])],
    )
