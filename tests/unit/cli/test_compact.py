"""The output of `kcompat compact`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from kcompat.cli.compact import FAILED, _Printer
from kcompat.log.cleaner.cleaner import Compacted
from kcompat.log.cleaner.watch import Progress

if TYPE_CHECKING:
    from collections.abc import Sequence

MIB = 1 << 20
DONE = Compacted("t", 0, 100, 10)
LEFT = Compacted("t", 1, 100, 100, "its cleanup.policy does not contain compact, or its log is offline")


def told(*answers: Compacted | Progress) -> int:
    with _Printer("t", interval_s=0) as printer:
        for answer in answers:
            printer.add(answer)
    return printer.code


@pytest.mark.parametrize(
    ("answers", "code", "out", "err"),
    [
        ([DONE], 0, "t-0: 100 bytes became 10\n", ""),
        ([LEFT, DONE], FAILED, f"t-1 was not compacted: {LEFT.problem}\nt-0: 100 bytes became 10\n", ""),
        ([], FAILED, "", "kcompat: there is no topic t\n"),
        ([Progress(1, 2), DONE, Progress(2, 2)], 0, "t-0: 100 bytes became 10\n", ""),
    ],
)
def test_what_is_said(
    answers: Sequence[Compacted | Progress], code: int, out: str, err: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told(*answers) == code
    said = capsys.readouterr()
    assert (said.out, said.err) == (out, err)


def test_a_terminal_sees_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert told(Progress(100 * MIB, 400 * MIB), DONE, Progress(400 * MIB, 400 * MIB)) == 0
    first, second, *_ = capsys.readouterr().err.removeprefix("\r").split("\r")
    assert first == f"[{'#' * 10}{'.' * 30}] 100 of 400 MiB"
    assert second == "\x1b[K", "it is gone before the result is printed"
