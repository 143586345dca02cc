"""How cost grows with partitions: a broker of its own with one topic of 100, 1,000 and 4,000 of them.

Made with one request; a first record to each, one request at a time, and a next one; Metadata of all; a
fetch of all that finds nothing new, with which a session begins, and the further ones of that session, which
name no partition; a topic of one partition beside them; memory and processor time at rest; and a start after
kill -9, until all have told where they end.
"""

from __future__ import annotations

import socket
import struct
import time
from functools import partial
from typing import TYPE_CHECKING, Final

import frames
import peers
from report import Figure
from restart import PROPERTIES, await_end_offsets
from system import Stopwatch, resident_mb
from trial import Measure

from kcompat.protocol.messages.create_topics import CreateTopicsRequest
from kcompat.protocol.messages.fetch import FetchRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from support.ports import free_port
from support.raw_client import request_frame

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from trial import Numbers, Trial

    from support.broker_process import BrokerProcess
    from support.raw_client import RawClient

SIZES: Final = (100, 1_000, 4_000)
TOPIC = "growth"
RECORD_SIZE = 100
RECORDS = 2
"""In each partition, when all are written."""
METADATA_VERSION = 8
ALL_AT_ONCE, IN_TURN = 10, 50
"""How often something is asked about all partitions, and how many topics are made one by one."""
PATIENCE_S = 120
SETTLE_S, REST_S = 1.0, 3.0


class Asker:
    """A connection that sends frames one at a time and does not look into the answers."""

    def __init__(self, broker: BrokerProcess) -> None:
        self._socket = socket.create_connection(("127.0.0.1", broker.port), timeout=PATIENCE_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, requests: Sequence[bytes]) -> float:
        """Seconds for each of these, on the average."""
        begin = time.perf_counter()
        for request in requests:
            self._socket.sendall(request)
            left: int = 4 + struct.unpack(">i", self._socket.recv(4, socket.MSG_PEEK | socket.MSG_WAITALL))[0]
            while left:
                piece = self._socket.recv(min(left, 1 << 20))
                if not piece:
                    raise ConnectionError("the broker closed the connection")
                left -= len(piece)
        return (time.perf_counter() - begin) / len(requests)

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()


def partitions(trial: Trial, *, size: int) -> Numbers:
    """All of it for one number of partitions."""
    count = trial.count(size)
    broker = type(trial.broker)(properties=PROPERTIES, port=free_port())
    try:
        broker.start(PATIENCE_S)
        asker = Asker(broker)
        with peers.client(broker) as client:
            created = _create(client, count)
            produces = [frames.produce(TOPIC, index, records=1, size=RECORD_SIZE) for index in range(count)]
            metadata = request_frame(MetadataRequest(topics=None), METADATA_VERSION)
            numbers = {
                "create": created * 1e3,
                "first": asker.ask(produces) * 1e6,
                "next": asker.ask(produces) * 1e6,
                "metadata": asker.ask([metadata] * ALL_AT_ONCE) * 1e3,
                "fetch": asker.ask([request_frame(_fetch(count), frames.FETCH_VERSION)] * ALL_AT_ONCE) * 1e3,
                "session": asker.ask(_session(client, count)) * 1e3,
                "topic": _topics_in_turn(broker) * 1e3,
            }
            _await_ends(client, [RECORDS] * count)
        asker.close()
        numbers |= _rest(broker)
        broker.kill()
        numbers["restart"] = _restart(broker, count) * 1e3
    finally:
        broker.close()
    return {f"partitions-{size}-{name}": value for name, value in numbers.items()}


def _create(client: RawClient, count: int) -> float:
    """Seconds until all partitions are served."""
    topic = CreateTopicsRequest.CreatableTopic(name=TOPIC, num_partitions=count, replication_factor=1)
    request = CreateTopicsRequest(topics=[topic], timeout_ms=peers.TIMEOUT_MS)
    begin = time.perf_counter()
    answer = client.call(request, peers.CREATE_VERSION)
    if answer.topics[0].error_code:
        raise RuntimeError(f"error {answer.topics[0].error_code} to creating {count} partitions")
    _await_ends(client, [0] * count)
    return time.perf_counter() - begin


def _fetch(count: int, session: int = 0, epoch: int = 0) -> FetchRequest:
    """A fetch at the end of all partitions, with which a session begins; later it names none of them."""
    rows = [
        FetchRequest.FetchPartition(
            partition=index, current_leader_epoch=-1, fetch_offset=RECORDS, partition_max_bytes=1 << 20
        )
        for index in range(0 if session else count)
    ]
    return FetchRequest(
        replica_id=-1,
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=1 << 20,
        session_id=session,
        session_epoch=epoch,
        topics=[FetchRequest.FetchTopic(topic=TOPIC, partitions=rows)] if rows else [],
    )


def _session(client: RawClient, count: int) -> list[bytes]:
    """The fetches of a session after the first one."""
    answer = client.call(_fetch(count), frames.FETCH_VERSION)
    if not answer.session_id or answer.error_code:
        raise RuntimeError(f"no fetch session was opened: error {answer.error_code}")
    epochs = range(1, 1 + ALL_AT_ONCE)
    return [request_frame(_fetch(count, answer.session_id, epoch), frames.FETCH_VERSION) for epoch in epochs]


def _topics_in_turn(broker: BrokerProcess) -> float:
    begin = time.perf_counter()
    for number in range(IN_TURN):
        peers.create_topics(broker, [f"{TOPIC}-{number}"], 1)
    return (time.perf_counter() - begin) / IN_TURN


def _await_ends(client: RawClient, ends: list[int]) -> None:
    await_end_offsets(client, TOPIC, ends, time.perf_counter() + PATIENCE_S)


def _rest(broker: BrokerProcess) -> Numbers:
    time.sleep(SETTLE_S)
    with Stopwatch(broker.pid) as watch:
        time.sleep(REST_S)
    return {"memory": resident_mb(broker.pid), "idle-cpu": watch.cpu / watch.wall * 100}


def _restart(broker: BrokerProcess, count: int) -> float:
    """Seconds until all partitions serve again."""
    begin = time.perf_counter()
    broker.start(PATIENCE_S)
    with peers.client(broker) as client:
        _await_ends(client, [RECORDS] * count)
    return time.perf_counter() - begin


def _figures() -> Iterator[Figure]:
    for size in SIZES:
        name = f"partitions-{size}"
        target = "<= 1.0" if size == SIZES[-1] else ""
        yield Figure(f"{name}-create", f"{size:,} partitions, created", "ms", target)
        yield Figure(f"{name}-first", "  first record of each", "us", target)
        yield Figure(f"{name}-next", "  next record of each", "us", target)
        yield Figure(f"{name}-metadata", "  Metadata of all", "ms", target)
        yield Figure(f"{name}-fetch", "  fetch of all, at the beginning of a session", "ms", target)
        yield Figure(f"{name}-session", "  fetch of all in a session", "ms", target)
        yield Figure(f"{name}-topic", "  one more topic", "ms", target)
        yield Figure(f"{name}-memory", "  memory", "MB", target)
        yield Figure(f"{name}-idle-cpu", "  processor time at rest", "% of a core", target)
        yield Figure(f"{name}-restart", "  restart after kill -9", "ms", target)


MEASURES = tuple(Measure(f"partitions-{size}", partial(partitions, size=size)) for size in SIZES)
FIGURES = tuple(_figures())
