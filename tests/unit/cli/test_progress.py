from __future__ import annotations

import io
import sys

import pytest

from kcompat.cli.progress import ProgressBar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def drawn(monkeypatch: pytest.MonkeyPatch, total: int, stream: io.StringIO, shown: bool = True) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    with ProgressBar(total, shown=shown, interval_s=0) as bar:
        bar.finished(total // 4)
        bar.at(total // 4)
    return stream.getvalue()


def test_the_bar_shows_what_is_done_and_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    said = drawn(monkeypatch, 128 << 20, Terminal())
    assert said == f"\r[{'#' * 20}{'.' * 20}] 64 of 128 MiB\r\x1b[K"


@pytest.mark.parametrize(
    ("total", "stream", "shown"),
    [(128 << 20, io.StringIO(), True), (1 << 20, Terminal(), True), (128 << 20, Terminal(), False)],
)
def test_no_bar_off_a_terminal_for_little_work_or_unwanted(
    monkeypatch: pytest.MonkeyPatch, total: int, stream: io.StringIO, shown: bool
) -> None:
    assert drawn(monkeypatch, total, stream, shown) == ""
