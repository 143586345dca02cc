"""What two tools say of a data directory: Kafka's DumpLogSegments, and our `kcompat log dump`."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from real_kafka import class_path, java

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_COMPLAINTS = (
    "isvalid: false",
    "mismatch",
    "out of order",
    "not found in the log",
    "non-consecutive",
    "invalid bytes",
    "exception",
    "corrupt",
)


def dump_log_segments(*arguments: str, directory: Path) -> str:
    """What `kafka.tools.DumpLogSegments` prints with these arguments, run in `directory`."""
    command = [java(), "-Xmx128m", "-cp", class_path("3.9.2"), "kafka.tools.DumpLogSegments", *arguments]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    failed = f"\nexception: exit code {done.returncode}" if done.returncode else ""
    return f"{done.stdout}\n{done.stderr}{failed}"


def files_in(directory: Path, *suffixes: str) -> list[str]:
    """The files below a directory that have one of these suffixes, by their paths relative to it."""
    return sorted(
        str(path.relative_to(directory)) for path in directory.rglob("*") if path.suffix in suffixes
    )


def what_kafka_finds_wrong(directory: Path) -> list[str]:
    """The complaints of DumpLogSegments about all partitions below a directory: records, and indexes against
    the log; and those of its sanity check of the indexes.
    """
    indexes = files_in(directory, ".index", ".timeindex")
    others = files_in(directory, ".log", ".txnindex", ".snapshot")
    deep = dump_log_segments("--deep-iteration", "--files", ",".join(others + indexes), directory=directory)
    wrong = list(_complaints(deep.splitlines()))
    if indexes:
        checked = dump_log_segments(
            "--index-sanity-check", "--files", ",".join(indexes), directory=directory
        ).splitlines()
        passed = sum(line.endswith(("passed sanity check.", "is empty.")) for line in checked)
        if passed != len(indexes):
            wrong.append(f"{passed} of {len(indexes)} indexes passed the sanity check")
        wrong.extend(_complaints(checked))
    return wrong


def _complaints(lines: Iterable[str]) -> Iterable[str]:
    return (line for line in lines if any(complaint in line.lower() for complaint in _COMPLAINTS))


def what_we_find_wrong(directory: Path) -> str:
    """What `kcompat log dump --verify` finds wrong; nothing where it says so and ends with 0."""
    command = [
        sys.executable,
        "-m",
        "kcompat",
        "log",
        "dump",
        "--verify",
        "--deep",
        "--quiet",
        str(directory),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    *damage, summary = done.stdout.splitlines() or [""]
    if done.returncode == 0 and summary.endswith(" 0 faults"):
        return ""
    return "\n".join((*damage, summary, done.stderr))
