"""Batches that unpack to a hundred megabytes are unpacked beside the event loop: no other client waits for
it, and one connection's batches are still appended in the order in which they were sent.
"""

from __future__ import annotations

import random
import select
import threading
import time
from typing import TYPE_CHECKING

import pytest

from kcompat import Broker, capabilities
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.records.batch import build_batch
from kcompat.records.compression import Codec
from kcompat.records.conversion import encode_wrapper
from kcompat.records.message_set import encode_message
from kcompat.records.record import Record
from support.eventually import Patience
from support.kcompat_broker import KcompatBroker
from support.raw_client import RawClient
from support.raw_requests import create_topic, init_producer_id, produce, read_all

if TYPE_CHECKING:
    from collections.abc import Iterator

MIB = 1 << 20
NOW = int(time.time() * 1000)
TEXT = random.Random(0).randbytes(32_000) * 30
"""Most of a MB; gzip makes 30 KB of it, and a helper unpacks them."""
MESSAGES = 1_500_000 if capabilities.native("kcompat.records._native") else 900_000
"""In a bomb of an old format: so many that it takes seconds, whoever counts them."""
ENOUGH = 10
"""Requests that are answered while one bomb goes off. It was one, the one that waited for the bomb."""
UNPACKED_S = 90
"""Without extensions, on a busy machine, a bomb takes longer than a stop waits."""


def wrapper_bomb(magic: int) -> bytes:
    inner = encode_message(0, magic, 0, NOW, None, b"") * MESSAGES
    return encode_wrapper(inner, Codec.GZIP, magic, last_offset=MESSAGES - 1, attributes=0, timestamp=NOW)


def batch_bomb(codec: Codec) -> bytes:
    return bytes(build_batch([Record(0, NOW, None, bytes(96 * MIB))], codec=codec))


def produce_request(topic: str, records: bytes, acks: int = 1) -> ProduceRequest:
    data = ProduceRequest.PartitionProduceData(index=0, records=memoryview(records))
    topics = [ProduceRequest.TopicProduceData(name=topic, partition_data=[data])]
    return ProduceRequest(acks=acks, timeout_ms=5000, topic_data=topics)


@pytest.fixture(scope="module")
def broker() -> Iterator[KcompatBroker]:
    with KcompatBroker() as broker:
        yield broker


def connect(broker: KcompatBroker) -> RawClient:
    return RawClient(("127.0.0.1", broker.port), timeout_s=60)


def values(client: RawClient, topic: str) -> list[bytes | None]:
    return [record.value for record in read_all(client, topic)]


@pytest.mark.parametrize(
    ("name", "version"), [("v0", 0), ("v1", 2), ("v2-gzip", 9), ("v2-lz4", 9)], ids=lambda each: str(each)
)
def test_others_are_served_while_a_bomb_goes_off(broker: KcompatBroker, name: str, version: int) -> None:
    bomb = {
        "v0": lambda: wrapper_bomb(0),
        "v1": lambda: wrapper_bomb(1),
        "v2-gzip": lambda: batch_bomb(Codec.GZIP),
        "v2-lz4": lambda: batch_bomb(Codec.LZ4),
    }[name]()
    small = build_batch([Record(0, NOW, None, b"small")])
    with connect(broker) as attacker, connect(broker) as neighbour:
        assert create_topic(neighbour, f"bombs-{name}", configs={"max.message.bytes": "1000000"}) == 0
        assert create_topic(neighbour, f"small-{name}") == 0
        produce(neighbour, f"small-{name}", small)
        for _ in range(2):
            attacker.send(produce_request(f"bombs-{name}", bomb), version)
            served = 0
            while not select.select([attacker._socket], [], [], 0)[0]:
                assert produce(neighbour, f"small-{name}", small).error_code == 0
                served += 1
            answer = attacker.receive(ProduceRequest, version)
            (row,) = answer.responses[0].partition_responses
            refusals = (ErrorCode.INVALID_RECORD, ErrorCode.MESSAGE_TOO_LARGE)
            assert row.error_code in refusals or name == "v2-lz4"
            assert served > ENOUGH


def test_what_one_producer_sends_at_once_is_appended_in_its_order(broker: KcompatBroker) -> None:
    with connect(broker) as client:
        assert create_topic(client, "ordered") == 0
        producer_id, epoch = init_producer_id(client)
        sent: list[bytes] = []
        for sequence in range(24):
            large = sequence % 3 == 0
            sent.append(b"%02d" % sequence + (TEXT if large else b""))
            batch = build_batch(
                [Record(0, NOW, None, sent[-1])],
                codec=Codec.GZIP if large else Codec.NONE,
                producer_id=producer_id,
                producer_epoch=epoch,
                base_sequence=sequence,
            )
            client.send(produce_request("ordered", batch, acks=-1), 9)
        for offset in range(24):
            (row,) = client.receive(ProduceRequest, 9).responses[0].partition_responses
            assert (row.error_code, row.base_offset) == (0, offset)
        assert values(client, "ordered") == sent


def test_without_acks_all_is_appended_in_order_though_the_client_has_gone(broker: KcompatBroker) -> None:
    sent = [b"%02d" % number + (TEXT if number % 2 == 0 else b"") for number in range(12)]
    with connect(broker) as client:
        assert create_topic(client, "unacknowledged") == 0
    with connect(broker) as client:
        for value in sent:
            codec = Codec.GZIP if len(value) > 2 else Codec.NONE
            batch = build_batch([Record(0, NOW, None, value)], codec=codec)
            client.send(produce_request("unacknowledged", batch, acks=0), 9)
    with connect(broker) as client:
        patience = Patience(30)
        while len(found := values(client, "unacknowledged")) < len(sent):
            assert patience.lasts, found
        assert found == sent


def test_a_stop_in_the_middle_of_a_bomb_is_clean_and_leaves_no_thread() -> None:
    bomb = batch_bomb(Codec.GZIP)
    before = set(threading.enumerate())
    with Broker() as broker:
        host, _, port = broker.bootstrap_servers.rpartition(":")
        address = (host, int(port))
        with RawClient(address) as attacker, RawClient(address) as neighbour:
            assert create_topic(neighbour, "bombs") == 0
            attacker.send(produce_request("bombs", bomb), 9)
            while not any(each.name.startswith("kcompat-long") for each in threading.enumerate()):
                produce(neighbour, "bombs", build_batch([Record(0, NOW, None, b"small")]))
            broker.stop()
    for left in set(threading.enumerate()) - before:
        left.join(UNPACKED_S)
    assert set(threading.enumerate()) <= before
