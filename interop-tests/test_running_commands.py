"""A running command can be asked what it has printed, which does not disturb what it prints next."""

from __future__ import annotations

import sys
import time

from commands import Running
from support.eventually import limit_s

LINES = 50_000
PRINTS = f"import sys\nfor number in range({LINES}): print(number, file=sys.stderr, flush=True)"


def test_each_line_is_read_once_and_in_order() -> None:
    expected = [str(number) for number in range(LINES)]
    ends = time.monotonic() + limit_s(60)
    with Running([sys.executable, "-c", PRINTS]) as command:
        while (lines := command.lines()) != expected:
            complete = lines[:-1]  # the last line may be there in part
            assert complete == expected[: len(complete)]
            assert time.monotonic() < ends, f"only {len(lines)} lines are there"
