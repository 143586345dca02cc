"""Fetches by clients before 0.11: batches v2 sent as messages of magic 0 and 1, in each codec of that age."""

from __future__ import annotations

import random
import time
from functools import partial
from typing import TYPE_CHECKING

import frames
from report import Figure
from system import Stopwatch
from trial import Measure

from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.records.batch import build_batch
from kcompat.records.compression import Codec
from kcompat.records.message_set import read_messages
from kcompat.records.record import Record
from support.raw_client import RawClient, request_frame

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trial import Numbers, Trial

SIZES = (100, 1024)
VERSIONS = {0: 1, 1: 3}
"""The newest version of Fetch for each magic."""
ANSWER_BYTES = 2_000_000
BATCH_BYTES = 100_000
"""Bytes of the records in one batch."""
FETCHES = {Codec.NONE: 100, Codec.SNAPPY: 25, Codec.LZ4: 25, Codec.GZIP: 4}
"""About half a second of work for each codec."""

_random = random.Random(1)  # the same text in every run
_WORDS = [bytes(_random.choices(range(97, 123), k=_random.randint(3, 9))) for _ in range(500)]


def down_conversion(trial: Trial, size: int, codec: Codec) -> Numbers:
    """Answers of 2 MB to one connection that asks again and again, in both old formats."""
    numbers: Numbers = {}
    with trial.topic(1) as topic:
        _fill(trial, topic, size, codec)
        for magic, version in VERSIONS.items():
            expected = _check(trial, topic, version, magic)
            request = _fetch(topic, version)
            count = trial.count(FETCHES[codec])
            with Stopwatch(trial.broker.pid) as watch:
                load = trial.generator.run(trial.broker.port, [request], connections=1, depth=1, count=count)
            if load.smallest < ANSWER_BYTES * 0.9:
                raise RuntimeError(f"{trial.broker.name} answered a fetch with {load.smallest} bytes")
            megabytes = count * expected * size / 1e6
            name = _name(size, codec, magic)
            numbers |= {name: megabytes / load.seconds, f"{name}-cpu": watch.cpu / megabytes * 1e3}
    return numbers


def _fill(trial: Trial, topic: str, size: int, codec: Codec) -> None:
    """Store more than one answer holds."""
    now_ms = int(time.time() * 1000)
    records = [Record(0, now_ms + at, None, _text(size)) for at in range(BATCH_BYTES // size)]
    batch = build_batch(records, codec=codec)
    data = ProduceRequest.PartitionProduceData(index=0, records=memoryview(batch))
    topic_data = ProduceRequest.TopicProduceData(name=topic, partition_data=[data])
    request = ProduceRequest(acks=1, timeout_ms=frames.TIMEOUT_MS, topic_data=[topic_data])
    frame = request_frame(request, frames.PRODUCE_VERSION, correlation_id=1, client_id="bench")
    count = ANSWER_BYTES // len(batch) + 2
    trial.generator.run(trial.broker.port, [frame], connections=1, depth=1, count=count)


def _text(size: int) -> bytes:
    """Words, which compress to something like a half."""
    return b" ".join(_random.choices(_WORDS, k=size // 4))[:size]


def _fetch(topic: str, version: int) -> bytes:
    request = frames.fetch_request(topic, 0, ANSWER_BYTES)
    return request_frame(request, version, correlation_id=1, client_id="bench")


def _check(trial: Trial, topic: str, version: int, magic: int) -> int:
    """How many records one answer carries, all of them in the old format."""
    with RawClient(("127.0.0.1", trial.broker.port)) as client:
        answer = client.call(frames.fetch_request(topic, 0, ANSWER_BYTES), version)
    data = answer.responses[0].partitions[0].records
    found = [message.magic for message in read_messages(data)]
    if set(found) != {magic}:
        raise RuntimeError(f"{trial.broker.name} answered Fetch v{version} with messages of {set(found)}")
    return len(found)


def _name(size: int, codec: Codec, magic: int) -> str:
    return f"down-{size}b-{codec.name.lower()}-{magic}"


def _figures() -> Iterator[Figure]:
    for size in SIZES:
        for codec in FETCHES:
            for magic in VERSIONS:
                name = _name(size, codec, magic)
                label = f"converted down to magic {magic}, {size} B, {codec.name.lower()}"
                yield Figure(name, label, "MB/s", ">= 1.0")
                yield Figure(f"{name}-cpu", "  broker CPU", "s per GB")


MEASURES = tuple(
    Measure(f"down-{size}b-{codec.name.lower()}", partial(down_conversion, size=size, codec=codec))
    for size in SIZES
    for codec in FETCHES
)
FIGURES = tuple(_figures())
"""MB are those of the values in the records, whatever they are packed in."""
