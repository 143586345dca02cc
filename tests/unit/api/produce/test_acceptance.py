"""Batches that take long to be accepted, with helpers that work when they are told to."""

from __future__ import annotations

import gc
import random
import struct
from typing import TYPE_CHECKING, NoReturn

import pytest

from kcompat.api.context import Busy
from kcompat.api.produce.acceptance import Acceptance
from kcompat.cluster.control_requests import Role
from kcompat.config.broker import BrokerConfig
from kcompat.config.topic import topic_config
from kcompat.net.answers import CLOSE
from kcompat.net.helpers import Lane
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import build_batch, read_header, seal
from kcompat.records.compression import Codec, compress
from kcompat.records.conversion import encode_wrapper
from kcompat.records.message_set import encode_message
from kcompat.records.record import Record
from kcompat.replication.replica_manager import ReplicaManager
from kcompat.replication.storage_config import log_config
from support.topics_on_disk import ME, MIB, NOW, TopicsFixture, batch, rows

if TYPE_CHECKING:
    from pathlib import Path


LINE = random.Random(0).randbytes(32_000)
ORDINARY = LINE * 32
"""1 MB, of which gzip makes 32 KB: for the short lane. Unpacked by another codec it is done on the loop."""
LARGE = ORDINARY * 8
"""For the long lane."""


@pytest.fixture
def broker(tmp_path: Path) -> TopicsFixture:
    broker = TopicsFixture(tmp_path)
    broker.create("t", partitions=3)
    return broker


def wrapper(value: bytes, codec: Codec, magic: int) -> bytes:
    inner = encode_message(0, magic, 0, NOW, None, value)
    return encode_wrapper(inner, codec, magic, last_offset=0, attributes=0, timestamp=NOW)


def test_what_is_not_compressed_is_appended_at_once(broker: TopicsFixture) -> None:
    answer = broker.produce((0, batch(LARGE[: 1000 * 1000])))
    assert rows(answer) == [(0, 0, 0)]
    assert not broker.helpers.waiting


@pytest.mark.parametrize("codec", [Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_an_ordinary_batch_of_a_quick_codec_is_appended_at_once(broker: TopicsFixture, codec: Codec) -> None:
    assert rows(broker.produce((0, batch(LINE * 20, codec)))) == [(0, 0, 0)]
    assert not broker.helpers.waiting


def test_a_small_gzip_is_appended_at_once(broker: TopicsFixture) -> None:
    assert rows(broker.produce((0, batch(LINE * 8, Codec.GZIP)))) == [(0, 0, 0)]
    assert not broker.helpers.waiting


def test_a_large_gzip_is_checked_by_a_helper_and_appended_after_it(broker: TopicsFixture) -> None:
    data = batch(ORDINARY, Codec.GZIP)
    answer = broker.produce((0, data))
    assert isinstance(answer, Busy)
    assert answer.holds == len(data)
    assert broker.values("t") == []
    assert broker.helpers.work() is Lane.SHORT
    assert rows(answer.outcome.value) == [(0, 0, 0)]
    assert broker.values("t") == [ORDINARY]


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_what_takes_long_goes_to_the_long_lane(broker: TopicsFixture, codec: Codec) -> None:
    broker.create("big", max_message_bytes=str(40 * MIB))
    value = LARGE * 3
    answer = broker.produce((0, batch(value, codec)), topic="big")
    lanes = [broker.helpers.work(), broker.helpers.work()]
    assert lanes == [Lane.SHORT, Lane.LONG]
    assert rows(answer.outcome.value) == [(0, 0, 0)]
    assert broker.values("big") == [value]


@pytest.mark.parametrize("magic", [0, 1])
def test_a_large_wrapper_of_an_old_format_is_converted_by_a_helper(broker: TopicsFixture, magic: int) -> None:
    answer = broker.produce((0, wrapper(ORDINARY, Codec.GZIP, magic)), version=magic + 1)
    assert isinstance(answer, Busy)
    while broker.helpers.waiting:
        broker.helpers.work()
    assert rows(answer.outcome.value) == [(0, 0, 0)]
    assert broker.values("t") == [ORDINARY]


@pytest.mark.parametrize("version", [1, 2, 9])
def test_compressing_for_the_topic_is_done_by_a_helper(broker: TopicsFixture, version: int) -> None:
    broker.create("packed", compression_type="gzip")
    data = batch(LINE * 8) if version == 9 else encode_message(0, version - 1, 0, NOW, None, LINE * 8)
    answer = broker.produce((0, data), topic="packed", version=version)
    assert isinstance(answer, Busy)
    broker.helpers.work()
    assert rows(answer.outcome.value) == [(0, 0, 0)]
    assert broker.values("packed") == [LINE * 8]
    assert broker.partition("packed").log.size < 8 * len(LINE)


def test_many_batches_of_one_request_share_what_is_compressed_on_the_loop(broker: TopicsFixture) -> None:
    broker.create("packed", partitions=6, compression_type="gzip")
    answer = broker.produce(*((index, batch(LINE)) for index in range(6)), topic="packed")
    assert [len(broker.values("packed", index)) for index in range(6)] == [1, 1, 1, 0, 0, 0]
    while broker.helpers.waiting:
        broker.helpers.work()
    assert rows(answer.outcome.value) == [(index, 0, 0) for index in range(6)]


@pytest.mark.parametrize(("level", "is_slow"), [("3", False), ("22", True)])
def test_compressing_at_a_slow_level_is_done_by_a_helper(
    broker: TopicsFixture, level: str, is_slow: bool
) -> None:
    broker.create("packed", compression_type="zstd", compression_zstd_level=level)
    answer = broker.produce((0, batch(LINE)), topic="packed")
    assert isinstance(answer, Busy) is is_slow
    while broker.helpers.waiting:
        broker.helpers.work()
    assert broker.values("packed") == [LINE]


def test_a_changed_level_is_that_of_the_next_batch_and_of_those_at_a_helper(broker: TopicsFixture) -> None:
    def configure(level: str) -> None:
        settings = {"compression.type": "gzip", "compression.gzip.level": level}
        broker.replicas.configure("packed", topic_config(BrokerConfig(), settings))

    def packed(value: bytes, meanwhile: str | None = None) -> bytes:
        log = broker.partition("packed").log
        before, end = log.size, log.log_end_offset
        answer = broker.produce((0, batch(value)), topic="packed")
        if meanwhile is not None:
            assert isinstance(answer, Busy)
            configure(meanwhile)
        while broker.helpers.waiting:
            broker.helpers.work()
        stored = log.read(end, 1 << 30, log.log_end_offset, True)
        assert stored is not None
        assert log.size - before == len(stored)
        return bytes(stored.read())[61:]

    small, large = (
        b" ".join(b"%d" % (n * n) for n in range(800)),
        b" ".join(b"%d" % (n * n) for n in range(40_000)),
    )
    broker.create("packed", compression_type="gzip", compression_gzip_level="1")
    assert packed(small) == compress(Codec.GZIP, batch(small)[61:], 1)
    configure("9")
    assert packed(small) == compress(Codec.GZIP, batch(small)[61:], 9)
    assert packed(large, meanwhile="1") == compress(Codec.GZIP, batch(large)[61:], 1)


def test_little_is_compressed_at_once(broker: TopicsFixture) -> None:
    broker.create("packed", compression_type="gzip")
    assert rows(broker.produce((0, batch(b"v" * 1000)), topic="packed")) == [(0, 0, 0)]


def test_a_refusal_of_a_helper_is_that_of_the_loop(broker: TopicsFixture) -> None:
    broker.create("compacted", cleanup_policy="compact")
    keyless = bytes(build_batch([Record(0, NOW, None, ORDINARY)], codec=Codec.GZIP))
    damaged = bytearray(batch(ORDINARY, Codec.GZIP))
    damaged[-1] ^= 1
    for topic, data, error in (
        ("compacted", keyless, ErrorCode.INVALID_RECORD),
        ("t", bytes(damaged), ErrorCode.CORRUPT_MESSAGE),
    ):
        answer = broker.produce((0, data), topic=topic)
        if isinstance(answer, Busy):
            broker.helpers.work()
            answer = answer.outcome.value
        assert rows(answer) == [(0, error, -1)]
        assert answer.responses[0].partition_responses[0].error_message


def test_batches_of_a_request_are_appended_in_its_order_and_answered_together(broker: TopicsFixture) -> None:
    answer = broker.produce(
        (0, batch(b"before")), (1, batch(ORDINARY, Codec.GZIP)), (2, batch(ORDINARY[1:], Codec.GZIP))
    )
    assert broker.values("t", 0) == [b"before"]
    assert len(broker.helpers.waiting) == 1
    broker.helpers.work()
    assert (broker.values("t", 1), broker.values("t", 2)) == ([ORDINARY], [])
    assert not answer.outcome.done
    broker.helpers.work()
    assert rows(answer.outcome.value) == [(0, 0, 0), (1, 0, 0), (2, 0, 0)]
    assert broker.values("t", 2) == [ORDINARY[1:]]


def test_what_stands_behind_a_large_batch_waits_for_it(broker: TopicsFixture) -> None:
    answer = broker.produce((1, batch(ORDINARY, Codec.GZIP)), (0, batch(b"behind")), (2, b"damaged"))
    assert broker.values("t", 0) == []
    broker.helpers.work()
    assert rows(answer.outcome.value) == [(1, 0, 0), (0, 0, 0), (2, ErrorCode.INVALID_RECORD, -1)]
    assert broker.values("t", 0) == [b"behind"]


def test_a_partition_named_twice_is_written_once(broker: TopicsFixture) -> None:
    answer = broker.produce(
        (0, batch(b"first")), (1, batch(b"other")), (0, batch(ORDINARY, Codec.GZIP)), (1, batch(b"another"))
    )
    broker.helpers.work()
    assert rows(answer.outcome.value) == [(0, 0, 0), (1, 0, 0)]
    assert (broker.values("t", 0), broker.values("t", 1)) == ([ORDINARY], [b"another"])


def test_many_batches_of_one_request_share_what_is_unpacked_on_the_loop(broker: TopicsFixture) -> None:
    broker.create("wide", partitions=8)
    data = batch(LINE * 10, Codec.ZSTD)
    answer = broker.produce(*((index, data) for index in range(8)), topic="wide")
    assert [len(broker.values("wide", index)) for index in range(8)] == [1, 1, 1, 1, 0, 0, 0, 0]
    while broker.helpers.waiting:
        broker.helpers.work()
    assert rows(answer.outcome.value) == [(index, 0, 0) for index in range(8)]


def test_work_of_several_requests_may_end_in_any_order(broker: TopicsFixture) -> None:
    first = broker.produce((0, batch(ORDINARY, Codec.GZIP)))
    second = broker.produce((1, batch(ORDINARY, Codec.GZIP)))
    broker.helpers.work(1)
    assert (first.outcome.done, second.outcome.done) == (False, True)
    broker.helpers.work()
    assert rows(first.outcome.value) == [(0, 0, 0)]


def test_without_acks_the_outcome_is_nothing(broker: TopicsFixture) -> None:
    answer = broker.produce((0, batch(ORDINARY, Codec.GZIP)), acks=0)
    broker.helpers.work()
    assert (answer.outcome.done, answer.outcome.value) == (True, None)
    assert broker.values("t") == [ORDINARY]


def test_without_acks_a_failure_closes(broker: TopicsFixture) -> None:
    answer = broker.produce((0, batch(ORDINARY, Codec.GZIP)), (7, batch(b"nowhere")), acks=0)
    broker.helpers.work()
    assert answer.outcome.value is CLOSE


def test_acks_of_all_replicas_are_waited_for_after_the_work(broker: TopicsFixture) -> None:
    broker.replicas.take_role("t", 0, Role(leader=ME, leader_epoch=1, isr=(ME,), replicas=(ME,)))
    partition = broker.partition("t")
    partition.log.durability.unsynced_from = 0  # as by flush.messages, until the device has it
    answer = broker.produce((0, batch(ORDINARY, Codec.GZIP)), acks=-1)
    broker.helpers.work()
    later = answer.outcome.value
    assert isinstance(later, Promise)
    assert not later.done
    partition.log.durability.unsynced_from = 2**63 - 1
    partition._synced()
    assert rows(later.value) == [(0, 0, 0)]


def test_a_topic_deleted_meanwhile_is_unknown(broker: TopicsFixture) -> None:
    answer = broker.produce((0, batch(ORDINARY, Codec.GZIP)))
    broker.cluster.image = broker.cluster.image.with_topics([], ["t"])
    broker.replicas.remove("t", 0)
    broker.helpers.work()
    assert rows(answer.outcome.value) == [(0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)]


def test_a_topic_id_that_has_gone_is_not_served_by_a_topic_of_that_name(broker: TopicsFixture) -> None:
    broker.create("x", topic_id=b"1" * 16)
    answer = broker.produce((0, batch(ORDINARY, Codec.GZIP)), topic="", version=13, topic_id=b"1" * 16)
    broker.replicas.remove("x", 0)
    broker.create("x", topic_id=b"2" * 16)
    broker.helpers.work()
    assert rows(answer.outcome.value) == [(0, ErrorCode.UNKNOWN_TOPIC_ID, -1)]
    assert broker.values("x") == []


def test_a_leadership_lost_meanwhile_is_told(broker: TopicsFixture) -> None:
    answer = broker.produce((0, batch(ORDINARY, Codec.GZIP)), version=10)
    broker.replicas.take_role("t", 0, Role(leader=2, leader_epoch=5, isr=(2,), replicas=(ME, 2)))
    broker.helpers.work()
    assert rows(answer.outcome.value) == [(0, ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)]
    (row,) = answer.outcome.value.responses[0].partition_responses
    assert (row.current_leader.leader_id, row.current_leader.leader_epoch) == (2, 5)


def test_settings_changed_meanwhile_are_obeyed(broker: TopicsFixture) -> None:
    answer = broker.produce((0, batch(ORDINARY, Codec.GZIP)))
    log = broker.partition("t").log
    log.config = log_config(topic_config(BrokerConfig(), {"max.message.bytes": "1000"}))
    while broker.helpers.waiting:
        broker.helpers.work()
    assert rows(answer.outcome.value) == [(0, ErrorCode.MESSAGE_TOO_LARGE, -1)]


def test_the_time_of_the_append_is_that_after_the_work(broker: TopicsFixture) -> None:
    broker.create("stamped", message_timestamp_type="LogAppendTime")
    answer = broker.produce((0, batch(ORDINARY, Codec.GZIP)), topic="stamped")
    broker.clock.advance(500)
    between = broker.produce((0, batch(b"small")), topic="stamped")
    broker.clock.advance(500)
    broker.helpers.work()
    answers = (between, answer.outcome.value)
    times = [each.responses[0].partition_responses[0].log_append_time_ms for each in answers]
    assert times == [NOW + 500, NOW + 1000]


def test_sequences_of_an_idempotent_producer_count_at_the_append(broker: TopicsFixture) -> None:
    def of_producer(value: bytes, sequence: int, codec: Codec = Codec.NONE) -> bytes:
        return batch(value, codec, producer_id=7, producer_epoch=0, base_sequence=sequence)

    answer = broker.produce((0, of_producer(ORDINARY, 0, Codec.GZIP)))
    broker.helpers.work()
    assert rows(answer.outcome.value) == [(0, 0, 0)]
    assert rows(broker.produce((0, of_producer(b"next", 1)))) == [(0, 0, 1)]
    again = broker.produce((0, of_producer(ORDINARY, 0, Codec.GZIP)))
    broker.helpers.work()
    assert rows(again.outcome.value) == [(0, 0, 0)]
    assert len(broker.values("t")) == 2


def test_a_bug_in_the_work_fails_the_outcome(broker: TopicsFixture) -> None:
    answer = broker.produce((0, batch(ORDINARY, Codec.GZIP)), (1, batch(b"behind")))
    broker.helpers.break_down()
    with pytest.raises(ZeroDivisionError):
        _ = answer.outcome.value
    assert broker.values("t", 1) == []


class BuggyReplicas(ReplicaManager):
    """The replicas of a broker with a bug."""

    def find(self, topic: str, partition: int) -> NoReturn:
        raise ZeroDivisionError


def test_a_bug_after_the_work_fails_the_outcome(broker: TopicsFixture) -> None:
    answer = broker.produce((0, batch(ORDINARY, Codec.GZIP)))
    broker.services.storage.replicas = BuggyReplicas(ME, broker.clock, broker.cluster)
    broker.helpers.work()
    with pytest.raises(ZeroDivisionError):
        _ = answer.outcome.value


def test_nothing_of_a_request_waits_for_the_garbage_collector(broker: TopicsFixture) -> None:
    broker.create("big", max_message_bytes=str(40 * MIB))
    data = batch(LARGE, Codec.GZIP)
    gc.collect()
    gc.disable()
    try:
        before = alive()
        answer = broker.produce((0, data), (0, data), topic="big")
        assert alive() > before
        while broker.helpers.waiting:
            broker.helpers.work()
        assert rows(answer.outcome.value) == [(0, 0, 0)]
        del answer
        assert alive() == before
    finally:
        gc.enable()


def alive() -> int:
    """How many objects there are that keep a request whose batches are unpacked elsewhere."""
    return sum(isinstance(found, (Acceptance, Busy, Promise)) for found in gc.get_objects())


def test_null_records_behind_a_large_batch(broker: TopicsFixture) -> None:
    answer = broker.produce((0, batch(ORDINARY, Codec.GZIP)), (1, None))
    broker.helpers.work()
    assert rows(answer.outcome.value) == [(0, 0, 0), (1, ErrorCode.INVALID_RECORD, -1)]


def test_a_lie_about_the_newest_timestamp_is_set_right_in_the_copy(broker: TopicsFixture) -> None:
    data = bytearray(batch(ORDINARY, Codec.GZIP))
    struct.pack_into(">q", data, 35, NOW + 5)
    seal(data, read_header(data).attributes)
    answer = broker.produce((0, bytes(data)))
    broker.helpers.work()
    assert rows(answer.outcome.value) == [(0, 0, 0)]
    newest = broker.partition("t").log.max_timestamp_offset()
    assert newest is not None
    assert newest.timestamp == NOW


def test_only_what_is_left_of_a_request_is_held(broker: TopicsFixture) -> None:
    large, behind = batch(ORDINARY, Codec.GZIP), batch(b"behind")
    answer = broker.produce((0, batch(LINE)), (1, large), (2, behind))
    assert answer.holds == len(large) + len(behind)
