"""Transactions of one record in one partition: how long a commit takes, and how many there are a second.

The requests are made before the clock runs. A producer whose last transaction is still ending when it begins
the next is told to ask again, and does so at once.
"""

from __future__ import annotations

import selectors
import socket
import struct
import time
from collections import deque
from statistics import quantiles
from typing import TYPE_CHECKING

from report import Figure
from system import Stopwatch
from trial import Measure

from kcompat.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from kcompat.protocol.messages.end_txn import EndTxnRequest
from kcompat.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcompat.protocol.messages.init_producer_id import InitProducerIdRequest
from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.raw_client import RawClient, request_frame

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trial import Numbers, Trial

RECORD_SIZE = 100
MANY = 20
WARM = 20
"""Transactions of each producer before the clock runs."""
CONCURRENT_TRANSACTIONS = 51
NOT_YET = (14, 15, 16, CONCURRENT_TRANSACTIONS)
TRANSACTIONAL_ID = 1
ADD_VERSION, PRODUCE_VERSION, END_VERSION = 2, 8, 2
_ERROR = struct.Struct(">h")


class _Producer:
    """One producer with a connection of its own; `steps` are the requests of all its transactions."""

    def __init__(self, port: int, name: str, topic: str, partition: int, count: int) -> None:
        with RawClient(("127.0.0.1", port), 30) as client:
            while client.call(FindCoordinatorRequest(name, TRANSACTIONAL_ID), 2).error_code in NOT_YET:
                time.sleep(0.05)
            while (given := client.call(InitProducerIdRequest(name, 60_000), 1)).error_code in NOT_YET:
                time.sleep(0.05)
        fields = name, given.producer_id, given.producer_epoch
        wanted = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(topic, [partition])
        add = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=name,
            v3_and_below_producer_id=given.producer_id,
            v3_and_below_producer_epoch=given.producer_epoch,
            v3_and_below_topics=[wanted],
        )
        self._add = request_frame(add, ADD_VERSION, 0, "bench")
        self._end = request_frame(EndTxnRequest(*fields, committed=True), END_VERSION, 0, "bench")
        self._produces = deque(
            _produce(name, topic, partition, given.producer_id, given.producer_epoch, sequence)
            for sequence in range(count)
        )
        self._topic = topic
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.commits_us: list[float] = []
        self._steps = self._play()

    def begin(self, count: int) -> None:
        """So many transactions are to be made from now on."""
        self._left = count
        self._steps = self._play()
        next(self._steps)

    def go_on(self) -> bool:
        """An answer has come; False when the last transaction is committed."""
        return next(self._steps, False)

    def _play(self) -> Iterator[bool]:
        while self._left:
            self._left -= 1
            while True:
                self.socket.sendall(self._add)
                yield True
                error = self._error(-_ERROR.size)
                if error != CONCURRENT_TRANSACTIONS:
                    break
            _expect_none(error)
            self.socket.sendall(self._produces.popleft())
            yield True
            _expect_none(self._error(4 + 4 + 4 + 2 + len(self._topic) + 4 + 4))
            begin = time.perf_counter()
            self.socket.sendall(self._end)
            yield True
            _expect_none(self._error(-_ERROR.size))
            self.commits_us.append((time.perf_counter() - begin) * 1e6)

    def _error(self, place: int) -> int:
        """Receive the next response and return its error code, which stands at `place`.

        `place` counts from the length prefix or, if it is negative, from the end.
        """
        answer = self.socket.recv(65_536)
        while len(answer) < 4 or len(answer) < 4 + int.from_bytes(answer[:4]):
            answer += self.socket.recv(65_536)
        return int(_ERROR.unpack_from(answer, place if place >= 0 else len(answer) + place)[0])


def _produce(name: str, topic: str, partition: int, producer_id: int, epoch: int, sequence: int) -> bytes:
    batch = build_batch(
        [Record(0, int(time.time() * 1000), None, bytes(RECORD_SIZE))],
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=True,
    )
    data = ProduceRequest.PartitionProduceData(partition, memoryview(batch))
    request = ProduceRequest(
        transactional_id=name,
        acks=-1,
        timeout_ms=30_000,
        topic_data=[ProduceRequest.TopicProduceData(name=topic, partition_data=[data])],
    )
    return request_frame(request, PRODUCE_VERSION, 0, "bench")


def _expect_none(error: int) -> None:
    if error:
        raise RuntimeError(f"a request of a transaction was answered with error {error}")


def _run(producers: list[_Producer], count: int) -> None:
    """Have each of them make so many transactions."""
    with selectors.DefaultSelector() as selector:
        for producer in producers:
            selector.register(producer.socket, selectors.EVENT_READ, producer)
            producer.begin(count)
        running = len(producers)
        while running:
            for key, _ in selector.select():
                if not key.data.go_on():
                    selector.unregister(key.fileobj)
                    running -= 1


def _measure(trial: Trial, name: str, count: int, usual: int) -> Numbers:
    each = max(WARM, trial.count(usual) // count)
    with trial.topic(count) as topic:
        producers = [
            _Producer(trial.broker.port, f"{trial.label}-{index}", topic, index, WARM + each)
            for index in range(count)
        ]
        _run(producers, WARM)
        for producer in producers:
            producer.commits_us.clear()
        with Stopwatch(*trial.pids) as stopwatch:
            _run(producers, each)
        for producer in producers:
            producer.socket.close()
    percentiles = quantiles([us for producer in producers for us in producer.commits_us], n=100)
    return {
        f"{name}-p50": percentiles[49],
        f"{name}-p99": percentiles[98],
        name: each * count / stopwatch.wall,
        f"{name}-cpu": stopwatch.cpu / (each * count) * 1e6,
    }


def one_producer(trial: Trial) -> Numbers:
    """One after the other."""
    return _measure(trial, "transactions-1", 1, 2_000)


def many_producers(trial: Trial) -> Numbers:
    """Twenty side by side, each with a partition of its own."""
    return _measure(trial, "transactions-20", MANY, 10_000)


FIGURES = (
    Figure("transactions-1-p50", "commit of a transaction of one record, p50", "us", "<= 0.5"),
    Figure("transactions-1-p99", "  p99", "us", "<= 0.5"),
    Figure("transactions-1", "  transactions", "/s", ">= 1.5"),
    Figure("transactions-1-cpu", "  broker CPU", "us each", "<= 0.5"),
    Figure("transactions-20", "transactions of one record, 20 producers", "/s", ">= 1.5"),
    Figure("transactions-20-cpu", "  broker CPU", "us each", "<= 0.5"),
    Figure("transactions-20-p50", "  commit, p50", "us"),
    Figure("transactions-20-p99", "  commit, p99", "us"),
)
MEASURES = (Measure("transactions-1", one_producer), Measure("transactions-20", many_producers))
