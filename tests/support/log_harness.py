"""A partition's log in a temporary directory, and batches to put into it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kcompat.log.append import WITHOUT_PROOF
from kcompat.log.context import LogContext
from kcompat.log.loader import create_log, open_log
from kcompat.records.batch import build_batch, iter_headers, read_header
from kcompat.records.record import Record

if TYPE_CHECKING:
    from pathlib import Path

    from kcompat.log.append import AppendResult
    from kcompat.log.config import LogConfig
    from kcompat.log.files import Files
    from kcompat.log.log import Log

TOPIC_ID = bytes(range(16))
LAST_EPOCH = 2**31 - 1
"""For what a follower appends: no batch is of a later leader epoch."""


def make_batch(
    count: int = 1, *, timestamp: int = 1000, value: bytes = b"v" * 20, **options: Any
) -> bytearray:
    """A batch of `count` records with equal values and timestamps (ms); `options` as for `build_batch`."""
    return build_batch([Record(0, timestamp, b"k", value, ()) for _ in range(count)], **options)


class LogHarness:
    """A log under test, which can be dropped as a killed process would and opened again."""

    def __init__(
        self,
        directory: Path,
        config: LogConfig,
        files: Files | None = None,
        context: LogContext | None = None,
    ) -> None:
        """Create the log in `directory`/t-0."""
        self.directory = directory / "t-0"
        self.config = config
        plain = LogContext(str(directory)) if files is None else LogContext(str(directory), files)
        self.context = context or plain
        self.log = create_log(
            self.directory, "t", 0, config, topic_id=TOPIC_ID, now_ms=0, context=self.context
        )
        self.log.make()

    def append(self, count: int = 1, *, epoch: int = 0, now_ms: int = 1000, **options: Any) -> AppendResult:
        """Append a batch of `make_batch` as the leader."""
        batch = memoryview(make_batch(count, **options))
        return self.log.append_as_leader(batch, read_header(batch), epoch, now_ms, WITHOUT_PROOF)

    def reopen(self, *, clean: bool = False, recovery_point: int = 0, log_start_offset: int = 0) -> Log:
        """Open the directory anew; the old log is dropped, not closed, unless the caller closed it."""
        self.context = LogContext(self.context.path, self.context.files)
        self.log = open_log(
            self.directory,
            "t",
            0,
            self.config,
            now_ms=0,
            recovery_point=recovery_point,
            log_start_offset=log_start_offset,
            clean=clean,
            context=self.context,
        )
        return self.log

    def offsets(self, start: int | None = None) -> list[tuple[int, int]]:
        """(base, last) offset of every batch that reads from `start` on deliver."""
        offset = self.log.log_start_offset if start is None else start
        found = []
        while offset < self.log.log_end_offset:
            data = self.log.read(offset, 1 << 20, self.log.log_end_offset)
            if data is None:
                break
            for _, header in iter_headers(memoryview(data.read())):
                found.append((header.base_offset, header.last_offset))
                offset = header.next_offset
        return found

    def files(self) -> dict[str, bytes]:
        """The files of the partition, by name."""
        return {path.name: path.read_bytes() for path in sorted(self.directory.iterdir())}
