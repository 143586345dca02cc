"""More logs than open files: some close theirs, and go on where they were."""

from __future__ import annotations

import errno
import logging
import os
import resource
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kcompat import descriptors
from kcompat.log.append import WITHOUT_PROOF
from kcompat.log.errors import StorageError
from kcompat.log.files import FILES
from kcompat.log.loader import create_log
from kcompat.log.segment import Segment
from kcompat.records.batch import read_header
from support.default_settings import log_settings
from support.log_harness import make_batch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pytest

    from kcompat.log.log import Log

FILES_FOR_LOGS = 30


@contextmanager
def few_descriptors(more: int) -> Iterator[list[int]]:
    """Let this process have so many descriptors for logs beside those that it has.

    The descriptors in the list that it gives are closed at the end.
    """
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    # What earlier tests left open may leave gaps below it.
    highest = max(int(each.name) for each in Path("/dev/fd").iterdir())
    taken = []
    while (lowest := os.open(os.devnull, os.O_RDONLY)) < highest:
        taken.append(lowest)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, ((lowest + more) * 4 // 3 + 1, before[1]))
    try:
        yield taken
    finally:
        for descriptor in taken:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def logs_in(directory: Path, count: int) -> list[Log]:
    return [
        create_log(directory / f"t-{number}", "t", number, log_settings(), topic_id=bytes(16), now_ms=0)
        for number in range(count)
    ]


def append(log: Log) -> None:
    batch = memoryview(make_batch())
    assert not log.append_as_leader(batch, read_header(batch), 0, 1, WITHOUT_PROOF).error


def in_a_thread_of_its_own(work: Callable[[], None]) -> None:
    """Do it with a new register of kept files."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(work).result()


def write_in_turn(logs: list[Log]) -> None:
    with few_descriptors(FILES_FOR_LOGS):
        for _ in range(3):
            for log in logs:
                append(log)
                assert log.local.segments.active.file.fd < descriptors.most_for_logs()
        for log in logs:
            found = log.read(1, 1 << 20, log.log_end_offset)
            assert found is not None
            assert len(found) * 3 == log.size * 2


def test_more_logs_than_descriptors_are_written_to_in_turn(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    logs = logs_in(tmp_path, 2 * FILES_FOR_LOGS)
    with caplog.at_level(logging.WARNING):
        in_a_thread_of_its_own(lambda: write_in_turn(logs))
    for log in logs:
        assert log.log_end_offset == 3
        log.check_invariants()
    (warning,) = caplog.messages
    assert warning.startswith("descriptors run short (RLIMIT_NOFILE is ")


def take_all(taken: list[int]) -> None:
    """Take every descriptor that this process may still have."""
    while True:
        try:
            taken.append(os.open(os.devnull, os.O_RDONLY))
        except OSError:
            break


def write_without_any(first: Log, second: Log) -> None:
    with few_descriptors(FILES_FOR_LOGS) as taken:
        append(first)
        append(second)
        second.local.segments.active.let_go()
        take_all(taken)
        append(second)  # with the descriptor of the first
        append(first)


def test_the_last_descriptor_of_a_log_goes_from_one_to_the_next(tmp_path: Path) -> None:
    first, second = logs_in(tmp_path, 2)
    in_a_thread_of_its_own(lambda: write_without_any(first, second))
    assert [first.log_end_offset, second.log_end_offset] == [2, 2]


def test_segments_that_are_full_have_no_descriptor_to_give(tmp_path: Path) -> None:
    first, second = logs_in(tmp_path, 2)
    full = [Segment(FILES, f"{tmp_path}", number, log_settings(), 0) for number in range(300)]

    def work() -> None:
        for segment in full:
            segment.create()
            segment.retire()
        write_without_any(first, second)

    in_a_thread_of_its_own(work)
    assert [first.log_end_offset, second.log_end_offset] == [2, 2]


def test_a_fault_for_want_of_descriptors_names_the_limit() -> None:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    fault = StorageError("/d", OSError(errno.EMFILE, os.strerror(errno.EMFILE)))
    assert str(fault).endswith(f"Too many open files (RLIMIT_NOFILE is {limit})")
    assert "RLIMIT" not in str(StorageError("/d", OSError(errno.EIO, os.strerror(errno.EIO))))
    assert descriptors.explained(OSError(errno.EIO, "x")) == "x"
    assert descriptors.explained(OSError(errno.EMFILE, "x")) == f"x (RLIMIT_NOFILE is {limit})"
