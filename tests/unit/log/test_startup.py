"""Work that a crash left half done is completed or undone before logs are loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kcompat.log.files import FILES
from kcompat.log.startup import finish_interrupted_work, remove_orphans
from support.log_harness import make_batch

if TYPE_CHECKING:
    from pathlib import Path


def name(offset: int, suffix: str) -> str:
    return f"{offset:020d}{suffix}"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    for offset in (0, 10, 20):
        for suffix in (".log", ".index", ".timeindex"):
            (tmp_path / name(offset, suffix)).write_bytes(bytes(make_batch(10, base_offset=offset)))
    return tmp_path


def finish(directory: Path) -> set[str]:
    left = finish_interrupted_work(FILES, str(directory))
    assert left == sorted(path.name for path in directory.iterdir())
    return {entry for entry in left if entry.endswith((".log", ".swap", ".cleaned", ".deleted", ".tmp"))}


LOGS = {name(0, ".log"), name(10, ".log"), name(20, ".log")}


def test_nothing_to_do(directory: Path) -> None:
    assert finish(directory) == LOGS


def test_deleted_cleaned_and_temporary_files_go(directory: Path) -> None:
    for left in (name(0, ".log.cleaned"), name(5, ".log.deleted"), "leader-epoch-checkpoint.tmp"):
        (directory / left).write_bytes(b"x")
    assert finish(directory) == LOGS


def test_a_complete_swap_replaces_the_segments_it_covers(directory: Path) -> None:
    content = b"".join(bytes(make_batch(10, base_offset=offset)) for offset in (0, 10))
    (directory / name(0, ".log.swap")).write_bytes(content)
    (directory / name(0, ".index.swap")).write_bytes(b"")
    assert finish(directory) == {name(0, ".log"), name(20, ".log")}
    assert (directory / name(0, ".log")).read_bytes() == content
    assert not (directory / name(10, ".index")).exists()
    assert (directory / name(20, ".index")).exists()


def test_swaps_of_an_incomplete_replacement_go(directory: Path) -> None:
    before = (directory / name(10, ".log")).read_bytes()
    (directory / name(10, ".log.cleaned")).write_bytes(b"x")
    (directory / name(15, ".log.swap")).write_bytes(bytes(make_batch(1, base_offset=15)))
    assert finish(directory) == LOGS
    assert (directory / name(10, ".log")).read_bytes() == before


def test_index_files_without_a_log_go(directory: Path) -> None:
    (directory / name(10, ".log")).unlink()
    remove_orphans(FILES, str(directory), FILES.list(str(directory)))
    assert not any(path.name.startswith(name(10, "")) for path in directory.iterdir())
    assert (directory / name(20, ".index")).exists()


def test_a_log_loads_with_the_replacement(make_harness: Any) -> None:
    harness = make_harness(segment_bytes=250)
    for _ in range(6):
        harness.append()
    assert harness.log.local.segments.base_offsets == [0, 2, 4]
    content = harness.files()[name(0, ".log")] + harness.files()[name(2, ".log")]
    (harness.directory / name(0, ".log.swap")).write_bytes(content)
    log = harness.reopen(clean=True)
    assert log.local.segments.base_offsets == [0, 4]
    assert harness.offsets() == [(n, n) for n in range(6)]
