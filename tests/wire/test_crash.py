"""`kill -9` and clean stops at random moments under load, and what must be there after the restart.

Every actor works on something of its own until the broker dies under it, remembers what was acknowledged
and what may have happened, and after each restart says whether the broker remembers the same.
"""

from __future__ import annotations

import random
import subprocess
import threading
import time
from typing import TYPE_CHECKING

import pytest

from kcompat import capabilities
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.describe_groups import DescribeGroupsRequest
from kcompat.protocol.messages.heartbeat import HeartbeatRequest
from kcompat.protocol.messages.join_group import JoinGroupRequest
from kcompat.protocol.messages.sync_group import SyncGroupRequest
from kcompat.records.batch import build_batch
from kcompat.records.compression import Codec
from kcompat.records.record import Record
from support.kcompat_broker import KcompatBroker
from support.raw_client import RawClient
from support.raw_requests import (
    ACKS_ALL,
    commit_offset,
    committed_offset,
    create_topic,
    delete_records,
    delete_topic,
    describe_topic,
    earliest_offset,
    fetch,
    find_coordinator,
    init_producer_id,
    produce,
    read_all,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROUNDS = 8 if capabilities.native("kcompat.records._native") else 3
"""Without extensions each takes three times as long."""
SMALL_SEGMENTS = {"segment.bytes": "65536", "index.interval.bytes": "1024"}
BUSY_RETENTION = {"log.initial.task.delay.ms": "0", "log.retention.check.interval.ms": "100"}
RETRIABLE = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE)


def now_ms() -> int:
    return int(time.time() * 1000)


class Actor:
    """Does one thing over and over: `step` until the connection breaks, `verify` at a new broker."""

    steps = 0

    def prepare(self, client: RawClient) -> None:
        """Once, before the first step."""

    def step(self, client: RawClient, number: int) -> None:
        """One acknowledged thing more."""
        raise NotImplementedError

    def verify(self, client: RawClient) -> None:
        """Everything acknowledged is there, and nothing that was never asked for."""
        raise NotImplementedError

    def run(self, address: tuple[str, int], failures: list[BaseException]) -> None:
        try:
            with RawClient(address) as client:
                while True:
                    self.step(client, self.steps)
                    self.steps += 1
        except ConnectionError:
            pass
        except BaseException as error:
            failures.append(error)


class Producer(Actor):
    """Writes batches of numbered values to a partition of its own, sending each batch once."""

    configs = SMALL_SEGMENTS

    def __init__(self, topic: str, acks: int, codec: Codec) -> None:
        self.topic, self.acks, self.codec = topic, acks, codec
        self.acknowledged: dict[int, bytes] = {}
        self.sent: set[bytes] = set()

    def prepare(self, client: RawClient) -> None:
        assert create_topic(client, self.topic, configs=self.configs) == 0

    def step(self, client: RawClient, number: int) -> None:
        values = [
            b"%d-%d-%d" % (number, len(self.sent), index) + b"." * 100 for index in range(number % 7 + 1)
        ]
        self.sent.update(values)
        batch = build_batch([Record(0, now_ms(), None, value) for value in values], codec=self.codec)
        answer = produce(client, self.topic, batch, acks=self.acks)
        assert answer.error_code == 0
        self.acknowledged.update(enumerate(values, answer.base_offset))

    def verify(self, client: RawClient) -> None:
        stored = {record.offset: record.value for record in read_all(client, self.topic)}
        assert list(stored) == list(range(len(stored)))
        assert len(set(stored.values())) == len(stored)
        assert set(stored.values()) <= self.sent
        assert self.acknowledged.items() <= stored.items()


class RetainedProducer(Producer):
    """Writes to a topic whose old segments go all the time."""

    configs = SMALL_SEGMENTS | {"retention.bytes": "200000", "file.delete.delay.ms": "50"}

    def verify(self, client: RawClient) -> None:
        start = self._start_at_rest(client)
        stored = {record.offset: record.value for record in read_all(client, self.topic, offset=start)}
        assert list(stored) == list(range(start, start + len(stored)))
        assert set(stored.values()) <= self.sent
        kept = {offset: value for offset, value in self.acknowledged.items() if offset >= start}
        assert kept.items() <= stored.items()
        assert sum(map(len, stored.values())) > 100_000 or start == 0

    def _start_at_rest(self, client: RawClient) -> int:
        """Where the log starts once retention has nothing left to do."""
        start = -1
        while start != (now := earliest_offset(client, self.topic)):
            start = now
            time.sleep(0.25)
        return start


class IdempotentProducer(Actor):
    """Sends a batch again after a crash until it is acknowledged: each is stored exactly once, in order."""

    topic = "idempotent"

    def prepare(self, client: RawClient) -> None:
        assert create_topic(client, self.topic, configs=SMALL_SEGMENTS) == 0
        self.producer_id, self.producer_epoch = init_producer_id(client)

    def step(self, client: RawClient, number: int) -> None:
        batch = build_batch(
            [Record(0, now_ms(), None, b"%d" % (2 * number + index)) for index in range(2)],
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=2 * number,
        )
        answer = produce(client, self.topic, batch, acks=ACKS_ALL)
        assert (answer.error_code, answer.base_offset) == (0, 2 * number)

    def verify(self, client: RawClient) -> None:
        values = [record.value for record in read_all(client, self.topic)]
        assert values == [b"%d" % index for index in range(len(values))]
        assert 2 * self.steps <= len(values) <= 2 * self.steps + 2


class Committer(Actor):
    """Commits rising offsets for a group that has no members."""

    group, topic = "committing-group", "committed-topic"

    def prepare(self, client: RawClient) -> None:
        assert find_coordinator(client, self.group) == 0
        assert create_topic(client, self.topic) == 0

    def step(self, client: RawClient, number: int) -> None:
        assert commit_offset(client, self.group, self.topic, number, metadata=f"m{number}") == 0

    def verify(self, client: RawClient) -> None:
        found = committed_offset(client, self.group, self.topic)
        while found.error_code in RETRIABLE:
            time.sleep(0.01)
            found = committed_offset(client, self.group, self.topic)
        assert found.error_code == 0
        assert self.steps - 1 <= found.committed_offset <= self.steps
        assert found.metadata == (f"m{found.committed_offset}" if self.steps else "")
        self.steps = found.committed_offset + 1


class Creator(Actor):
    """Creates topics, and deletes every third of them again."""

    def step(self, client: RawClient, number: int) -> None:
        name = self._name(number)
        assert create_topic(client, name, partitions=2) in (0, ErrorCode.TOPIC_ALREADY_EXISTS)
        if number % 3 == 2:
            assert delete_topic(client, name) == 0
        time.sleep(0.02)

    def verify(self, client: RawClient) -> None:
        for number in range(self.steps):
            found = describe_topic(client, self._name(number))
            if number % 3 == 2:
                assert found.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            else:
                assert (found.error_code, len(found.partitions)) == (0, 2)
                assert produce(client, found.name, build_batch([Record(0, 0, None, b"v")])).error_code == 0

    def _name(self, number: int) -> str:
        return f"created-{number}"


class Deleter(Actor):
    """Writes records and deletes all but the last few again."""

    topic = "shortened"

    def prepare(self, client: RawClient) -> None:
        assert create_topic(client, self.topic, configs=SMALL_SEGMENTS) == 0
        self.low_watermark = self.end = 0

    def step(self, client: RawClient, number: int) -> None:
        answer = produce(client, self.topic, build_batch([Record(0, now_ms(), None, b"v" * 500)] * 10))
        assert answer.error_code == 0
        self.end = answer.base_offset + 10
        deleted = delete_records(client, self.topic, answer.base_offset - 5) if number else None
        if deleted is not None:
            assert deleted.error_code == 0
            self.low_watermark = deleted.low_watermark

    def verify(self, client: RawClient) -> None:
        fetched = fetch(client, self.topic, self.end)
        assert fetched.error_code == 0
        assert self.low_watermark <= fetched.log_start_offset <= self.end
        assert fetched.high_watermark >= self.end
        if self.low_watermark:
            too_old = fetch(client, self.topic, self.low_watermark - 1)
            assert too_old.error_code == ErrorCode.OFFSET_OUT_OF_RANGE


class Member(Actor):
    """The only member of a group, whose generation and assignment outlive the broker."""

    group = "group-with-a-member"

    def prepare(self, client: RawClient) -> None:
        assert find_coordinator(client, self.group) == 0
        protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"\x00\x00meta")
        joined = client.call(
            JoinGroupRequest(
                group_id=self.group,
                session_timeout_ms=60_000,
                rebalance_timeout_ms=60_000,
                protocol_type="consumer",
                protocols=[protocol],
            ),
            2,
        )
        assert joined.error_code == 0
        self.member_id, self.generation = joined.member_id, joined.generation_id
        self.assignment = b"\x00\x00assigned"
        synced = client.call(
            SyncGroupRequest(
                group_id=self.group,
                generation_id=self.generation,
                member_id=self.member_id,
                assignments=[SyncGroupRequest.SyncGroupRequestAssignment(self.member_id, self.assignment)],
            ),
            2,
        )
        assert (synced.error_code, synced.assignment) == (0, self.assignment)

    def step(self, client: RawClient, number: int) -> None:
        assert self._heartbeat(client) == 0
        time.sleep(0.01)

    def verify(self, client: RawClient) -> None:
        while (error := self._heartbeat(client)) in RETRIABLE:
            time.sleep(0.01)
        assert error == 0
        group = client.call(DescribeGroupsRequest(groups=[self.group]), 4).groups[0]
        assert (group.error_code, group.group_state, group.protocol_data) == (0, "Stable", "range")
        member = group.members[0]
        assert (member.member_id, member.member_assignment) == (self.member_id, self.assignment)

    def _heartbeat(self, client: RawClient) -> int:
        request = HeartbeatRequest(
            group_id=self.group, generation_id=self.generation, member_id=self.member_id
        )
        return int(client.call(request, 2).error_code)


def actors() -> list[Actor]:
    return [
        Producer("acks-1", 1, Codec.NONE),
        Producer("acks-all", ACKS_ALL, Codec.NONE),
        Producer("acks-all-lz4", ACKS_ALL, Codec.LZ4),
        RetainedProducer("retained", ACKS_ALL, Codec.NONE),
        IdempotentProducer(),
        Committer(),
        Creator(),
        Deleter(),
        Member(),
    ]


@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    "end",
    [KcompatBroker.kill, pytest.param(KcompatBroker.stop, marks=pytest.mark.thorough("the same with kills"))],
    ids=["kill", "stop"],
)
def test_nothing_acknowledged_is_lost(end: Callable[[KcompatBroker], None], tmp_path: Path) -> None:
    rng = random.Random()
    cast = actors()
    broker = KcompatBroker(BUSY_RETENTION, data_dir=tmp_path)
    with broker:
        address = ("127.0.0.1", broker.port)
        with RawClient(address) as client:
            for actor in cast:
                actor.prepare(client)
        for _ in range(ROUNDS):
            failures: list[BaseException] = []
            threads = [threading.Thread(target=actor.run, args=(address, failures)) for actor in cast]
            for thread in threads:
                thread.start()
            time.sleep(rng.uniform(0.1, 1.5))
            end(broker)
            for thread in threads:
                thread.join()
            assert failures == []
            broker.start()
            with RawClient(address) as client:
                for actor in cast:
                    actor.verify(client)
        assert all(actor.steps >= ROUNDS for actor in cast)


@pytest.mark.timeout(120)
def test_killed_while_it_starts(tmp_path: Path) -> None:
    """A broker that dies during its recovery, again and again, recovers at last."""
    rng = random.Random()
    cast: list[Actor] = [Producer("acks-all", ACKS_ALL, Codec.NONE), Committer()]
    broker = KcompatBroker(data_dir=tmp_path)
    with broker:
        address = ("127.0.0.1", broker.port)
        with RawClient(address) as client:
            for actor in cast:
                actor.prepare(client)
                for number in range(200):
                    actor.step(client, number)
                actor.steps = 200
        broker.kill()
        for _ in range(6):
            doomed = subprocess.Popen(broker.command(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(rng.uniform(0.05, 0.5))
            doomed.kill()
            doomed.wait()
        broker.start()
        with RawClient(address) as client:
            for actor in cast:
                actor.verify(client)
