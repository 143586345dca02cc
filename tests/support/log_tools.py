"""The output of two tools on a data directory: Kafka's DumpLogSegments, and our `kcompat log dump`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

from support.kafka_jars import jvm

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

INDEXES = (".index", ".timeindex")
OTHER_FILES = (".log", ".txnindex", ".snapshot")
_COMPLAINTS = ("isvalid: false", "invalid bytes", "exception", "corrupt")
_SUMMARIES = ("mismatch", "out of order", "not found in the log", "non-consecutive")
"""Words in complaints about a whole file, which DumpLogSegments prints at the end."""


def dump_log_segments(*arguments: str, directory: Path) -> str:
    """Run `kafka.tools.DumpLogSegments` in `directory`, and return its output."""
    return "\n".join(_dumped_lines(arguments, directory))


def _dumped_lines(arguments: Iterable[str], directory: Path) -> Iterator[str]:
    """The lines it prints. They are many, and so may be the files it is told to read: more than fit into a
    command line, so the launcher reads its arguments from a file.
    """
    launcher, *options = jvm("3.9.2")
    words = (*options, "kafka.tools.DumpLogSegments", *arguments)
    with tempfile.NamedTemporaryFile("w", suffix=".arguments") as file:
        file.writelines(f'"{word}"\n' for word in words)
        file.flush()
        with subprocess.Popen(
            [launcher, f"@{file.name}"],
            cwd=directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process:
            assert process.stdout is not None
            yield from (line.removesuffix("\n") for line in process.stdout)
    if process.returncode:
        yield f"exception: exit code {process.returncode}"


def files_in(directory: Path, *suffixes: str) -> list[str]:
    """The files below a directory that have one of these suffixes, by their paths relative to it."""
    return sorted(
        str(path.relative_to(directory)) for path in directory.rglob("*") if path.suffix in suffixes
    )


def what_kafka_finds_wrong(
    directory: Path, files: Iterable[str] | None = None, *, deep: bool = True
) -> list[str]:
    """The complaints of DumpLogSegments about all partitions below a directory: records, and indexes against
    the log; and those of its sanity check of the indexes. `files` are those to look at, if not all; without
    `deep` batches are read, but not the records in them.
    """
    found = files_in(directory, *INDEXES, *OTHER_FILES) if files is None else list(files)
    indexes = [name for name in found if name.endswith(INDEXES)]
    wrong: list[str] = []
    if found:
        how = ("--deep-iteration",) if deep else ()
        wrong += _complaints(_dumped_lines((*how, "--files", ",".join(found)), directory))
    if indexes:
        checks = list(_dumped_lines(("--index-sanity-check", "--files", ",".join(indexes)), directory))
        passed = sum(line.endswith(("passed sanity check.", "is empty.")) for line in checks)
        if passed != len(indexes):
            wrong.append(f"{passed} of {len(indexes)} indexes passed the sanity check")
        wrong += _complaints(checks)
    return wrong


def _complaints(lines: Iterable[str]) -> Iterator[str]:
    """The lines that find fault; one that does not name the file it is about comes after that name."""
    name = ""
    for line in lines:
        if line.startswith("Dumping "):
            name = line.removeprefix("Dumping ")
        elif not line.startswith("\tat "):
            lower = line.replace(name, "").lower()  # a test may be named for what it is about
            if any(complaint in lower for complaint in _SUMMARIES):
                yield line
            elif any(complaint in lower for complaint in _COMPLAINTS):
                yield f"{name}: {line}"


def what_we_find_wrong(directory: Path) -> str:
    """Return the complaints of `kcompat log dump --verify`; an empty text if it ends with 0."""
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
