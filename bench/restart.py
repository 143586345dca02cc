"""How long a broker with many segments takes to serve again, after ``kill -9`` and after a clean stop.

Ten partitions of a hundred segments of 320 KB each, 0.3 GB together, in batches of 16 KB from an idempotent
producer, which is what a Java client sends by default. The recovery points are not stored in between, as when
a broker dies within a minute of the writing: all 1,000 segments have to be checked batch by batch. The time
ends when all partitions have told the offset at which they end and have taken one more batch.
"""

from __future__ import annotations

import struct
import time
from typing import TYPE_CHECKING

import peers
from crc32c import crc32c
from system import cpu_seconds_ever
from trial import Measure

from kcompat.protocol.messages.init_producer_id import InitProducerIdRequest
from kcompat.protocol.messages.list_offsets import ListOffsetsRequest
from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.ports import free_port
from support.raw_requests import create_topic

if TYPE_CHECKING:
    from trial import Numbers, Trial

    from support.broker_process import BrokerProcess
    from support.raw_client import RawClient

TOPIC = "restart"
PARTITIONS, SEGMENTS, BATCHES_PER_SEGMENT = 10, 100, 20
RECORDS_PER_BATCH, RECORD_SIZE = 16, 1000
PROPERTIES = peers.PROPERTIES | {"log.flush.offset.checkpoint.interval.ms": "3600000"}
PATIENCE_S = 120
LATEST = -1
_CRC, _CRC_FROM, _SEQUENCE = 17, 21, 53


class Batches:
    """The batches of one idempotent producer, the same for each partition."""

    def __init__(self, producer_id: int, producer_epoch: int) -> None:
        now_ms = int(time.time() * 1000)
        records = [Record(0, now_ms, None, bytes(RECORD_SIZE)) for _ in range(RECORDS_PER_BATCH)]
        self._batch = build_batch(
            records, producer_id=producer_id, producer_epoch=producer_epoch, base_sequence=0
        )
        self.size = len(self._batch)
        self.sent = 0

    def next_request(self) -> ProduceRequest:
        """The next batch for every partition."""
        batch = self._batch
        struct.pack_into(">i", batch, _SEQUENCE, self.sent * RECORDS_PER_BATCH)
        struct.pack_into(">I", batch, _CRC, crc32c(memoryview(batch)[_CRC_FROM:]))
        self.sent += 1
        data = [
            ProduceRequest.PartitionProduceData(index=index, records=memoryview(batch))
            for index in range(PARTITIONS)
        ]
        topic = ProduceRequest.TopicProduceData(name=TOPIC, partition_data=data)
        return ProduceRequest(acks=1, timeout_ms=peers.TIMEOUT_MS, topic_data=[topic])


def restart(trial: Trial) -> Numbers:
    """A broker of its own: filled, killed, started; stopped cleanly, started."""
    broker = type(trial.broker)(properties=PROPERTIES, port=free_port())
    segments = trial.count(SEGMENTS)
    trial.warm(PARTITIONS * segments * BATCHES_PER_SEGMENT * RECORDS_PER_BATCH * RECORD_SIZE >> 20)
    try:
        broker.start()
        batches = fill(broker, segments)
        broker.kill()
        after_kill = time_to_serve(broker, batches)
        broker.stop()
        after_stop = time_to_serve(broker, batches)
    finally:
        broker.close()
    return {
        "restart-kill": after_kill[0],
        "restart-kill-cpu": after_kill[1],
        "restart-stop": after_stop[0],
        "restart-stop-cpu": after_stop[1],
    }


def fill(broker: BrokerProcess, segments: int) -> Batches:
    """Write the segments of every partition."""
    with peers.client(broker) as client:
        batches = Batches(*_producer(client))
        size = {"segment.bytes": str(batches.size * BATCHES_PER_SEGMENT)}
        if error := create_topic(client, TOPIC, PARTITIONS, size):
            raise RuntimeError(f"{broker.name} answered error {error} to creating a topic")
        peers.await_leaders(broker, TOPIC, PARTITIONS)
        for _ in range(segments * BATCHES_PER_SEGMENT):
            _produce(client, batches)
    found = len(list((broker.home / "data").glob(f"{TOPIC}-*/*.log")))
    if found != PARTITIONS * segments:
        raise RuntimeError(f"{broker.name} has {found} segments instead of {PARTITIONS * segments}")
    return batches


def _producer(client: RawClient) -> tuple[int, int]:
    """A producer id and its epoch; a broker that has just started may not have any at once."""
    while True:
        answer = client.call(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000), 3)
        if not answer.error_code:
            return answer.producer_id, answer.producer_epoch
        time.sleep(0.05)


def time_to_serve(broker: BrokerProcess, batches: Batches) -> tuple[float, float]:
    """Wall and processor time in ms, from the start of the process until all partitions serve."""
    begin = time.perf_counter()
    broker.start(PATIENCE_S)
    with peers.client(broker) as client:
        ends = [batches.sent * RECORDS_PER_BATCH] * PARTITIONS
        await_end_offsets(client, TOPIC, ends, begin + PATIENCE_S)
        _produce(client, batches)
    return (time.perf_counter() - begin) * 1e3, cpu_seconds_ever(broker.pid) * 1e3


def await_end_offsets(client: RawClient, topic: str, ends: list[int], deadline: float) -> None:
    """Wait until the partitions of a topic tell that they end there. RuntimeError after `deadline`."""
    while (found := _end_offsets(client, topic, len(ends))) != ends:
        if time.perf_counter() > deadline:
            raise RuntimeError(f"records are lost: the partitions of {topic} end at {found}")
        time.sleep(0.005)


def _end_offsets(client: RawClient, name: str, partitions: int) -> list[int]:
    """Where the partitions end; -1 for one that has no leader yet."""
    wanted = [
        ListOffsetsRequest.ListOffsetsPartition(
            partition_index=index, current_leader_epoch=-1, timestamp=LATEST
        )
        for index in range(partitions)
    ]
    topic = ListOffsetsRequest.ListOffsetsTopic(name=name, partitions=wanted)
    answer = client.call(ListOffsetsRequest(replica_id=-1, topics=[topic]), 5)
    rows = sorted(answer.topics[0].partitions, key=lambda row: row.partition_index)
    return [-1 if row.error_code else row.offset for row in rows]


def _produce(client: RawClient, batches: Batches) -> None:
    answer = client.call(batches.next_request(), 7)
    errors = {partition.error_code for partition in answer.responses[0].partition_responses}
    if errors != {0}:
        raise RuntimeError(f"a batch was answered with the errors {errors}")


MEASURES = (Measure("restart", restart),)
