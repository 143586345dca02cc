"""Produce: what is taken, what is refused, and the sequences of idempotent producers."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from crc32c import crc32c

from differential.catalogue import scenario
from differential.play import batch
from differential.transactions import with_internal_topics
from kcompat.protocol.api_keys import ApiKey
from kcompat.records.compression import Codec

if TYPE_CHECKING:
    from differential.play import Play

PRODUCE, FETCH = ApiKey.PRODUCE, ApiKey.FETCH

# Where a batch keeps its fields, and their types.
BASE_OFFSET, LENGTH, LEADER_EPOCH, MAGIC = (0, ">q"), (8, ">i"), (12, ">i"), (16, ">b")
CRC, ATTRIBUTES, LAST_OFFSET_DELTA = (17, ">I"), (21, ">h"), (23, ">i")
BASE_TIMESTAMP, MAX_TIMESTAMP, COUNT = (27, ">q"), (35, ">q"), (57, ">i")
RECORDS_AT = 61


def patched(data: bytes, *changes: tuple[tuple[int, str], int], seal: bool = True) -> bytes:
    """A batch with fields changed, and unless told otherwise with a CRC that agrees."""
    changed = bytearray(data)
    for (position, code), value in changes:
        struct.pack_into(code, changed, position, value)
    if seal:
        struct.pack_into(">I", changed, CRC[0], crc32c(bytes(changed[ATTRIBUTES[0] :])))
    return bytes(changed)


def produce(
    play: Play,
    version: int,
    topic: str,
    data: bytes | None,
    *,
    partition: int = 0,
    acks: int = 1,
    **options: Any,
) -> Any:
    """Produce one batch."""
    rows = [{"name": topic, "partition_data": [{"index": partition, "records": data}]}]
    return play.call(PRODUCE, version, acks=acks, timeout_ms=5000, topic_data=rows, **options)


def stored(play: Play, topic: str, partition: int = 0) -> None:
    """Record what the partition holds."""
    wanted = {"partition": partition, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
    fields = {"max_wait_ms": 0, "max_bytes": 1 << 20, "topics": [{"topic": topic, "partitions": [wanted]}]}
    play.call(FETCH, 11, **fields)


@scenario(PRODUCE)
def produce_with_each_acks(play: Play, version: int) -> None:
    topic = play.topic(partitions=2)
    for acks in (1, -1, 2, -2, 7):
        produce(play, version, topic, batch(b"one", b"two"), acks=acks)
    produce(play, version, topic, batch(b"one", b"two"), acks=-1, partition=1)
    play.call(PRODUCE, version, acks=1, timeout_ms=5000, topic_data=[])
    stored(play, topic)


@scenario(PRODUCE)
def produce_with_too_few_replicas(play: Play, version: int) -> None:
    topic = play.topic(min_insync_replicas="2")
    for acks in (1, -1):
        produce(play, version, topic, batch(b"one"), acks=acks)
    stored(play, topic)


@scenario(PRODUCE)
def produce_without_an_answer(play: Play, version: int) -> None:
    topic = play.topic()
    rows = [{"name": topic, "partition_data": [{"index": 0, "records": batch(b"one")}]}]
    play.send(PRODUCE, version, acks=0, timeout_ms=5000, topic_data=rows)
    play.call(ApiKey.API_VERSIONS, 0, trim=lambda answer: answer.api_keys.clear())
    stored(play, topic)
    rows = [{"name": play.name("absent"), "partition_data": [{"index": 0, "records": batch(b"one")}]}]
    play.send(PRODUCE, version, acks=0, timeout_ms=5000, topic_data=rows)
    play.reply("a failure with acks=0")


@scenario(PRODUCE)
def produce_every_codec(play: Play, version: int) -> None:
    topic = play.topic()
    for codec in Codec:
        produce(play, version, topic, batch(b"x" * 300, b"y" * 300, codec=codec), acks=-1)
    produce(play, version, topic, batch(None, b"", key=None))


@scenario(PRODUCE)
def produce_to_unknown_places(play: Play, version: int) -> None:
    with_internal_topics(play)
    topic = play.topic()
    for name in (play.name("absent"), "no good", "", "a" * 250):
        produce(play, version, name, batch(b"one"))
    for partition in (1, -1, 2**31 - 1):
        produce(play, version, topic, batch(b"one"), partition=partition)
    for name in ("__consumer_offsets", "__transaction_state"):
        produce(play, version, name, batch(b"one"))


@scenario(PRODUCE)
def produce_many_partitions_at_once(play: Play, version: int) -> None:
    first, second = play.topic("a", partitions=2), play.topic("b", max_message_bytes="200")
    good, long = batch(b"one"), batch(b"x" * 300)

    def rows(name: str, *data: tuple[int, bytes]) -> dict[str, Any]:
        return {"name": name, "partition_data": [{"index": index, "records": item} for index, item in data]}

    for acks in (1, -1):
        topics = [
            rows(first, (0, good), (1, good), (2, good)),
            rows(second, (0, long)),
            rows("a/b", (0, good)),
        ]
        play.call(PRODUCE, version, acks=acks, timeout_ms=5000, topic_data=topics)


@scenario(PRODUCE)
def produce_to_one_partition_twice(play: Play, version: int) -> None:
    topic = play.topic()
    data = [{"index": 0, "records": batch(b"one")}, {"index": 0, "records": batch(b"two", b"three")}]
    play.call(PRODUCE, version, acks=1, timeout_ms=5000, topic_data=[{"name": topic, "partition_data": data}])
    stored(play, topic)


@scenario(PRODUCE)
def produce_at_the_size_limit(play: Play, version: int) -> None:
    topic = play.topic(max_message_bytes="200")
    for size in (125, 126, 127, 128, 129, 130, 131, 132, 133, 134, 200, 2000):
        produce(play, version, topic, batch(b"x" * size))


@scenario(PRODUCE)
def produce_nothing(play: Play, version: int) -> None:
    topic = play.topic()
    produce(play, version, topic, b"")
    stored(play, topic)


@scenario(PRODUCE, since=11, until=12)
def produce_null(play: Play, version: int) -> None:
    topic = play.topic()
    produce(play, version, topic, None, patience_s=1)
    stored(play, topic)


@scenario(PRODUCE)
def produce_batches_cut_short(play: Play, version: int) -> None:
    topic = play.topic()
    whole = batch(b"one", b"two")
    for size in (1, 11, 12, 16, 17, 60, 61, len(whole) - 1):
        produce(play, version, topic, whole[:size])
    produce(play, version, topic, whole + b"tail")
    produce(play, version, topic, whole + whole)
    stored(play, topic)


@scenario(PRODUCE)
def produce_damaged_headers(play: Play, version: int) -> None:
    topic = play.topic()
    whole = batch(b"one", b"two")
    produce(play, version, topic, patched(whole, (CRC, 1), seal=False))
    for change in (
        (BASE_OFFSET, 5), (BASE_OFFSET, -1), (LENGTH, 0), (LENGTH, 48), (LENGTH, len(whole) + 5),
        (LENGTH, -1),
        (LEADER_EPOCH, 7), (MAGIC, 3), (MAGIC, -1), (ATTRIBUTES, 0x20), (ATTRIBUTES, 0x80),
        (ATTRIBUTES, 0x40),
        (LAST_OFFSET_DELTA, 0), (LAST_OFFSET_DELTA, 2), (LAST_OFFSET_DELTA, -1),
        (COUNT, 0), (COUNT, 1), (COUNT, 3), (COUNT, -1), (COUNT, 2**31 - 1),
        (BASE_TIMESTAMP, -5), (BASE_TIMESTAMP, -1),
    ):  # fmt: skip
        produce(play, version, topic, patched(whole, change))


@scenario(PRODUCE)
def produce_old_magic(play: Play, version: int) -> None:
    topic = play.topic()
    for magic in (0, 1):
        produce(play, version, topic, patched(batch(b"one", b"two"), (MAGIC, magic)))


@scenario(PRODUCE)
def produce_damaged_records(play: Play, version: int) -> None:
    topic = play.topic()
    whole = batch(b"one", b"two")
    for position, value in ((RECORDS_AT, 0x7F), (RECORDS_AT, 1), (RECORDS_AT + 4, 0x7E), (RECORDS_AT + 3, 6)):
        produce(play, version, topic, patched(whole, ((position, ">B"), value)))
    for codec in (1, 2, 3, 4, 5, 7):
        produce(play, version, topic, patched(whole, (ATTRIBUTES, codec)))


@scenario(PRODUCE)
def produce_lying_offset_deltas(play: Play, version: int) -> None:
    topic = play.topic()
    whole = batch(b"one", b"two")
    second = whole.index(b"one") + 4 + 3
    produce(play, version, topic, patched(whole, ((second, ">B"), 0)))
    produce(play, version, topic, patched(whole, ((second, ">B"), 8)))


@scenario(PRODUCE)
def produce_to_a_compacted_topic(play: Play, version: int) -> None:
    topic = play.topic(cleanup_policy="compact")
    produce(play, version, topic, batch(b"one", b"two"))
    produce(play, version, topic, batch(b"one", b"two", key=None))
    produce(play, version, topic, batch(b"one", b"two", key=None, codec=Codec.GZIP))
    stored(play, topic)


@scenario(PRODUCE)
def produce_with_log_append_time(play: Play, version: int) -> None:
    topic = play.topic(message_timestamp_type="LogAppendTime")
    produce(play, version, topic, batch(b"one", b"two"))
    produce(play, version, topic, batch(b"one", b"two", log_append_time=5000))
    stored(play, topic)
    plain = play.topic("plain")
    produce(play, version, plain, batch(b"one", b"two", log_append_time=5000))
    stored(play, plain)
    # Kafka notes a time in its index that none of the records has: its own tool finds fault with that.
    play.do(ApiKey.DELETE_TOPICS, 4, topic_names=[plain], timeout_ms=10_000)


@scenario(PRODUCE)
def produce_far_from_now(play: Play, version: int) -> None:
    limits = {"message_timestamp_before_max_ms": "1000", "message_timestamp_after_max_ms": "1000"}
    topic = play.topic(**limits)
    produce(play, version, topic, batch(b"one", b"two"))
    produce(play, version, topic, batch(b"one", b"two", times=[2**60, 2**60]))
    produce(play, version, topic, batch(b"one", times=[-1]))
    anything = play.topic("anything")
    produce(play, version, anything, batch(b"one", times=[-1]))
    produce(play, version, anything, batch(b"one", times=[-5]))
    produce(play, version, anything, batch(b"one", times=[2**62]))


@scenario(PRODUCE)
def produce_under_a_topics_codec(play: Play, version: int) -> None:
    for codec in ("gzip", "snappy", "lz4", "zstd", "uncompressed"):
        topic = play.topic(codec, compression_type=codec)
        for sent in (Codec.NONE, Codec.GZIP, Codec.SNAPPY):
            produce(play, version, topic, batch(b"x" * 100, b"y" * 100, codec=sent), acks=-1)

        def without_bytes(answer: Any) -> None:
            answer.responses[0].partitions[0].records = None

        wanted = {"partition": 0, "fetch_offset": 3, "partition_max_bytes": 1 << 20}
        fields = {
            "max_wait_ms": 0,
            "max_bytes": 1 << 20,
            "topics": [{"topic": topic, "partitions": [wanted]}],
        }
        play.call(FETCH, 11, trim=without_bytes, **fields)


# Idempotent producers


def producer(play: Play) -> int:
    """A fresh producer id, once the broker has a block of them."""
    answers = []

    def given() -> bool:
        answers.append(
            play.do(ApiKey.INIT_PRODUCER_ID, 0, transactional_id=None, transaction_timeout_ms=1000)
        )
        return not answers[-1].error_code

    play.until(given, "there are producer ids")
    return int(answers[-1].producer_id)


@scenario(PRODUCE)
def idempotent_sequences(play: Play, version: int) -> None:
    topic = play.topic()
    pid = producer(play)

    def send(sequence: int, epoch: int = 0, count: int = 2) -> None:
        values = [b"v%d" % index for index in range(count)]
        identity = {"producer_id": pid, "producer_epoch": epoch, "base_sequence": sequence}
        produce(play, version, topic, batch(*values, **identity), acks=-1)

    for sequence in (0, 2, 4, 6, 8, 10, 12):
        send(sequence)
    for duplicate in (12, 10, 4, 2, 0):
        send(duplicate)
    send(12, count=1)
    send(13)
    send(20)
    send(15)
    send(5, epoch=1)
    send(0, epoch=1)
    send(0, epoch=1)
    send(14, epoch=0)
    send(3, epoch=1)
    send(2, epoch=1)
    stored(play, topic)


@scenario(PRODUCE)
def idempotent_producer_nobody_knows(play: Play, version: int) -> None:
    topic = play.topic()
    pid = producer(play) + 500_000
    for sequence, epoch in ((7, 3), (9, 3), (20, 3), (0, 4)):
        identity = {"producer_id": pid, "producer_epoch": epoch, "base_sequence": sequence}
        produce(play, version, topic, batch(b"one", b"two", **identity), acks=-1)


@scenario(PRODUCE)
def idempotent_fields_that_do_not_fit(play: Play, version: int) -> None:
    topic = play.topic()
    pid = producer(play)
    for identity in (
        {"producer_id": pid, "producer_epoch": 0, "base_sequence": -1},
        {"producer_id": pid, "producer_epoch": -1, "base_sequence": 0},
        {"producer_id": pid, "producer_epoch": -1, "base_sequence": -1},
        {"producer_id": -1, "producer_epoch": 0, "base_sequence": 0},
        {"producer_id": -2, "producer_epoch": 0, "base_sequence": 0},
    ):
        produce(play, version, topic, batch(b"one", b"two", **identity), acks=-1)


@scenario(PRODUCE)
def idempotent_sequences_wrap(play: Play, version: int) -> None:
    topic = play.topic()
    pid = producer(play) + 600_000
    for sequence in (2**31 - 3, 2**31 - 1, 1, 0):
        identity = {"producer_id": pid, "producer_epoch": 0, "base_sequence": sequence}
        produce(play, version, topic, batch(b"one", b"two", **identity), acks=-1)


@scenario(PRODUCE)
def transactional_batches_without_a_transaction(play: Play, version: int) -> None:
    topic = play.topic()
    pid = producer(play)
    identity = {"producer_id": pid, "producer_epoch": 0, "base_sequence": 0}
    produce(play, version, topic, batch(b"one", transactional=True, **identity))
    produce(play, version, topic, batch(b"one", **identity), transactional_id="tx")
    produce(play, version, topic, batch(b"one"), transactional_id="tx")


@scenario(ApiKey.DESCRIBE_PRODUCERS)
def describe_producers(play: Play, version: int) -> None:
    topic = play.topic(partitions=2)
    pid = producer(play)
    for sequence, epoch in ((0, 0), (2, 0), (0, 1)):
        identity = {"producer_id": pid, "producer_epoch": epoch, "base_sequence": sequence}
        play.append(topic, b"one", b"two", **identity)
    play.call(ApiKey.DESCRIBE_PRODUCERS, version, topics=[{"name": topic, "partition_indexes": [0, 1, 5]}])
    for name in (play.name("absent"), "no good"):
        play.call(ApiKey.DESCRIBE_PRODUCERS, version, topics=[{"name": name, "partition_indexes": [0]}])
    play.call(ApiKey.DESCRIBE_PRODUCERS, version, topics=[{"name": topic, "partition_indexes": []}])


@scenario(ApiKey.INIT_PRODUCER_ID)
def init_producer_id(play: Play, version: int) -> None:
    init = ApiKey.INIT_PRODUCER_ID
    producer(play)
    play.call(init, version, transactional_id=None, transaction_timeout_ms=1000)
    play.call(init, version, transactional_id=None, transaction_timeout_ms=1000)
    for timeout in (0, -1, 2**31 - 1):
        play.call(init, version, transactional_id=None, transaction_timeout_ms=timeout)
    play.call(init, version, transactional_id="", transaction_timeout_ms=1000)


@scenario(ApiKey.INIT_PRODUCER_ID, since=3)
def init_producer_id_again(play: Play, version: int) -> None:
    init = ApiKey.INIT_PRODUCER_ID
    pid = producer(play)
    for producer_id, epoch in ((pid, 0), (pid, 5), (pid, -1), (-1, 0), (-1, 5), (-2, -2), (pid, 32767)):
        fields = {"producer_id": producer_id, "producer_epoch": epoch, "transaction_timeout_ms": 1000}
        play.call(init, version, transactional_id=None, **fields)
