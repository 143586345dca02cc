"""Count what a request costs in instructions, now and in another checkout.

    python bench/instructions.py CHECKOUT [--only NAME,...]

Times of the same program differ by a fifth and more from run to run where the machine is shared, so a change
of a few percent does not show in them. The number of instructions that valgrind's callgrind counts is the
same each time, but for how often the broker happens to look at its sockets. It says nothing of the kernel,
nor of caches. The extensions of both checkouts must be built.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "interop-tests"))

import frames
import peers
from generator import Generator

from support.kcompat_broker import KcompatBroker

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent
START_TIMEOUT_S = 180
TOPIC = "bench"
COLLECTED = re.compile(r"Collected : (\d+)")
FETCH_BYTES = 10_000_000


class Counted(KcompatBroker):
    """A broker of a checkout that runs under callgrind, fifty times slower."""

    def __init__(self, checkout: Path) -> None:
        super().__init__(peers.PROPERTIES)
        self._checkout = checkout

    def command(self) -> list[str]:
        """The usual command; nothing of chance in it."""
        variables = ["env", f"PYTHONPATH={self._checkout}", "PYTHONHASHSEED=0"]
        return [
            *variables,
            "valgrind",
            "--tool=callgrind",
            "--callgrind-out-file=/dev/null",
            *super().command(),
        ]

    def count(self, load: Callable[[int], object]) -> int:
        """Instructions from the start to the end of a broker that serves this load."""
        try:
            self.start(START_TIMEOUT_S)
            peers.create_topics(self, [TOPIC], 4)
            load(self.port)
            self.stop(START_TIMEOUT_S)
            return int(COLLECTED.findall(self.log_path.read_text())[-1])
        finally:
            self.close()


class Measure(NamedTuple):
    """A load, and how many requests it has when it is small and when it is large; the difference counts."""

    load: Callable[[Generator, int, int], object]
    few: int
    many: int


def produce(
    generator: Generator, count: int, port: int, *, records: int, size: int, connections: int, depth: int
) -> None:
    """So many requests with one batch each."""
    frame = frames.produce(TOPIC, 0, records=records, size=size)
    generator.run(port, [frame], connections=connections, depth=depth, count=count)


def fetch(generator: Generator, count: int, port: int) -> None:
    """So many answers of 10 MB."""
    produce(generator, 12, port, records=1000, size=1024, connections=1, depth=1)
    generator.run(port, [frames.fetch(TOPIC, 0, FETCH_BYTES)], connections=1, depth=1, count=count)


MEASURES = {
    "small": Measure(partial(produce, records=1, size=100, connections=1, depth=1), 1500, 4500),
    "small-parallel": Measure(partial(produce, records=1, size=100, connections=20, depth=1), 1500, 4500),
    "small-pipelined": Measure(partial(produce, records=1, size=100, connections=1, depth=32), 1500, 4500),
    "big-batches": Measure(partial(produce, records=1000, size=1024, connections=1, depth=2), 20, 80),
    "full-batches": Measure(partial(produce, records=9000, size=100, connections=1, depth=2), 20, 80),
    "fetch": Measure(fetch, 50, 150),
}


def main() -> None:
    """Count what was asked for and print a line for each."""
    parser = argparse.ArgumentParser(description="Count instructions beside another checkout.")
    parser.add_argument("checkout", type=Path, help="another checkout of kcompat, with its extensions built")
    parser.add_argument("--only", metavar="NAME,...", help=f"only some of: {', '.join(MEASURES)}")
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        sys.exit("instructions: valgrind is not installed, and nothing else counts them")
    names = options.only.split(",") if options.only else list(MEASURES)
    print(f"{'a request':<16} {'now':>10} {'before':>10}  ratio")
    with tempfile.TemporaryDirectory(prefix="kcompat-bench-") as directory:
        generator = Generator(Path(directory))
        for name in names:
            now, before = (
                _cost(root, MEASURES[name], generator) for root in (ROOT, options.checkout.absolute())
            )
            print(f"{name:<16} {now:>10.0f} {before:>10.0f}  {now / before:.3f}", flush=True)


def _cost(checkout: Path, measure: Measure, generator: Generator) -> float:
    few, many = (
        Counted(checkout).count(partial(measure.load, generator, count))
        for count in (measure.few, measure.many)
    )
    return (many - few) / (measure.many - measure.few)


if __name__ == "__main__":
    main()
