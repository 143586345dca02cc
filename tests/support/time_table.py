"""Note what each test took, for a table of where the time of the test suite goes.

This is a plugin of pytest, made part of a run by the conftests of ``interop-tests/`` and ``tests/``. It does
nothing unless the environment variable KCOMPAT_TIMES names a file. Each test then appends one line to that
file: its path, seconds of wall time, seconds of processor time. ``python tests/support/time_table.py FILE``
prints the sums of each test file as a table in Markdown.

Processor time includes child processes that ended during the test. A broker that several tests share is
counted in the test in which it stops.
"""

from __future__ import annotations

import os
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

VARIABLE = "KCOMPAT_TIMES"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    target = os.environ.get(VARIABLE)
    if target is None:
        return (yield)
    wall, processor = time.monotonic(), _processor_s()
    result = yield
    path = item.path.relative_to(Path(__file__).parents[2])
    line = f"{path}\t{time.monotonic() - wall:.4f}\t{_processor_s() - processor:.4f}\n"
    with Path(target).open("a") as file:  # one short write, so that lines of several workers do not mix
        file.write(line)
    return result


def _processor_s() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def table(lines: Iterable[str]) -> str:
    """Return the table of test files, the file with most wall time first, from the lines that tests wrote."""
    sums: dict[str, list[float]] = defaultdict(lambda: [0, 0.0, 0.0])
    for line in lines:
        path, wall, processor = line.split("\t")
        row = sums[path]
        row[0] += 1
        row[1] += float(wall)
        row[2] += float(processor)
    rows = sorted(sums.items(), key=lambda item: -item[1][1])
    total = [sum(row[column] for row in sums.values()) for column in range(3)]
    printed = [
        f"| {name} | {count:.0f} | {wall:.1f} | {processor:.1f} |"
        for name, (count, wall, processor) in [*rows, ("all", total)]
    ]
    head = ["| file | tests | wall s | processor s |", "| --- | ---: | ---: | ---: |"]
    return "\n".join([*head, *printed])


if __name__ == "__main__":
    print(table(Path(sys.argv[1]).read_text().splitlines()))
