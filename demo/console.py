"""Output of the demo: headings, lines, a bar and a table that move on a terminal, plain lines in a pipe."""

from __future__ import annotations

import itertools
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

BAR_WIDTH = 30
REDRAW_S = 0.1


class Console:
    """Standard output; `live` says whether a person watches it on a terminal."""

    def __init__(self) -> None:
        self.live = sys.stdout.isatty()
        self._drawn = 0
        self._next_drawing = 0.0
        self._note = ""

    def heading(self, text: str) -> None:
        """Begin a part of the demo."""
        self._write(f"\n{self._style('1', text)}\n")

    def line(self, text: str) -> None:
        """Say one thing that stays."""
        self._erase()
        self._write(f"  {text}\n")

    def proof(self, text: str, *, holds: bool) -> None:
        """One sentence of the conclusion."""
        mark = self._style("32", "✓") if holds else self._style("31", "✗")
        self._write(f"  {mark} {text}\n")

    def bar(self, text: str, done: int, total: int) -> None:
        """Show how far something is; nothing in a pipe."""
        if not self.live or (time.monotonic() < self._next_drawing and done < total):
            return
        self._draw([f"{text} [{_blocks(done, total):·<{BAR_WIDTH}}] {done:,} of {total:,}"])

    def table(self, rows: Mapping[str, tuple[int, int]], note: str) -> None:
        """Show orders and money by city with bars; in a pipe only a note that is new."""
        if not self.live:
            if note != self._note:
                self.line(note)
            self._note = note
            return
        most = max((orders for orders, _ in rows.values()), default=1)
        lines = [
            f"{city:<8} {_blocks(orders, most):<{BAR_WIDTH}} {orders:>9,} orders {cents / 100:>14,.2f} €"
            for city, (orders, cents) in sorted(rows.items())
        ]
        self._draw([*lines, note])

    def keep(self) -> None:
        """Leave what was drawn last on the screen."""
        self._drawn = 0

    @contextmanager
    def waiting(self, text: str) -> Iterator[None]:
        """Show that something takes its time."""
        if not self.live:
            self.line(text)
            yield
            return
        done = threading.Event()
        spinner = threading.Thread(target=self._spin, args=(text, done))
        spinner.start()
        try:
            yield
        finally:
            done.set()
            spinner.join()
            self._erase()

    def _spin(self, text: str, done: threading.Event) -> None:
        for mark in itertools.cycle("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"):
            self._draw([f"{mark} {text}"])
            if done.wait(REDRAW_S):
                return

    def _draw(self, lines: list[str]) -> None:
        self._erase()
        self._write("".join(f"  {line}\n" for line in lines))
        self._drawn = len(lines)
        self._next_drawing = time.monotonic() + REDRAW_S

    def _erase(self) -> None:
        if self._drawn:
            self._write(f"\x1b[{self._drawn}A\x1b[J")
            self._drawn = 0

    def _style(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.live else text

    @staticmethod
    def _write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()


def _blocks(part: int, whole: int) -> str:
    return "█" * (BAR_WIDTH * part // max(whole, 1))
