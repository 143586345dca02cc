"""At the end of a test run Kafka's own tool reads every data directory that the tests left.

This is a plugin of pytest, made part of a run by the conftests of ``interop-tests/`` and ``tests/``.
What is looked at: the partition directories below the temporary directories of all tests (which pytest keeps
until the end) and below those that brokers made for themselves (which are kept for this). Two Java processes
read all of them; of partitions with the same content they read one. A complaint is an error of the last test.
Where tests run side by side each worker judges what its own tests left.

A test that leaves something wrong on purpose says so, for what lies in its `tmp_path`:

- ``@pytest.mark.leaves_damage("why")``: nothing there is looked at;
- ``@pytest.mark.leaves_gaps("why")``: offsets may be missing. They may, too, in a partition that the
  `cleaner-offset-checkpoint` beside it names: it was compacted.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kcompat.log.checkpoints import CheckpointDamaged, parse_offsets
from kcompat.log.names import CLEANER_OFFSETS, offset_of, parse_partition_directory
from support.kafka_jars import class_path, java
from support.kcompat_broker import KcompatBroker
from support.log_tools import INDEXES, OTHER_FILES, what_kafka_finds_wrong

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

DAMAGE, GAPS = "leaves_damage", "leaves_gaps"
MARKS = (
    f"{DAMAGE}(why): Kafka's DumpLogSegments is not shown what this test leaves",
    f"{GAPS}(why): offsets may be missing in what this test leaves",
)
DEEP_BYTES = 64 << 20
"""Partitions with more bytes than this are read without the records in their batches."""
_GAP = "Non-consecutive offsets in "
_SHOWN = 40


_EXCEPTED = pytest.StashKey[dict[Path, str]]()
"""Directories of tests that leave something wrong, and which mark says so."""


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_EXCEPTED] = {}
    for mark in MARKS:
        config.addinivalue_line("markers", mark)


def pytest_runtest_teardown(item: pytest.Item) -> None:
    path = item.funcargs.get("tmp_path") if isinstance(item, pytest.Function) else None
    if not isinstance(path, Path):
        return
    for mark in (GAPS, DAMAGE):
        if item.get_closest_marker(mark):
            item.config.stash[_EXCEPTED][path] = mark


@pytest.fixture(scope="session", autouse=True)
def kafka_finds_nothing_wrong(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Set up before all other fixtures, and so torn down after the last broker was stopped."""
    brokers = KcompatBroker.left_in = tmp_path_factory.mktemp("brokers")
    yield
    KcompatBroker.left_in = None
    if not request.session.shouldfail:
        excepted = request.config.stash[_EXCEPTED]
        complaints = _judge(tmp_path_factory.getbasetemp(), excepted)
        if complaints:
            shown = "\n".join(complaints[:_SHOWN])
            pytest.fail(f"Kafka's tool finds fault with what the tests left:\n{shown}", pytrace=False)
    shutil.rmtree(brokers)


def _judge(base: Path, excepted: Mapping[Path, str]) -> list[str]:
    """Return the complaints about the partitions below a directory."""
    partitions = _distinct({path: _may_have_gaps(path, excepted) for path in _partitions(base, excepted)})
    if not partitions:
        return []
    try:
        java(), class_path("3.9.2")
    except FileNotFoundError as missing:
        return [str(missing)] if "CI" in os.environ else []
    big = {path for path in partitions if _log_bytes(path) > DEEP_BYTES}
    wrong = what_kafka_finds_wrong(base, _files(base, (path for path in partitions if path not in big)))
    wrong += what_kafka_finds_wrong(base, _files(base, big), deep=False)
    fair = tuple(f"{_GAP}{path}/" for path, may_have_gaps in partitions.items() if may_have_gaps)
    return [line for line in wrong if not line.startswith(fair)]


def _partitions(base: Path, excepted: Mapping[Path, str]) -> Iterator[Path]:
    """The partition directories of all tests but those that leave damage."""
    for at, directories, files in os.walk(base):
        path = Path(at)
        if excepted.get(path) == DAMAGE:
            directories.clear()
        elif parse_partition_directory(path.name) and any(name.endswith(".log") for name in files):
            yield path


def _may_have_gaps(partition: Path, excepted: Mapping[Path, str]) -> bool:
    if any(excepted.get(parent) == GAPS for parent in partition.parents):
        return True
    try:
        compacted = parse_offsets((partition.parent / CLEANER_OFFSETS).read_bytes())
    except (FileNotFoundError, CheckpointDamaged):
        return False
    return parse_partition_directory(partition.name) in compacted


def _segment_files(partition: Path) -> list[Path]:
    suffixes = (*INDEXES, *OTHER_FILES)
    return sorted(
        path for path in partition.iterdir() if path.suffix in suffixes and offset_of(path.name) is not None
    )


def _files(base: Path, partitions: Iterable[Path]) -> list[str]:
    return [str(path.relative_to(base)) for partition in partitions for path in _segment_files(partition)]


def _log_bytes(partition: Path) -> int:
    return sum(path.stat().st_size for path in partition.glob("*.log"))


def _distinct(partitions: Mapping[Path, bool]) -> dict[Path, bool]:
    """Return the first of all partitions with the same files and the same permission to have gaps."""
    found: dict[bytes, Path] = {}
    for partition, may_have_gaps in partitions.items():
        digest = hashlib.sha256(bytes([may_have_gaps]))
        for path in _segment_files(partition):
            digest.update(f"{path.name} {path.stat().st_size}\n".encode())
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        found.setdefault(digest.digest(), partition)
    return {partition: partitions[partition] for partition in found.values()}
