"""The judge of what the tests leave finds fault where there is one, and only there."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from support.places import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.leaves_damage("to see whether it is found")
TESTS = """
import pytest
from support.compaction import CompactionHarness
from support.default_settings import log_settings


def left(directory):
    log = CompactionHarness(directory, log_settings(cleanup_policy=frozenset({"compact"})))
    for key in (b"a", b"b", b"b"):
        log.put((key, b"value"))
    log.roll()
    log.clean()
    return directory / "t-0" / f"{0:020d}.log"


def flip(path):
    content = bytearray(path.read_bytes())
    content[70] ^= 1
    path.write_bytes(content)


def test_gap(tmp_path):
    left(tmp_path)

@pytest.mark.leaves_gaps("compacted")
def test_fair_gap(tmp_path):
    left(tmp_path)

def test_exception_checkpointed_gap(tmp_path):
    left(tmp_path)
    (tmp_path / "cleaner-offset-checkpoint").write_text("0\\n1\\nt 0 3\\n")

def test_damage(tmp_path):
    flip(left(tmp_path))

@pytest.mark.leaves_damage("to see whether that is believed")
def test_fair_damage(tmp_path):
    flip(left(tmp_path))
"""


def outcome_of(directory: Path, tests: str, *options: str) -> str:
    """Return the output of a run of pytest with those of the tests above whose names contain `tests`."""
    path = directory / "test_them.py"
    path.write_text(TESTS)
    plugins = ("-p", "support.left_directories", "-p", "no:cacheprovider")
    command = [sys.executable, "-m", "pytest", "-q", *plugins, *options]
    found = subprocess.run(
        [*command, f"--basetemp={directory / 'left'}", "-k", tests, f"--rootdir={directory}", path],
        env=os.environ | {"PYTHONPATH": os.pathsep.join((str(REPOSITORY), str(REPOSITORY / "tests")))},
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout


@pytest.mark.thorough("no test but those of the tests depends on it")
def test_fault_is_found(tmp_path: Path) -> None:
    said = outcome_of(tmp_path, "test_gap or test_damage or test_fair_damage")
    assert "3 passed, 2 deselected, 1 error" in said
    faults = [line for line in said.splitlines() if line.startswith(("test_", "Non-consecutive"))]
    assert any(line.startswith("test_damage0/t-0/") and "isvalid: false" in line for line in faults), said
    assert not any("test_fair" in line for line in faults), said


@pytest.mark.thorough("no test but those of the tests depends on it")
def test_a_gap_is_found(tmp_path: Path) -> None:
    said = outcome_of(tmp_path, "gap")
    assert "3 passed, 2 deselected, 1 error" in said
    # pytest repeats the sentence in its summary where CI is set
    gaps = {line for line in said.splitlines() if line.startswith("Non-consecutive offsets in ")}
    assert ["/test_gap0/t-0/" in gap for gap in gaps] == [True], said


@pytest.mark.thorough("no test but those of the tests depends on it")
def test_each_worker_finds_what_its_tests_left(tmp_path: Path) -> None:
    said = outcome_of(tmp_path, "test_gap or test_damage", "-n", "2", "--dist", "load")
    assert "2 passed, 2 errors" in said
    for worker_finds in ("Non-consecutive offsets in ", "isvalid: false"):
        assert worker_finds in said, said


@pytest.mark.thorough("test_fault_is_found has a fair log, too")
def test_nothing_is_found_where_nothing_is_wrong(tmp_path: Path) -> None:
    assert "3 passed, 2 deselected in" in outcome_of(tmp_path, "fair or checkpointed")
