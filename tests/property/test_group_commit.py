"""With `flush.messages=1` nothing is let go that a power cut could take, in whatever order things happen."""

from __future__ import annotations

import errno
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kcompat.log.context import LogContext
from kcompat.log.durability import NONE_WAITS
from kcompat.log.files import Files
from kcompat.log.loader import create_log
from kcompat.records.batch import read_header
from support.default_settings import log_settings
from support.fuzzing import examples
from support.log_harness import make_batch

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.log.files import OpenFile


class Device(Files):
    """Knows how many bytes of each file, by its inode, it has for certain."""

    def __init__(self) -> None:
        self.certain: dict[int, int] = {}
        self.is_broken = False

    def sync(self, file: OpenFile) -> None:
        if self.is_broken:
            raise OSError(errno.EIO, "broken")
        stat = Path(f"/proc/self/fd/{file.fd}").stat()
        self.certain[stat.st_ino] = stat.st_size

    def truncate(self, file: OpenFile, size: int) -> None:
        super().truncate(file, size)
        inode = Path(f"/proc/self/fd/{file.fd}").stat().st_ino
        self.certain[inode] = min(self.certain.get(inode, 0), size)

    def has(self, path: str, size: int) -> bool:
        return self.certain.get(Path(path).stat().st_ino, 0) >= size


class Threads(LogContext):
    """A sync has begun, then it is done, then the loop hears of it: each at a time of its own."""

    def __init__(self, path: str, files: Files) -> None:
        super().__init__(path, files)
        self.soon_due: list[Callable[[], object]] = []
        self.works: list[tuple[Callable[[], object], Callable[[], object] | None]] = []
        self.done: list[Callable[[], object]] = []

    def soon(self, callback: Callable[[], object]) -> None:
        self.soon_due.append(callback)

    def run(self, work: Callable[[], object]) -> None:
        self.works.append((work, None))

    def sync(self, work: Callable[[], object], then: Callable[[], object]) -> None:
        self.works.append((work, then))


class FlushedLog(RuleBasedStateMachine):
    """One log, its threads and its device."""

    @initialize(segment_bytes=st.sampled_from([300, 1000, 1 << 20]))
    def begin(self, segment_bytes: int) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="kcompat-"))
        self.device = Device()
        self.threads = Threads(str(self.home), self.device)
        config = log_settings(segment_bytes=segment_bytes, flush_messages=1)
        self.log = create_log(
            self.home / "t-0", "t", 0, config, topic_id=bytes(16), now_ms=0, context=self.threads
        )
        self.told = 0
        self.log.durability.on_synced = self._told

    def teardown(self) -> None:
        if hasattr(self, "home"):
            self.in_the_end_nothing_waits()
            shutil.rmtree(self.home)

    def in_the_end_nothing_waits(self) -> None:
        threads = self.threads
        for _ in range(100):
            for work, then in threads.works:
                work()
                threads.done += [then] if then is not None else []
            threads.works.clear()
            callbacks = threads.soon_due + threads.done
            threads.soon_due, threads.done = [], []
            for callback in callbacks:
                callback()
        assert not threads.works
        assert self.log.is_failed or self.log.durability.unsynced_from == NONE_WAITS

    def _told(self) -> None:
        self.told += 1

    @rule(count=st.integers(1, 5))
    def append(self, count: int) -> None:
        if not self.log.is_failed:
            batch = memoryview(make_batch(count))
            self.log.append_as_leader(batch, read_header(batch), 0, 1000)

    @precondition(lambda self: self.threads.soon_due)
    @rule()
    def end_the_iteration(self) -> None:
        self.threads.soon_due.pop(0)()

    @precondition(lambda self: self.threads.works)
    @rule(data=st.data())
    def finish_a_sync(self, data: st.DataObject) -> None:
        """Finish any pending sync: syncs of the log and of rolled segments run on different threads."""
        work, then = self.threads.works.pop(data.draw(st.integers(0, len(self.threads.works) - 1)))
        work()
        if then is not None:
            self.threads.done.append(then)

    @precondition(lambda self: self.threads.done)
    @rule()
    def hear_of_it(self) -> None:
        self.threads.done.pop(0)()

    @precondition(lambda self: not self.log.is_failed)
    @rule(share=st.floats(0, 1))
    def cut(self, share: float) -> None:
        self.log.truncate_to(int(self.log.log_end_offset * share))

    @precondition(lambda self: not self.log.is_failed and not self.device.is_broken)
    @rule()
    def flush_now(self) -> None:
        self.log.flush()

    @rule()
    def flush_by_time(self) -> None:
        self.log.durability.flush_if_due(self.log, 0)

    @precondition(lambda self: self.log.log_end_offset > 10)
    @rule()
    def break_the_device(self) -> None:
        self.device.is_broken = True

    @invariant()
    def what_is_let_go_is_on_the_device(self) -> None:
        if not hasattr(self, "log"):
            return
        free = max(min(self.log.durability.unsynced_from, self.log.log_end_offset), self.log.recovery_point)
        for segment in self.log.local.segments:
            if segment.base_offset < free:
                end, _ = segment.locate(free)
                assert self.device.has(segment.path + ".log", end), (segment.base_offset, free)

    @invariant()
    def whoever_waits_will_be_told(self) -> None:
        if not hasattr(self, "log") or self.log.durability.unsynced_from == NONE_WAITS or self.log.is_failed:
            return
        threads = self.threads
        assert threads.soon_due or threads.done or any(then is not None for _, then in threads.works)


TestFlushedLog = FlushedLog.TestCase
TestFlushedLog.settings = settings(max_examples=examples(200), stateful_step_count=40, deadline=None)
