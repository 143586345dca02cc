"""How cost grows with clients: 10, 100 and 1,000 connections that come at once, and 100, 1,000 and 10,000
groups of one member each.
"""

from __future__ import annotations

import selectors
import socket
import time
from functools import partial
from typing import TYPE_CHECKING, Final

import frames
import group_requests
import peers
from growth import PATIENCE_S, Asker
from report import Figure
from system import Stopwatch, resident_mb
from trial import Measure

from kcompat.protocol.messages.api_versions import ApiVersionsRequest
from kcompat.protocol.messages.heartbeat import HeartbeatRequest
from kcompat.protocol.messages.list_groups import ListGroupsRequest
from kcompat.protocol.messages.offset_commit import OffsetCommitRequest
from support.ports import free_port
from support.raw_client import request_frame

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trial import Numbers, Trial

    from support.broker_process import BrokerProcess

CONNECTIONS: Final = (10, 100, 1_000)
GROUPS: Final = (100, 1_000, 10_000)
REQUESTS = 20_000
RECORD_SIZE = 100
TOPIC = "growth"
SESSION_MS = 1_000_000
"""Longer than everything takes."""
HEARTBEAT_VERSION, COMMIT_VERSION, LIST_VERSION = 3, 7, 3
LISTS = 5


def connections(trial: Trial, *, size: int) -> Numbers:
    """From the first of so many that connect at once to the last first answer; then a record from each in
    turn.
    """
    count = trial.count(size)
    arrival = _all_connect(trial.broker, count)
    with trial.topic() as topic, Stopwatch(trial.broker.pid) as watch:
        frame = frames.produce(topic, 0, records=1, size=RECORD_SIZE)
        requests = trial.count(REQUESTS)
        load = trial.generator.run(trial.broker.port, [frame], connections=count, depth=1, count=requests)
    name = f"connections-{size}"
    return {
        f"{name}-arrive": arrival * 1e3,
        f"{name}-rate": load.responses / load.seconds / 1e3,
        f"{name}-cpu": watch.cpu / requests * 1e6,
    }


def _all_connect(broker: BrokerProcess, count: int) -> float:
    """Seconds until all that connect at once are answered."""
    request = request_frame(ApiVersionsRequest(), 0)
    begin = time.perf_counter()
    sockets = [socket.socket() for _ in range(count)]
    with selectors.DefaultSelector() as selector:
        for each in sockets:
            each.setblocking(False)
            each.connect_ex(("127.0.0.1", broker.port))
            selector.register(each, selectors.EVENT_WRITE)
        while selector.get_map():
            ready = selector.select(PATIENCE_S)
            if not ready:
                raise TimeoutError(f"{len(selector.get_map())} of {count} connections are not answered")
            for key, events in ready:
                each = key.fileobj
                assert isinstance(each, socket.socket)
                if events & selectors.EVENT_WRITE:
                    each.sendall(request)
                    selector.modify(each, selectors.EVENT_READ)
                else:
                    if not each.recv(1 << 16):
                        raise ConnectionError("the broker closed a connection")
                    selector.unregister(each)
    elapsed = time.perf_counter() - begin
    for each in sockets:
        each.close()
    return elapsed


def groups(trial: Trial, *, size: int) -> Numbers:
    """A broker of its own with so many groups: each joins, beats and commits, one request at a time."""
    count = trial.count(size)
    broker = type(trial.broker)(properties=peers.PROPERTIES, port=free_port())
    try:
        broker.start(PATIENCE_S)
        numbers = _groups(broker, count)
    finally:
        broker.close()
    return {f"groups-{size}-{name}": value for name, value in numbers.items()}


def _groups(broker: BrokerProcess, count: int) -> Numbers:
    peers.create_topics(broker, [TOPIC], 1)
    peers.await_leaders(broker, TOPIC, 1)
    names = [f"{TOPIC}-{number}" for number in range(count)]
    asker = Asker(broker)
    with peers.client(broker) as client:
        group_requests.await_coordinator(client, names[0])
        begin = time.perf_counter()
        members = {name: group_requests.join(client, name, SESSION_MS) for name in names}
        joined = time.perf_counter() - begin
        beats = [_heartbeat(name, *members[name]) for name in names]
        commits = [_commit(name, *members[name]) for name in names]
        numbers = {
            "join": joined / count * 1e6,
            "heartbeat": asker.ask([request_frame(beat, HEARTBEAT_VERSION) for beat in beats]) * 1e6,
            "commit": asker.ask([request_frame(commit, COMMIT_VERSION) for commit in commits]) * 1e6,
            "list": asker.ask([request_frame(ListGroupsRequest(), LIST_VERSION)] * LISTS) * 1e3,
            "memory": resident_mb(broker.pid),
        }
        listed = len(client.call(ListGroupsRequest(), LIST_VERSION).groups)
        error = client.call(beats[-1], HEARTBEAT_VERSION).error_code
    asker.close()
    if listed < count or error:
        raise RuntimeError(f"{broker.name} lists {listed} of {count} groups, and answers a beat with {error}")
    return numbers


def _heartbeat(group: str, member: str, generation: int) -> HeartbeatRequest:
    return HeartbeatRequest(group_id=group, generation_id=generation, member_id=member)


def _commit(group: str, member: str, generation: int) -> OffsetCommitRequest:
    row = OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    topic = OffsetCommitRequest.OffsetCommitRequestTopic(name=TOPIC, partitions=[row])
    return OffsetCommitRequest(
        group_id=group, generation_id_or_member_epoch=generation, member_id=member, topics=[topic]
    )


def _figures() -> Iterator[Figure]:
    for size in CONNECTIONS:
        name = f"connections-{size}"
        target = "<= 1.0" if size == CONNECTIONS[-1] else ""
        yield Figure(f"{name}-arrive", f"{size:,} connections at once, until all are answered", "ms", target)
        yield Figure(f"{name}-rate", "  one record a request", "k requests/s", target and ">= 1.0")
        yield Figure(f"{name}-cpu", "    broker CPU", "s per million", target)
    for size in GROUPS:
        name = f"groups-{size}"
        target = "<= 1.0" if size == GROUPS[-1] else ""
        yield Figure(f"{name}-join", f"{size:,} groups, join of each", "us", target)
        yield Figure(f"{name}-heartbeat", "  heartbeat", "us", target)
        yield Figure(f"{name}-commit", "  commit", "us", target)
        yield Figure(f"{name}-list", "  ListGroups", "ms", target)
        yield Figure(f"{name}-memory", "  memory", "MB", target)


MEASURES = (
    *(Measure(f"connections-{size}", partial(connections, size=size)) for size in CONNECTIONS),
    *(Measure(f"groups-{size}", partial(groups, size=size)) for size in GROUPS),
)
FIGURES = tuple(_figures())
