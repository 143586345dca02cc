"""50,000 malformed frames against a broker in its own process: nothing on disk changes, nobody else notices.

The base of most frames is a valid request of every API and version the broker serves, and the broker
answers each of them first. Reading requests name a real topic. Requests that change state name what
cannot exist, and produced batches do not match their CRC, so that no mutation of them can succeed; only
group requests may, on groups of their own. Therefore the files compared are those of the topics'
partitions, and not those of `__consumer_offsets`.
"""

from __future__ import annotations

import contextlib
import hashlib
import random
import struct
import time
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import pytest

from kcompat.api.registry import SERVED
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.api_versions import ApiVersionsRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.records.batch import build_batch, read_header, seal
from kcompat.records.compression import Codec, compress
from kcompat.records.record import Record
from support.eventually import eventually
from support.footprint import forget_peak, memory, open_sockets
from support.hostile_clients import MIB, HealthyNeighbour, connect, half_open_connections, now_ms, send_all
from support.hostile_frames import (
    FOREIGN,
    FRAME_LENGTHS,
    length_lies,
    mutations,
    noise,
    truncations,
    valid_frame,
)
from support.kcompat_broker import KcompatBroker
from support.raw_client import RawClient, request_frame
from support.raw_requests import create_topic, describe_topic, fetch_request, produce

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SEED = 20240229
FRAMES = 50_000
VICTIM, COMPACTED, HEALTHY = "victim-of-noise", "compacted-victim", "healthy-neighbour"
SLOW = "slowly-read"
IMPOSSIBLE = "//////////"
CHANGES_STATE = frozenset(
    {
        ApiKey.CREATE_TOPICS,
        ApiKey.DELETE_TOPICS,
        ApiKey.CREATE_PARTITIONS,
        ApiKey.DELETE_RECORDS,
        ApiKey.ALTER_CONFIGS,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        ApiKey.OFFSET_DELETE,
        ApiKey.LEADER_AND_ISR,
        ApiKey.STOP_REPLICA,
        ApiKey.UPDATE_METADATA,
        ApiKey.WRITE_TXN_MARKERS,
    }
)
ACCESS_RULES = frozenset({ApiKey.DESCRIBE_ACLS, ApiKey.CREATE_ACLS, ApiKey.DELETE_ACLS})
TOPIC_FIELDS = frozenset({"name", "topic", "topics", "topic_name", "topic_names", "resource_name"})
NUMBERS = {
    "acks": 1,
    "timeout_ms": 1000,
    "session_timeout_ms": 6000,
    "rebalance_timeout_ms": 1000,
    "generation_id": -1,
    "generation_id_or_member_epoch": -1,
    "replica_id": -1,
    "replica_epoch": -1,
    "controller_epoch": -(2**31),  # of a former controller, also after a flip of most of its bits
    "session_epoch": -1,
    "current_leader_epoch": -1,
    "last_fetched_epoch": -1,
    "max_bytes": MIB,
    "partition_max_bytes": MIB,
    "num_partitions": 1,
    "replication_factor": 1,
    "resource_type": 2,
    "count": 1,
    "response_partition_limit": 10,
}


def chooser(key: ApiKey, group: str, topic_id: bytes) -> Callable[[str, str], Any]:
    """Values that make a request valid, and harmless whatever is done to it."""
    damaged = build_batch([Record(0, 0, b"key", b"value")])
    damaged[17:21] = bytes(byte ^ 0xFF for byte in damaged[17:21])  # no flip of a bit makes this CRC right
    harmless = key in CHANGES_STATE

    def choose(name: str, kind: str) -> Any:
        if kind == "string":
            if name in TOPIC_FIELDS:
                return IMPOSSIBLE if harmless else VICTIM
            if "group" in name or name in ("key", "coordinator_keys"):
                return group  # one of its own, for a join would wait for other members
            return (
                None if name in ("transactional_id", "cluster_id", "group_instance_id", "member_id") else "x"
            )
        if kind == "int8" and key in ACCESS_RULES:
            return 3  # any element but UNKNOWN, which closes the connection
        if kind == "uuid":
            return bytes(16) if harmless else topic_id
        return {"records": damaged, "bytes": b"xyz", "bool": False}.get(kind, NUMBERS.get(name, 0))

    return choose


POLICIES = {VICTIM: "delete", HEALTHY: "delete", COMPACTED: "compact", SLOW: "delete"}
PARTITIONS = 2


def create_topics(client: RawClient) -> None:
    for name, policy in POLICIES.items():
        assert create_topic(client, name, partitions=PARTITIONS, configs={"cleanup.policy": policy}) == 0


def hostile_frames(valid: list[bytes], rng: random.Random) -> Iterator[bytes]:
    """At least `FRAMES` of them, the kinds in turn."""
    cut = list(chain.from_iterable(map(truncations, valid)))
    rest = max(0, FRAMES - len(cut) - 4000)
    each = rest // (2 * len(valid)) + 1
    lies = chain.from_iterable(length_lies(frame, rng, each) for frame in valid)
    changed = chain.from_iterable(mutations(frame, rng, each) for frame in valid)
    every = [*cut, *lies, *changed, *noise(rng, 4000), *FOREIGN]
    rng.shuffle(every)
    assert len(every) >= FRAMES
    return iter(every)


def digest(data: Path) -> dict[str, str]:
    """Every file of the victims' partitions, by content."""
    files = [
        path
        for path in data.rglob("*")
        if path.is_file() and path.parent.name.startswith((VICTIM, COMPACTED))
    ]
    return {str(path.relative_to(data)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def partitions(data: Path) -> set[str]:
    """The partition directories, but for the offsets topic, which honest group requests create."""
    found = {path.parent.name for path in data.rglob("*.log")} | {path.name for path in data.glob("*-[0-9]*")}
    return {name for name in found if not name.startswith("__consumer_offsets")}


@pytest.fixture(scope="module")
def broker() -> Iterator[KcompatBroker]:
    with KcompatBroker({"auto.create.topics.enable": "false"}) as broker:
        yield broker


@pytest.fixture(scope="module")
def address(broker: KcompatBroker) -> tuple[str, int]:
    return "127.0.0.1", broker.port


@pytest.fixture(scope="module")
def data(broker: KcompatBroker, address: tuple[str, int]) -> Path:
    """The data directory of the broker, with the topics of these tests in it."""
    with RawClient(address) as client:
        create_topics(client)
        for topic in (VICTIM, COMPACTED):
            batch = build_batch([Record(0, now_ms(), b"key", b"value")] * 10)
            assert produce(client, topic, batch).error_code == 0
    data = broker.home / "data"
    # directories are made after the answer
    eventually(lambda: len(partitions(data)) >= len(POLICIES) * PARTITIONS, timeout_s=10)
    return data


def valid_frames(address: tuple[str, int]) -> list[bytes]:
    """A request of every API and version served, each of which the broker has just answered."""
    with RawClient(address) as client:
        topic_id = describe_topic(client, VICTIM).topic_id
    frames = []
    for served in SERVED:
        for version in range(served.min_version, served.max_version + 1):
            group = f"noise-{served.key}-{version}"
            frame = valid_frame(served.key, version, chooser(served.key, group, topic_id))
            with connect(address) as connection:
                connection.settimeout(5)
                connection.sendall(frame)
                assert struct.unpack(">ii", connection.recv(8))[1] == 1, f"{served.key.name} v{version}"
            frames.append(frame)
    return frames


@pytest.mark.timeout(240)
def test_fifty_thousand_malformed_frames(broker: KcompatBroker, address: tuple[str, int], data: Path) -> None:
    rng = random.Random(SEED)
    valid = valid_frames(address)
    frames = hostile_frames(valid, rng)
    send_all(address, islice(frames, 500))
    before, directories = digest(data), partitions(data)
    sockets, resident = open_sockets(broker.pid), memory(broker.pid, "VmRSS")
    forget_peak(broker.pid)
    neighbour = HealthyNeighbour(address, HEALTHY)
    neighbour.start()
    half_open = half_open_connections(address)

    senders = send_all(address, frames)

    neighbour.finish()
    grown = memory(broker.pid, "VmHWM") - resident
    for connection in half_open:
        connection.close()
    assert sum(sender.sent for sender in senders) >= FRAMES - 500
    assert sum(sender.answered for sender in senders) >= FRAMES // 20
    assert neighbour.error is None
    assert neighbour.rounds >= 100
    assert neighbour.slowest_s < 5
    assert grown < 64 * MIB
    assert digest(data) == before
    assert partitions(data) == directories
    eventually(lambda: open_sockets(broker.pid) <= sockets, "the sockets are closed", 10)
    _, fault, after = broker.log_path.read_text().partition("Traceback")
    assert not fault, after[:3000]


@pytest.mark.parametrize("length", FRAME_LENGTHS)
def test_an_impossible_length_closes_the_connection_and_no_other(
    length: int, broker: KcompatBroker, address: tuple[str, int]
) -> None:
    with RawClient(address) as neighbour, connect(address) as connection:
        connection.sendall(struct.pack(">i", length) + b"\x00" * max(0, min(length, 7)))
        if 7 < length <= 100 * MIB:
            with pytest.raises(TimeoutError):
                connection.recv(1)
        else:
            connection.settimeout(10)
            assert connection.recv(1) == b""
        assert neighbour.call(ApiVersionsRequest(), 0).error_code == 0


def test_a_slow_request_is_answered(address: tuple[str, int]) -> None:
    with connect(address) as connection:
        for byte in request_frame(ApiVersionsRequest(), 0, correlation_id=77):
            connection.sendall(bytes([byte]))
            time.sleep(0.002)
        connection.settimeout(10)
        assert struct.unpack(">ii", connection.recv(8))[1] == 77


@pytest.mark.parametrize("what", ["fetch", "metadata"])
def test_peers_that_never_read_cost_no_memory_and_keep_nobody_waiting(
    what: str, broker: KcompatBroker, address: tuple[str, int], data: Path
) -> None:
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(RawClient(address))
        batch = build_batch([Record(0, now_ms(), None, bytes(900_000))])
        assert produce(client, SLOW, batch).error_code == 0
        request, version = (
            (fetch_request(SLOW), 11) if what == "fetch" else (MetadataRequest(topics=None), 10)
        )
        frame = request_frame(request, version)
        resident = memory(broker.pid, "VmRSS")
        forget_peak(broker.pid)
        peers = [stack.enter_context(connect(address)) for _ in range(50)]
        for peer in peers:
            with contextlib.suppress(TimeoutError):
                for _ in range(100):
                    peer.sendall(frame * 100)
        for _ in range(20):
            started = time.monotonic()
            assert produce(client, SLOW, batch).error_code == 0
            assert time.monotonic() - started < 3
        assert memory(broker.pid, "VmHWM") - resident < 64 * MIB


def test_bombs_are_refused_and_leave_no_memory_behind(
    broker: KcompatBroker, address: tuple[str, int], data: Path
) -> None:
    before = digest(data)
    bomb = build_batch([Record(0, 0, b"k", b"v")])
    bomb[61:] = compress(Codec.ZSTD, bytes(200 * MIB))
    seal(bomb, Codec.ZSTD)
    assert read_header(bomb).codec == Codec.ZSTD
    with RawClient(address) as client:
        assert produce(client, COMPACTED, bomb).error_code == ErrorCode.INVALID_RECORD
        resident = memory(broker.pid, "VmRSS")
        for _ in range(20):
            assert produce(client, COMPACTED, bomb).error_code == ErrorCode.INVALID_RECORD
    assert memory(broker.pid, "VmRSS") - resident < 16 * MIB
    assert memory(broker.pid, "VmHWM") - resident < 64 * MIB
    assert digest(data) == before
