"""Run tests several times on a machine that is kept busy, and list each one that failed even once.

``python tests/flakes.py ROUNDS [PATH ...]`` (``make flakes N=5 T="tests/wire interop-tests/test_go.py"``)
runs the named tests in random order beside as many busy loops as there are processors. Without a path it
runs what ``make test`` runs; ``T="tests interop-tests"`` names all tests. The output of each round is kept in
a directory that is printed at the start, and names each test as soon as it has ended. The exit code is 1 if
any test failed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

SUITES = ("tests", "interop-tests")
"""Each is a run of pytest of its own, with a configuration of its own."""
SIDE_BY_SIDE = ("-n", "4", "--dist", "loadfile")
BUSY_LOOP = "while True: pass"
NOT_THOROUGH = ["-m", "not thorough"]
"""The selection of `make test`."""


class Round(NamedTuple):
    """The number of tests that ran in one run of pytest, and the names of those that failed."""

    ran: int
    failed: set[str]


def main(rounds: int, paths: list[str]) -> int:
    """Run `paths`, or without any the tests of `make test`, so many times; return the exit code."""
    selection = [] if paths else NOT_THOROUGH
    paths = paths or list(SUITES)
    kept = Path(tempfile.mkdtemp(prefix="kcompat-flakes-"))
    print(f"the output is in {kept}", flush=True)
    failures: Counter[str] = Counter()
    with ExitStack() as stack:
        for _ in range(os.cpu_count() or 1):
            loop = stack.enter_context(subprocess.Popen([sys.executable, "-c", BUSY_LOOP]))
            stack.callback(loop.kill)
        for number in range(1, rounds + 1):
            for suite in SUITES:
                chosen = [path for path in paths if Path(path).parts[0] == suite]
                if chosen:
                    began = time.monotonic()
                    ran, failed = run(chosen + selection, kept / f"{suite}-{number}")
                    counts = f"{ran} ran, {len(failed)} failed, {time.monotonic() - began:.0f} s"
                    print(f"round {number} of {rounds}, {suite}: {counts}", flush=True)
                    failures.update(failed)
    for test, times in failures.most_common():
        print(f"{times} of {rounds}: {test}")
    print(f"{len(failures)} tests failed at least once")
    return 1 if failures else 0


def run(arguments: list[str], output: Path) -> Round:
    """Run the tests that `arguments` choose once, in random order.

    What pytest prints is kept in `output` with the suffix .txt. A run that ends without a report counts as
    one failed test that has its arguments as name.
    """
    report = output.with_suffix(".xml")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-v",
        "-p",
        "randomly",
        *SIDE_BY_SIDE,
        f"--junit-xml={report}",
        *arguments,
    ]
    with output.with_suffix(".txt").open("w") as printed:
        ended = subprocess.run(command, stdout=printed, stderr=subprocess.STDOUT, check=False)
    if not report.exists():
        return Round(0, {f"{' '.join(arguments)} (pytest ended with exit code {ended.returncode})"})
    return round_of(report.read_text())


def round_of(report: str) -> Round:
    """Return what a JUnit report says; an error while a test is set up or taken down is a failure."""
    cases = list(ET.fromstring(report).iter("testcase"))
    failed = {
        f"{case.get('classname')}::{case.get('name')}"
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    }
    return Round(sum(case.find("skipped") is None for case in cases), failed)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
