"""`add`, `records` and `topics` of an embedded broker and a cluster, compared with what a client sees."""

from __future__ import annotations

import os
import threading
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest

from kcompat import Broker, Cluster
from kcompat.errors import RequestError, UsageError
from kcompat.instrumentation.new_records import NewRecord
from kcompat.records.batch import build_batch
from kcompat.records.compression import Codec
from kcompat.records.conversion import encode_wrapper
from kcompat.records.message_set import encode_message
from kcompat.records.partitioner import partition_for_key
from kcompat.records.record import Record as LogRecord
from support.eventually import limit_s
from support.raw_client import RawClient
from support.raw_requests import create_topic, delete_records, fetch, produce, read_all

if TYPE_CHECKING:
    from collections.abc import Iterator

NOW_MS = 1_700_000_000_000


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(config={"num.partitions": 3}) as started:
        yield started


@pytest.fixture(scope="module")
def client(broker: Broker) -> Iterator[RawClient]:
    with connected(broker.bootstrap_servers) as client:
        yield client


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A name that no other test has."""
    return request.node.name.translate(str.maketrans("[]", "--"))[:200]  # type: ignore[no-any-return]


def connected(address: str) -> RawClient:
    host, _, port = address.rpartition(":")
    return RawClient((host, int(port)), limit_s(20))


def test_a_client_reads_what_was_added(broker: Broker, client: RawClient, topic: str) -> None:
    added = broker.add(topic, {"id": 1}, "key", {"h": "x", "n": None}, partition=1, timestamp=NOW_MS)
    assert (added.topic, added.partition, added.offset, added.timestamp) == (topic, 1, 0, NOW_MS)
    (read,) = read_all(client, topic, 1)
    assert read == LogRecord(0, NOW_MS, b"key", b'{"id":1}', (("h", b"x"), ("n", None)))
    tombstone = broker.add(topic, None, b"\xff", partition=1, timestamp=datetime(2020, 1, 1, tzinfo=UTC))
    assert list(read_all(client, topic, 1, 1)) == [LogRecord(1, tombstone.timestamp, b"\xff", None)]
    assert tombstone.timestamp == 1_577_836_800_000


def test_partitions_are_those_of_the_key_or_take_turns(broker: Broker, topic: str) -> None:
    assert [broker.add(topic, "v").partition for _ in range(6)] == [0, 1, 2, 0, 1, 2]
    for key in ("", "a", "21", "foobar"):
        assert broker.add(topic, "v", key).partition == partition_for_key(key.encode(), 3)


def test_many_are_added_in_few_batches_and_returned_in_order(
    broker: Broker, client: RawClient, topic: str
) -> None:
    added = broker.add_all(topic, [("k", "0"), "1", NewRecord("2", partition=2), "3"])
    assert [each.partition for each in added] == [partition_for_key(b"k", 3), 0, 2, 1]
    values = {(each.partition, each.offset): str(n).encode() for n, each in enumerate(added)}
    assert {(each.partition, each.offset): each.value for each in broker.records(topic)} == values
    big = broker.add_all(topic, [NewRecord(b"x" * 100_000, partition=0) for _ in range(30)])
    offsets = [each.offset for each in big]
    assert offsets == list(range(offsets[0], offsets[0] + 30))
    assert len(list(read_all(client, topic, 0))) == offsets[-1] + 1
    assert broker.add_all(topic, []) == []


def test_a_waiting_fetch_is_woken(broker: Broker, client: RawClient, topic: str) -> None:
    broker.add(topic, "before", partition=0)
    wait_ms = int(limit_s(60) * 1000)
    fetched: list[Any] = []
    waiting = threading.Thread(target=lambda: fetched.append(fetch(client, topic, 1, max_wait_ms=wait_ms)))
    waiting.start()
    while broker.add(topic, "after", partition=0) and not fetched:
        waiting.join(0.05)  # the fetch may be on its way
    waiting.join()
    assert fetched[0].records


@pytest.mark.parametrize(
    ("configs", "record", "message"),
    [
        ({"max.message.bytes": "100"}, "x" * 200, r"^MESSAGE_TOO_LARGE: .* max\.message\.bytes .* is 100$"),
        ({"cleanup.policy": "compact"}, "no key", "^INVALID_RECORD: partition 0 of "),
        ({"message.timestamp.after.max.ms": "1"}, NewRecord("v", timestamp=2**50), "^INVALID_TIMESTAMP: "),
    ],
    ids=["size", "key", "time"],
)
def test_records_that_the_topic_does_not_take(
    broker: Broker, client: RawClient, topic: str, configs: dict[str, str], record: Any, message: str
) -> None:
    assert create_topic(client, topic, configs=configs) == 0
    with pytest.raises(RequestError, match=message) as raised:
        broker.add_all(topic, [record])
    assert raised.value.name == message.split(":")[0][1:]
    assert broker.records(topic) == []


def test_the_brokers_time_is_returned(broker: Broker, client: RawClient, topic: str) -> None:
    assert create_topic(client, topic, configs={"message.timestamp.type": "LogAppendTime"}) == 0
    added = broker.add(topic, "v", timestamp=5)
    (read,) = broker.records(topic)
    assert (read.timestamp, read.timestamp_type) == (added.timestamp, "LogAppendTime")
    assert added.timestamp > NOW_MS


def test_what_cannot_be_added() -> None:
    with Broker(config={"auto.create.topics.enable": False}) as broker:
        with pytest.raises(
            UsageError, match=r"^there is no topic 't', and auto\.create\.topics\.enable is false"
        ):
            broker.add("t", "v")
        with pytest.raises(UsageError, match=r"^'a b' is not a name that topics can have: "):
            broker.add("a b", "v")
        with pytest.raises(UsageError, match=r"^None is not a name"):
            broker.add(None, "v")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="the broker is not started"):
        broker.add("t", "v")


@pytest.mark.parametrize("name", ["__consumer_offsets", "__transaction_state"])
def test_kafkas_own_topics_take_nothing(broker: Broker, name: str) -> None:
    with pytest.raises(RequestError, match=r"^INVALID_TOPIC_EXCEPTION: "):
        broker.add(name, "v")


@pytest.mark.parametrize("codec", list(Codec))
def test_records_of_clients_with_every_codec(
    broker: Broker, client: RawClient, topic: str, codec: Codec
) -> None:
    assert create_topic(client, topic) == 0
    records = [LogRecord(0, NOW_MS + n, b"k%d" % n, b"v" * 100, (("h", None),)) for n in range(50)]
    assert produce(client, topic, build_batch(records, codec=codec)).error_code == 0
    found = broker.records(topic)
    assert [(r.offset, r.timestamp, r.key, r.value, r.headers) for r in found] == [
        (n, each.timestamp, each.key, each.value, each.headers) for n, each in enumerate(records)
    ]


def test_messages_of_old_formats_in_a_directory_that_was_taken_over(tmp_path: Path) -> None:
    with Broker(data_dir=tmp_path) as broker:
        broker.add("orders", "replaced")
    inner = b"".join(encode_message(n, 1, 0, 10 + n, b"k", b"w%d" % n) for n in range(3))
    wrapper = encode_wrapper(inner, Codec.GZIP, 1, last_offset=4, attributes=0, timestamp=12)
    old = encode_message(0, 0, 0, -1, None, b"v0") + encode_message(1, 1, 0, 7, b"k", b"v1") + wrapper
    for path in [*(tmp_path / "orders-0").glob("*.*index"), *tmp_path.glob(".kafka_cleanshutdown")]:
        path.unlink()
    (tmp_path / "recovery-point-offset-checkpoint").unlink()
    (tmp_path / "orders-0" / f"{0:020}.log").write_bytes(old)
    with Broker(data_dir=tmp_path) as broker:
        broker.add("orders", "new", timestamp=NOW_MS)
        found = [(each.text, each.timestamp, each.timestamp_type) for each in broker.records("orders")]
        assert found == [
            ("v0", -1, "NoTimestampType"),
            ("v1", 7, "CreateTime"),
            *((f"w{n}", 10 + n, "CreateTime") for n in range(3)),
            ("new", NOW_MS, "CreateTime"),
        ]
        assert [each.text for each in broker.records("orders", start=3)] == ["w1", "w2", "new"]


def test_records_that_compaction_left(broker: Broker, client: RawClient, topic: str) -> None:
    """Offsets are missing within batches, between them, and at the end of segments."""
    assert create_topic(client, topic, 1, {"cleanup.policy": "compact", "segment.bytes": "14000"}) == 0
    for n in range(30):
        broker.add_all(topic, [(f"k{(n * n + m) % 23}", "x" * 100) for m in range(n % 12 + 1)])
    before = broker.records(topic)
    (compacted,) = broker.compact(topic)
    assert compacted.bytes_after < compacted.bytes_before
    seen = [(each.offset, each.key) for each in read_all(client, topic)]
    assert [(each.offset, each.key) for each in broker.records(topic)] == seen
    assert 23 <= len(seen) < len(before)
    for start in range(before[-1].offset + 2):
        expected = [offset for offset, _ in seen if offset >= start]
        assert [each.offset for each in broker.records(topic, start=start)] == expected


def test_a_damaged_log_is_reported() -> None:
    with TemporaryDirectory() as directory, Broker(data_dir=directory) as broker:
        broker.add_all("orders", ["a", "b"])
        with (Path(directory) / "orders-0" / f"{0:020}.log").open("r+b") as log:
            log.seek(-1, os.SEEK_END)
            log.write(b"\xff")
        damaged = r"^CORRUPT_MESSAGE: the log of partition 0 of 'orders' is damaged"
        with pytest.raises(RequestError, match=damaged):
            broker.records("orders")


def test_acls_do_not_apply() -> None:
    with Broker(acls=[]) as broker:
        broker.add("orders", "v")
        assert [each.text for each in broker.records("orders")] == ["v"]
        assert list(broker.topics()) == ["orders"]


def test_a_part_of_the_records(broker: Broker, client: RawClient, topic: str) -> None:
    broker.add_all(topic, [NewRecord(str(n), partition=n % 3) for n in range(9)])

    def values(*arguments: Any, **named: Any) -> list[str | None]:
        return [each.text for each in broker.records(topic, *arguments, **named)]

    assert values() == ["0", "3", "6", "1", "4", "7", "2", "5", "8"]
    assert values(1) == ["1", "4", "7"]
    assert values(start=2) == ["6", "7", "8"]
    assert values(limit=4) == ["0", "3", "6", "1"]
    assert values(0, start=1, limit=1) == ["3"]
    assert values(0, start=100) == values(limit=0) == []
    assert delete_records(client, topic, 2, 0).error_code == 0
    assert values(0) == ["6"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"topic": "order"}, "^there is no topic 'order': did you mean 'orders'"),
        ({"topic": "xyz"}, "^there is no topic 'xyz': the topics are '"),
        ({"partition": 3}, "^'orders' has no partition 3: it has 0 to 2$"),
        ({"isolation": "none"}, "^isolation='none' is not one of read_uncommitted, read_committed$"),
        ({"start": -1}, "^start=-1 is not possible: use a whole number from 0 on$"),
        ({"limit": "1"}, "^limit='1' is not possible"),
    ],
)
def test_what_cannot_be_read(broker: Broker, arguments: dict[str, Any], message: str) -> None:
    broker.add("orders", "v")
    with pytest.raises(UsageError, match=message):
        broker.records(**{"topic": "orders", **arguments})


def test_more_records_than_are_read_without_a_limit(broker: Broker, topic: str) -> None:
    broker.add_all(topic, [NewRecord("", partition=0)] * 100_001)
    with pytest.raises(
        UsageError, match="has more than 100,000 records: name a partition, a start or a limit"
    ):
        broker.records(topic)
    assert len(broker.records(topic, limit=200_000)) == 100_001
    assert [each.offset for each in broker.records(topic, start=99_999)] == [99_999, 100_000]


def test_topics(broker: Broker, client: RawClient, topic: str) -> None:
    assert create_topic(client, topic, 2, {"cleanup.policy": "compact", "max.message.bytes": "1000"}) == 0
    broker.add_all(topic, [NewRecord("v", "k", partition=1)] * 3)
    described = broker.topics()[topic]
    assert (described.name, described.is_internal) == (topic, False)
    assert described.overrides == {"cleanup.policy": "compact", "max.message.bytes": "1000"}
    assert described.configs["max.message.bytes"] == "1000"
    assert described.configs["retention.ms"] == "604800000"
    empty, full = described.partitions
    assert (empty.index, empty.leader, empty.replicas, empty.isr, empty.size) == (0, 1, (1,), (1,), 0)
    assert (full.start_offset, full.end_offset, full.high_watermark, full.last_stable_offset) == (0, 3, 3, 3)
    assert full.size > 0
    assert repr(described).splitlines()[0] == f"<Topic {topic} {described.overrides}"
    assert "\n  1: leader=1 isr=[1] offsets=0..3 size=" in repr(described)


def test_kafkas_own_topics_are_left_out_unless_asked_for(broker: Broker, client: RawClient) -> None:
    broker.add("orders", "v")
    assert not any(topic.is_internal for topic in broker.topics().values())
    assert "orders" in broker.topics(internal=True)


def test_a_cluster_without_one_of_its_brokers() -> None:
    config = {"default.replication.factor": 3, "num.partitions": 3, "min.insync.replicas": 1}
    with Cluster(3, config=config) as cluster:
        before = cluster.add_all("orders", [str(n) for n in range(6)])
        assert {each.partition for each in before} == {0, 1, 2}
        lost = cluster.leader_of("orders", 0)
        cluster.brokers[lost].stop()
        cluster.add("orders", "after", partition=0)
        assert sorted(each.text or "" for each in cluster.records("orders")) == [*"012345", "after"]
        leaders = {each.leader for each in cluster.topics()["orders"].partitions}
        assert leaders <= {0, 1, 2} - {lost}


def test_a_cluster_whose_leader_was_killed_just_now() -> None:
    """Both calls wait for the election, as clients do."""
    with Cluster(3, config={"default.replication.factor": 3, "min.insync.replicas": 1}) as cluster:
        cluster.add("orders", "before")
        for value in ("first", "second"):
            cluster.wait_until_in_sync(limit_s(30))
            lost = cluster.leader_of("orders", 0)
            cluster.brokers[lost].kill()
            if value == "first":
                cluster.add("orders", value)
                cluster.brokers[lost].start()
        assert [each.text for each in cluster.records("orders")] == ["before", "first"]


def test_a_leader_that_is_killed_before_its_followers_have_the_record() -> None:
    with Cluster(3, config={"default.replication.factor": 3, "min.insync.replicas": 1}) as cluster:
        cluster.add("orders", "before")
        cluster.wait_until_in_sync(limit_s(30))
        leader = cluster.brokers[cluster.leader_of("orders", 0)]
        with ExitStack() as faults:
            for follower in (each.id for each in cluster.brokers if each is not leader):
                client_id = f"broker-{follower}-fetcher-0"
                faults.enter_context(leader.faults.drop("Fetch", served=False, client_id=client_id))
            killing = threading.Timer(0.1, leader.kill)
            killing.start()
            with pytest.raises(RequestError, match=r"^NETWORK_EXCEPTION: .* may be lost or not$"):
                cluster.add("orders", "unconfirmed")
            killing.join()
        assert cluster.records("orders")[0].text == "before"


def test_a_partition_whose_brokers_are_gone() -> None:
    with Cluster(2, config={"num.partitions": 2}) as cluster:
        cluster.add_all("orders", ["a", "b"])
        lost = cluster.leader_of("orders", 0)
        cluster.brokers[lost].stop()
        with pytest.raises(
            RequestError, match=f"^LEADER_NOT_AVAILABLE: partition 0 .* brokers \\({lost}\\)$"
        ):
            cluster.records("orders")
        with pytest.raises(RequestError, match=r"^LEADER_NOT_AVAILABLE"):
            cluster.add("orders", "v", partition=0)
        assert [each.text for each in cluster.records("orders", 1)] == ["b"]
        assert cluster.add("orders", "c").partition == 1
        gone, there = cluster.topics()["orders"].partitions
        assert (gone.leader, gone.end_offset, there.end_offset) == (-1, -1, 2)
        cluster.brokers[1 - lost].stop()
        with pytest.raises(UsageError, match="no broker of the cluster is running: start one first"):
            cluster.topics()
