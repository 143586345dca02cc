"""Log directories whose metadata store is new: what the store then holds."""

from __future__ import annotations

import json
import struct
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from kcompat.cluster import znodes
from kcompat.cluster.znodes import PRODUCER_ID_BLOCK, decode_producer_ids
from kcompat.config.broker import BrokerConfig
from kcompat.controller import loading
from kcompat.log.errors import LogDirectoryError
from kcompat.log.identity import Identity, stored_identity
from kcompat.log.loader import create_log
from kcompat.log.producer_ids import highest_producer_id, highest_transactional_producer_id
from kcompat.migration.adoption import adopt, block_around
from kcompat.protocol.messages.transaction_log import TransactionLogKey, TransactionLogValue
from kcompat.protocol.uuids import ZERO_UUID
from kcompat.records.batch import build_batch, read_header
from kcompat.records.record import Record
from kcompat.store.process_store import ProcessStore
from support.default_settings import log_settings

if TYPE_CHECKING:
    from pathlib import Path

    from kcompat.log.log import Log
    from kcompat.store.interface import MetadataStore, Stat

TOPIC_ID = bytes(range(16))
CONFIG = BrokerConfig({"broker.id": "7"})


class CountingStore:
    """A session of the store; `read` are the nodes that were read in it."""

    def __init__(self, session: MetadataStore) -> None:
        self._session = session
        self.read: list[str] = []

    async def get(self, path: str) -> tuple[bytes, Stat]:
        self.read.append(path)
        return await self._session.get(path)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


def make_log(parent: Path, topic: str, partition: int, topic_id: bytes = TOPIC_ID) -> Log:
    log = create_log(
        parent / f"{topic}-{partition}", topic, partition, log_settings(), topic_id=topic_id, now_ms=0
    )
    log.make()
    return log


def append(log: Log, epoch: int, producer_id: int = -1, value: bytes = b"v", key: bytes = b"k") -> None:
    options: dict[str, Any] = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": 0}
    batch = memoryview(build_batch([Record(0, 1, key, value)], **(options if producer_id >= 0 else {})))
    log.append_as_leader(batch, read_header(batch), epoch, 0)


async def adopted(logs: list[Log], config: BrokerConfig = CONFIG) -> dict[str, Any]:
    """The znodes of a new store, after these logs were adopted; text and JSON read."""
    store = ProcessStore.in_memory(lambda: 0)
    session = await store.session()
    await loading.prepare(session)
    before = {path: node.data for path, node in store.tree.nodes.items()}
    await adopt(session, logs, "the-cluster", config, Random(0))
    await adopt(session, logs, "another", config, Random(0))
    nodes = {
        path: json.loads(node.data) if node.data else None
        for path, node in store.tree.nodes.items()
        if node.data != before.get(path)
    }
    await store.close()
    return nodes


async def test_a_new_store_without_logs_knows_its_cluster() -> None:
    assert await adopted([]) == {"/cluster/id": {"version": "1", "id": "the-cluster"}}


async def test_topics_partitions_and_epochs(tmp_path: Path) -> None:
    logs = [make_log(tmp_path, "t.a-b", partition) for partition in (0, 1)]
    append(logs[1], 5)
    assert await adopted(logs) == {
        "/cluster/id": {"version": "1", "id": "the-cluster"},
        "/config/topics/t.a-b": {"version": 1, "config": {"retention.ms": "-1", "retention.bytes": "-1"}},
        "/brokers/topics/t.a-b": {
            "version": 3,
            "partitions": {"0": [7], "1": [7]},
            "adding_replicas": {},
            "removing_replicas": {},
            "topic_id": "AAECAwQFBgcICQoLDA0ODw",
        },
        "/brokers/topics/t.a-b/partitions": None,
        "/brokers/topics/t.a-b/partitions/0": None,
        "/brokers/topics/t.a-b/partitions/0/state": {
            "version": 1,
            "leader": 7,
            "leader_epoch": 0,
            "controller_epoch": 0,
            "isr": [7],
        },
        "/brokers/topics/t.a-b/partitions/1": None,
        "/brokers/topics/t.a-b/partitions/1/state": {
            "version": 1,
            "leader": 7,
            "leader_epoch": 5,
            "controller_epoch": 0,
            "isr": [7],
        },
    }


async def test_partitions_that_are_elsewhere_begin_empty(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    nodes = await adopted([make_log(tmp_path, "t", 2)])
    assert nodes["/brokers/topics/t"]["partitions"] == {"0": [7], "1": [7], "2": [7]}
    assert "partitions [0, 1] of t are not here and begin empty" in caplog.text
    assert "Their configurations are not known" in caplog.text


async def test_internal_topics_get_the_configuration_that_kafka_gives_them(tmp_path: Path) -> None:
    nodes = await adopted([make_log(tmp_path, "__consumer_offsets", 49)])
    assert nodes["/config/topics/__consumer_offsets"]["config"]["cleanup.policy"] == "compact"
    assert len(nodes["/brokers/topics/__consumer_offsets"]["partitions"]) == 50


async def test_a_topic_without_an_id_gets_one(tmp_path: Path) -> None:
    nodes = await adopted([make_log(tmp_path, "t", 0, ZERO_UUID)])
    assert len(nodes["/brokers/topics/t"]["topic_id"]) == 22
    assert nodes["/brokers/topics/t"]["topic_id"] != "A" * 22
    logs = [make_log(tmp_path, "u", number, ZERO_UUID if number == 0 else TOPIC_ID) for number in range(3)]
    assert (await adopted(logs))["/brokers/topics/u"]["topic_id"] == "AAECAwQFBgcICQoLDA0ODw"


async def test_producer_ids_go_on_after_the_highest(tmp_path: Path) -> None:
    logs = [make_log(tmp_path, "t", partition) for partition in (0, 1)]
    append(logs[0], 0, producer_id=4005)
    append(logs[1], 0, producer_id=17)
    block = (await adopted(logs))["/latest_producer_id_block"]
    assert block == {"version": 1, "broker": 7, "block_start": "4000", "block_end": "4999"}


@pytest.mark.parametrize(("producer_id", "first", "last"), [(0, 0, 999), (999, 0, 999), (1000, 1000, 1999)])
def test_a_block_is_spent_as_a_whole(producer_id: int, first: int, last: int) -> None:
    block = block_around(producer_id, 1)
    assert (block.first, block.last) == (first, last)


@pytest.mark.leaves_damage("files that are not whole logs")
def test_ids_of_producers_in_snapshots_and_transactions(tmp_path: Path) -> None:
    log = make_log(tmp_path, "__transaction_state", 0)
    assert highest_producer_id(log.directory) == -1
    key = struct.pack(">h", 0) + b"".join(TransactionLogKey("tx").encode(0))
    for producer_id in (9, 3):
        value = struct.pack(">h", 0) + b"".join(TransactionLogValue(producer_id=producer_id).encode(0))
        append(log, 0, value=value, key=key)
    append(log, 0, value=b"\0\x09?", key=key)
    log.close()
    assert highest_producer_id(log.directory) == -1
    assert highest_transactional_producer_id(log.directory) == 9
    other = make_log(tmp_path, "t", 0)
    append(other, 0, producer_id=12)
    other.close()
    (tmp_path / "t-0" / "00000000000000000000.log").unlink()
    assert highest_producer_id(other.directory) == 12


@pytest.mark.parametrize(
    ("content", "identity"),
    [
        (b"version=0\nbroker.id=3\ncluster.id=abc\n", Identity(3, "abc")),
        (b"version=1\nnode.id=4\ncluster.id=abc\ndirectory.id=x\n", Identity(4, "abc")),
        (b"version=0\nbroker.id=x\n", Identity(None, None)),
        (b"\xff\xfe", Identity(None, None)),
    ],
)
def test_whose_directory_it_is(tmp_path: Path, content: bytes, identity: Identity) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "meta.properties").write_bytes(content)
    assert stored_identity([str(tmp_path / "missing"), str(tmp_path / "b")]) == identity


async def test_a_store_that_is_behind_the_logs_is_refused(tmp_path: Path) -> None:
    log = make_log(tmp_path, "t", 0)
    store = ProcessStore.in_memory(lambda: 0)
    session = await store.session()
    await loading.prepare(session)
    await adopt(session, [log], "the-cluster", CONFIG, Random(0))
    append(log, 0)
    await adopt(session, [log], "the-cluster", CONFIG, Random(0))
    append(log, 3)
    with pytest.raises(LogDirectoryError, match="has leader epoch 0 and not yet 3, so another broker"):
        await adopt(session, [log], "the-cluster", CONFIG, Random(0))
    await store.close()


async def test_each_topic_is_read_once(tmp_path: Path) -> None:
    """Its node holds all its partitions: read for each of them, a start takes time by their square."""
    logs = [make_log(tmp_path, topic, index) for topic in ("a", "b") for index in range(3)]
    store = ProcessStore.in_memory(lambda: 0)
    session = await store.session()
    await loading.prepare(session)
    await adopt(session, logs, "the-cluster", CONFIG, Random(0))
    counting = CountingStore(session)
    await adopt(counting, logs, "the-cluster", CONFIG, Random(0))
    assert [counting.read.count(znodes.topic_path(topic)) for topic in ("a", "b")] == [1, 1]
    await store.close()


async def test_ids_that_another_broker_gave_away_are_spent(tmp_path: Path) -> None:
    log = make_log(tmp_path, "t", 0)
    store = ProcessStore.in_memory(lambda: 0)
    session = await store.session()
    await loading.prepare(session)
    await adopt(session, [log], "the-cluster", CONFIG, Random(0))

    async def last_id() -> int:
        return decode_producer_ids((await session.get(PRODUCER_ID_BLOCK))[0]).last

    await adopt(session, [log], "the-cluster", CONFIG, Random(0))
    assert (await session.get(PRODUCER_ID_BLOCK))[0] == b""
    for producer_id, expected in ((3, 999), (999, 999), (1000, 1999), (5, 1999), (2**63 - 1, 1999)):
        append(log, 0, producer_id)
        await adopt(session, [log], "the-cluster", CONFIG, Random(0))
        assert await last_id() == expected
    await store.close()


async def test_ids_that_a_client_made_up_are_not_adopted(tmp_path: Path) -> None:
    log = make_log(tmp_path, "t", 0)
    append(log, 0, 7)
    append(log, 0, 2**63 - 1)
    assert (await adopted([log]))["/latest_producer_id_block"]["block_end"] == "999"


async def test_logs_that_the_store_does_not_know_are_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = ProcessStore.in_memory(lambda: 0)
    session = await store.session()
    await loading.prepare(session)
    await adopt(session, [], "the-cluster", CONFIG, Random(0))
    await adopt(session, [make_log(tmp_path, "t", 0)], "the-cluster", CONFIG, Random(0))
    assert "t-0 is no partition that the metadata store knows: not served" in caplog.text
    await store.close()
