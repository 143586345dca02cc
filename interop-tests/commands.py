"""Run command-line clients: kcat and the Java tools."""

from __future__ import annotations

import os
import subprocess
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Self

from support.eventually import limit_s
from support.kafka_jars import QUICK

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from types import TracebackType

QUICK_JVM = ("java", *QUICK, "-Xmx256m")
"""For a program that is over before the optimising compiler has paid for itself."""


def run(command: Sequence[str | Path], text: bytes = b"", timeout_s: float = 60) -> str:
    """Run a command with this standard input and return its standard output; fail unless it succeeds."""
    words, limit = [str(item) for item in command], limit_s(timeout_s)
    done = subprocess.run(words, input=text, capture_output=True, timeout=limit, check=False)
    assert done.returncode == 0, (
        f"{command} ended with {done.returncode}:\n{done.stdout!r}\n{done.stderr.decode()}"
    )
    return done.stdout.decode()


def compile_java(path: str, target: Path, *sources: Path) -> None:
    """Compile Java sources against the class path `path`, and put the classes below `target`."""
    options = [f"-J{option}" for option in QUICK]
    run(["javac", *options, "-nowarn", "-cp", path, "-d", target, *sources])


class Running:
    """A command that runs until it is told to end, with what it has printed so far."""

    def __init__(self, command: Sequence[str | Path]) -> None:
        self._output = TemporaryFile()  # noqa: SIM115 - closed by __exit__
        arguments = [str(item) for item in command]
        self._process = subprocess.Popen(
            arguments, stdin=subprocess.DEVNULL, stdout=self._output, stderr=self._output
        )

    def lines(self) -> list[str]:
        """The lines of standard output and standard error so far."""
        # Not by `seek`: the process writes at the position of the same open file.
        printed = os.pread(self._output.fileno(), os.fstat(self._output.fileno()).st_size, 0)
        return printed.decode(errors="replace").splitlines()

    def count(self, wanted: Callable[[str], bool]) -> int:
        """How many lines so far satisfy the condition."""
        return sum(1 for line in self.lines() if wanted(line))

    def end(self) -> None:
        """Ask the process to end (SIGTERM) and wait for it."""
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def kill(self) -> None:
        """End the process without a word (SIGKILL) and wait for it."""
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
        if error is not None:
            print("\n".join(self.lines()))  # pytest shows it with the failure
        self._output.close()
