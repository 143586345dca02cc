"""The raw load generator: a small C program, compiled when the bench begins, that sends ready-made frames."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

SOURCE = Path(__file__).with_name("generator.c")
TIMEOUT_S = 120


class Load(NamedTuple):
    """The result of one run of the generator."""

    seconds: float
    responses: int
    bytes_received: int
    p50_us: float
    p99_us: float
    smallest: int
    largest: int


def compiled(source: Path, directory: Path) -> Path:
    """A program made of one file; raises FileNotFoundError where there is no C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise FileNotFoundError("the bench needs a C compiler: install one, such as gcc")
    program = directory / source.stem
    subprocess.run([compiler, "-O2", "-Wall", "-Wextra", "-o", program, source], check=True)
    return program


class Generator:
    """Compiles the generator on construction; raises what `compiled` does."""

    def __init__(self, directory: Path) -> None:
        self._program = compiled(SOURCE, directory)

    def run(self, port: int, frames: Sequence[bytes], *, connections: int, depth: int, count: int) -> Load:
        """Keep `depth` requests in flight on each connection until `count` are answered.

        Connection i repeats frame i modulo their number. RuntimeError when the broker hangs or hangs up.
        """
        with tempfile.NamedTemporaryFile(dir=self._program.parent) as file:
            file.write(b"".join(frames))
            file.flush()
            numbers = map(str, (port, connections, depth, count))
            done = subprocess.run(
                [self._program, *numbers, file.name],
                capture_output=True,
                text=True,
                timeout=TIMEOUT_S,
                check=False,
            )
        if done.returncode:
            raise RuntimeError(done.stderr.strip())
        seconds, responses, size, p50, p99, smallest, largest = done.stdout.split()
        return Load(
            float(seconds), int(responses), int(size), float(p50), float(p99), int(smallest), int(largest)
        )
