"""A broker's life that touches files in every way there is: three starts, a clean stop, a kill."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

from kcompat.controller.values import PartitionsSpec, TopicSpec
from kcompat.group.requests import CommitRequest, OffsetToCommit
from kcompat.log.append import BY_COORDINATOR, WITHOUT_PROOF, AppendTerms
from kcompat.records.batch import build_batch, read_header
from kcompat.records.compression import Codec
from kcompat.records.control import ControlType, EndTransactionMarker, build_marker
from kcompat.records.record import Record
from kcompat.topics import CONSUMER_OFFSETS
from support.crash_ledger import Ledger, facts_of
from support.disk import Disk, tree_of
from support.log_harness import LAST_EPOCH
from support.lone_broker import BrokerFixture
from support.recorded_files import RecordingFiles, memory_directory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kcompat.log.log import Log
    from support.disk import DiskOperation
    from support.storage_workers import LazyWorker

SETTINGS = {
    "offsets.topic.num.partitions": "1",
    "offsets.topic.segment.bytes": "400",
    "log.cleaner.min.cleanable.ratio": "0.01",
    "log.segment.delete.delay.ms": "1000",
}
"""The configuration of the broker whose life is recorded."""

START_MS = 1_700_000_000_000
MINUTE_MS = 60_000
SMALL = {"segment.bytes": "400", "index.interval.bytes": "0"}
TOPICS = {
    "plain": SMALL,
    "keyed": {**SMALL, "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"},
    "synced": {**SMALL, "flush.messages": "1"},
    "stamped": {**SMALL, "message.timestamp.type": "LogAppendTime", "preallocate": "true"},
    "retained": {**SMALL, "retention.bytes": "500"},
    "cut": SMALL,
    "doomed": SMALL,
}
CODECS = (Codec.NONE, Codec.GZIP, Codec.NONE, Codec.ZSTD)


class Life:
    """The broker of the moment, what was done to its files, and what it held after each step."""

    def __init__(self, home: Path, worker: type[LazyWorker]) -> None:
        self.ledger = Ledger()
        self.kinds: Counter[str] = Counter()
        """How many file operations each kind of step took."""
        self._home = home
        self._files = RecordingFiles(home)
        self.operations = self._files.operations
        self._worker = worker
        self._fixture: BrokerFixture
        self._values = 0
        self._now_ms = START_MS

    def _done(self, kind: str) -> None:
        """A step has ended."""
        operations = len(self.operations)
        self.kinds[kind] += operations - sum(self.kinds.values())
        self.ledger.note(operations, facts_of(self._fixture))

    async def live(self) -> None:
        """From the first start to a kill in the third life."""
        await self._start("first start")
        await self._first_life()
        await self._fixture.stop()
        operations = len(self.operations)
        self.kinds["clean stop"] += operations - sum(self.kinds.values())
        await self._start("start after a clean stop")
        await self._second_life()
        self._fixture.kill()
        await self._start("start after a kill")
        await self._append("plain")
        self._work()
        self._fixture.kill()

    async def _start(self, kind: str) -> None:
        disk = Disk(self.operations)
        self._fixture = BrokerFixture(
            self._home,
            SETTINGS,
            disk,
            self.operations,
            self._now_ms,
            files=self._files,
            worker=self._worker,
        )
        await self._fixture.start()
        self._done(kind)

    async def _first_life(self) -> None:
        await self._create("plain", "keyed", "synced", "retained", "doomed", "cut")
        for _ in range(11):
            await self._append("cut")
        for number in range(6):
            await self._append("plain", codec=CODECS[number % 4], count=1 + number % 3, producer_id=3)
            await self._append("synced")
        await self._transactions()
        await self._commit(5)
        self._delete_records("plain", 3)
        self._pass(5_000, "high watermark checkpoint")
        self._write_keys()
        self._pass(MINUTE_MS, "clean, swap and checkpoints")
        self._work()
        for _ in range(8):
            await self._append("retained")
        await self._append("doomed")
        self._work()
        await self._delete("doomed")
        await self._create("doomed")
        await self._append("doomed")
        self._pass(5 * MINUTE_MS, "retention and deletion")
        self._work()
        await self._commit(7)

    async def _second_life(self) -> None:
        await self._create("stamped")
        for _ in range(5):
            await self._append("stamped", producer_id=9)
        await self._append("cut")
        await self._grow("plain", 2)
        self._cut()
        self._write_keys()
        await self._append("synced", count=3)
        self._pass(MINUTE_MS, "clean, swap and checkpoints")
        self._work()
        self._pass(MINUTE_MS, "checkpoints")
        await self._delete("retained")
        await self._commit(8)
        for _ in range(3):
            await self._append("plain", producer_id=3)

    # -- steps -----------------------------------------------------------------------------------------------

    def _log(self, topic: str) -> Log:
        log = self._fixture.logs.get(topic, 0)
        assert log is not None
        return log

    def _work(self) -> None:
        """Let the storage thread catch up."""
        self._fixture.work()
        self._fixture.clock.advance()
        self._done("storage thread")

    def _pass(self, ms: int, kind: str) -> None:
        """Let time pass; a step for each timer that is due."""
        clock = self._fixture.clock
        end_ms = clock.now_ms() + ms
        while (due_ms := clock.next_due_ms()) is not None and due_ms <= end_ms:
            clock.advance(max(due_ms - clock.now_ms(), 0))
            self._done(kind)
        clock.advance(end_ms - clock.now_ms())
        self._now_ms = clock.now_ms()

    async def _create(self, *topics: str) -> None:
        for topic in topics:
            spec = TopicSpec(topic, 1, 1, configs=list(TOPICS[topic].items()))
            (result,) = await self._fixture.answer(self._fixture.decisions.create_topics([spec]))
            assert not result.error, result
            self._done("create topic")
        self._pass(100, "create topic")

    async def _grow(self, topic: str, count: int) -> None:
        outcome = await self._fixture.answer(
            self._fixture.decisions.create_partitions([PartitionsSpec(topic, count)])
        )
        assert not outcome[topic].error
        self._done("create partition")
        self._pass(100, "create partition")

    async def _delete(self, topic: str) -> None:
        outcome = await self._fixture.answer(self._fixture.decisions.delete_topics([topic]))
        assert not outcome[topic].error
        self._done("delete topic")

    async def _append(
        self, topic: str, *, count: int = 1, codec: Codec = Codec.NONE, producer_id: int = -1
    ) -> None:
        self._values += 1
        now_ms = self._fixture.clock.now_ms()
        records = [Record(0, now_ms, None, b"%d." % self._values + b"v" * 30) for _ in range(count)]
        sequence = self._next_sequence(topic, producer_id)
        epoch = min(sequence, 0)
        self._send(
            topic,
            build_batch(
                records, codec=codec, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence
            ),
        )

    def _next_sequence(self, topic: str, producer_id: int) -> int:
        """-1 if there is no producer."""
        if producer_id < 0:
            return -1
        producers = self._log(topic).producers
        return next((entry.last_sequence + 1 for entry in producers if entry.producer_id == producer_id), 0)

    def _send(self, topic: str, batch: bytearray, terms: AppendTerms = WITHOUT_PROOF) -> None:
        partition = self._fixture.replicas.get(topic, 0)
        assert partition is not None
        view = memoryview(batch)
        now_ms = self._fixture.clock.now_ms()
        result = partition.append(view, read_header(view), -1, now_ms, terms)
        assert not isinstance(result, int), result
        assert not result.error
        self._done("append and roll")

    def _end_transaction(self, topic: str, producer_id: int, kind: ControlType) -> None:
        marker = build_marker(
            EndTransactionMarker(kind, 0),
            producer_id=producer_id,
            producer_epoch=0,
            timestamp=self._fixture.clock.now_ms(),
            leader_epoch=0,
        )
        self._send(topic, marker, BY_COORDINATOR)

    async def _transactions(self) -> None:
        for topic in ("plain", "keyed"):
            for producer_id, kind in ((7, ControlType.ABORT), (8, ControlType.COMMIT)):
                for _ in range(2):
                    await self._append_key(topic, producer_id)
                self._end_transaction(topic, producer_id, kind)

    async def _append_key(self, topic: str, producer_id: int) -> None:
        record = Record(0, self._fixture.clock.now_ms(), b"transactional", b"%d" % producer_id)
        self._send(
            topic,
            build_batch(
                [record],
                producer_id=producer_id,
                producer_epoch=0,
                base_sequence=self._next_sequence(topic, producer_id),
                transactional=True,
            ),
        )

    def _write_keys(self) -> None:
        for number in range(14):
            self._values += 1
            key, value = b"key-%d" % (number % 4), b"%d" % self._values + b"." * 40
            record = Record(0, self._fixture.clock.now_ms(), key, None if number == 5 else value)
            self._send("keyed", build_batch([record]))

    async def _commit(self, offset: int) -> None:
        errors = await self._fixture.answer(self._fixture.decisions.ensure_topics([CONSUMER_OFFSETS]))
        assert not any(errors.values())
        self._done("create topic")
        for number in range(3):
            request = CommitRequest(f"group-{number % 2}", (OffsetToCommit("plain", 0, offset + number),))
            outcome = await self._fixture.answer(self._fixture.groups.commit(request))
            assert not any(outcome.values()), outcome
            self._done("commit offsets")

    def _delete_records(self, topic: str, offset: int) -> None:
        partition = self._fixture.replicas.get(topic, 0)
        assert partition is not None
        assert partition.delete_records_before(offset) == (0, offset)
        self._done("delete records")

    def _cut(self) -> None:
        """Change a log as a follower does: cut it, append batches from a leader, begin anew."""
        log = self._log("cut")
        for offset in (10, 2):  # in the newest segment; and far below it, so that others go
            self._truncate(log.truncate_to, offset)
            for base in range(offset, offset + 9):
                self._follow(log, base, epoch=min((base - offset) // 3, 1))
        self._truncate(log.truncate_to, log.local.segments.base_offsets[-1] + 1)
        self._follow(log, log.log_end_offset, epoch=1)
        self._truncate(log.truncate_fully_and_start_at, 40)
        for base in (40, 41, 42, 43):
            self._follow(log, base, epoch=1)

    def _truncate(self, cut: Callable[[int], object], offset: int) -> None:
        partition = self._fixture.replicas.get("cut", 0)
        assert partition is not None
        partition.state.high_watermark = min(partition.high_watermark, offset)
        cut(offset)
        partition.state.high_watermark = max(partition.high_watermark, partition.log.log_start_offset)
        self._done("truncate")

    def _follow(self, log: Log, base: int, *, epoch: int) -> None:
        self._values += 1
        record = Record(0, self._fixture.clock.now_ms(), None, b"%d" % self._values)
        batch = build_batch([record], base_offset=base, leader_epoch=epoch)
        assert not log.append_as_follower(
            memoryview(batch), leader_epoch=LAST_EPOCH, now_ms=self._fixture.clock.now_ms()
        ).error
        self._done("append as follower")


def recorded_life(worker: type[LazyWorker]) -> tuple[Life, list[DiskOperation]]:
    """A whole life with a quick or a slow storage thread."""
    with memory_directory() as home:
        life = Life(home, worker)
        asyncio.run(life.live())
        assert Disk(life.operations).tree() == tree_of(home), "a change of a file went by unseen"
        return life, list(life.operations)
