"""Count what the broker does in instructions, now and in another checkout.

    python bench/instructions.py CHECKOUT [--only NAME,...]

Times of the same program differ by a fifth and more from run to run where the machine is shared, so a change
of a few percent does not show in them. The number of instructions that valgrind's callgrind counts is the
same each time, but for how often the broker happens to look at its sockets. It says nothing of the kernel,
nor of caches. Of compaction only the process that does it is counted, as the broker looks after it the more
often the longer it takes. The extensions of both checkouts must be built.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "interop-tests"))

import cleaning
import down_conversion
import flush
import frames
import group_requests
import msgspec
import peers
import restart
import transactions
from generator import Generator
from trial import Trial

from kcompat.records.compression import Codec
from support.kcompat_broker import KcompatBroker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trial import Numbers

ROOT = Path(__file__).resolve().parent.parent
PATIENCE_S = 600
TOPIC = "bench"
COLLECTED = re.compile(r"Collected : (\d+)")
FETCH_BYTES = 10_000_000


class Counted(KcompatBroker):
    """A broker of a checkout that runs under callgrind, with its children, fifty times slower."""

    def __init__(self, checkout: Path, properties: Mapping[str, str] = restart.PROPERTIES) -> None:
        super().__init__(properties)
        self._checkout = checkout

    def command(self) -> list[str]:
        """The usual command, counted."""
        return self.under_callgrind(super().command())

    def under_callgrind(self, command: list[str]) -> list[str]:
        """A command of this checkout, counted; nothing of chance in it."""
        return [
            "env",
            f"PYTHONPATH={self._checkout}",
            "PYTHONHASHSEED=0",
            "valgrind",
            "--tool=callgrind",
            "--trace-children=yes",
            "--callgrind-out-file=/dev/null",
            f"--log-file={self.home}/%p.counted",
            *command,
        ]

    def counted(self) -> int:
        """Instructions of all processes that have ended by themselves."""
        texts = [path.read_text() for path in self.home.glob("*.counted")]
        return sum(int(each) for text in texts for each in COLLECTED.findall(text))


Load = Callable[[Counted, Generator, int], object]
"""Has a broker do something so many times."""


class Measure(NamedTuple):
    """A load, and how many times it is made when it is small and when it is large; the difference counts."""

    load: Load
    few: int
    many: int


def produce(
    broker: Counted,
    generator: Generator,
    count: int,
    *,
    records: int,
    size: int,
    connections: int,
    depth: int,
) -> None:
    """So many requests with one batch each."""
    frame = frames.produce(TOPIC, 0, records=records, size=size)
    generator.run(broker.port, [frame], connections=connections, depth=depth, count=count)


def fetch(broker: Counted, generator: Generator, count: int) -> None:
    """So many answers of 10 MB."""
    produce(broker, generator, 12, records=1000, size=1024, connections=1, depth=1)
    generator.run(broker.port, [frames.fetch(TOPIC, 0, FETCH_BYTES)], connections=1, depth=1, count=count)


def row(broker: Counted, generator: Generator, count: int, *, run: Callable[[Trial], Numbers]) -> None:
    """A measure of `bench/run.py` with so many thousandths of its work."""
    run(Trial(broker=broker, generator=generator, directory=broker.home, label="bench", scale=count / 1000))


def start(broker: Counted, generator: Generator, count: int) -> None:  # noqa: ARG001
    """So many further starts of a broker, with the directories that it has."""
    for _ in range(count):
        broker.stop(PATIENCE_S)
        broker.start(PATIENCE_S)


def create(broker: Counted, generator: Generator, count: int) -> None:  # noqa: ARG001
    """So many topics of ten partitions, one request each."""
    for number in range(count):
        peers.create_topics(broker, [f"topic-{number}"], 10)


def fresh_group(broker: Counted, generator: Generator, count: int) -> None:
    """So many groups, each from the join of a member to its first record."""
    produce(broker, generator, 1, records=1, size=100, connections=1, depth=1)
    with peers.client(broker) as connection:
        group_requests.await_coordinator(connection, "bench")
        for number in range(count):
            group_requests.first_record(connection, f"bench-{number}", TOPIC)


def compact(broker: Counted, generator: Generator, count: int) -> None:  # noqa: ARG001
    """So many cleanings of the same 16 MB."""
    directory = broker.home / "cleaned"
    directory.mkdir()
    job = msgspec.json.encode(cleaning.job_of(directory))
    lifeline, ours = os.pipe()
    for _ in range(count):
        subprocess.run(
            broker.under_callgrind([sys.executable, "-m", "kcompat.log.cleaner.process", str(lifeline)]),
            input=job,
            stdout=subprocess.DEVNULL,
            pass_fds=(lifeline,),
            check=True,
            timeout=PATIENCE_S,
        )
    os.close(lifeline)
    os.close(ours)


def recover(broker: Counted, generator: Generator, count: int) -> None:  # noqa: ARG001
    """Ten partitions of so many segments are found at a start after kill -9 and at one after a stop."""
    batches = restart.fill(broker, count)
    broker.kill()  # what it counted so far goes with it
    restart.time_to_serve(broker, batches)
    broker.stop(PATIENCE_S)
    restart.time_to_serve(broker, batches)


def down_convert(codec: Codec) -> Measure:
    """Answers of 2 MB in both old formats."""
    return Measure(
        partial(row, run=partial(down_conversion.down_conversion, size=1024, codec=codec)), 250, 750
    )


MEASURES = {
    "small": Measure(partial(produce, records=1, size=100, connections=1, depth=1), 1500, 4500),
    "small-parallel": Measure(partial(produce, records=1, size=100, connections=20, depth=1), 1500, 4500),
    "small-pipelined": Measure(partial(produce, records=1, size=100, connections=1, depth=32), 1500, 4500),
    "big-batches": Measure(partial(produce, records=1000, size=1024, connections=1, depth=2), 20, 80),
    "full-batches": Measure(partial(produce, records=9000, size=100, connections=1, depth=2), 20, 80),
    "fetch": Measure(fetch, 50, 150),
    "flush-alone": Measure(partial(row, run=flush.alone), 200, 2200),
    "flush-parallel": Measure(partial(row, run=flush.parallel), 200, 1200),
    "transactions-1": Measure(partial(row, run=transactions.one_producer), 100, 400),
    "transactions-20": Measure(partial(row, run=transactions.many_producers), 50, 150),
    "fresh-group": Measure(fresh_group, 5, 55),
    "down-none": down_convert(Codec.NONE),
    "down-lz4": down_convert(Codec.LZ4),
    "down-gzip": down_convert(Codec.GZIP),
    "compact": Measure(compact, 1, 3),
    "start": Measure(start, 0, 4),
    "restart": Measure(recover, 2, 12),
    "create": Measure(create, 5, 45),
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
    print(f"{'each':<16} {'now':>12} {'before':>12}  ratio")
    with tempfile.TemporaryDirectory(prefix="kcompat-bench-") as directory:
        generator = Generator(Path(directory))
        for name in names:
            now, before = (
                cost(MEASURES[name], generator, partial(Counted, root))
                for root in (ROOT, options.checkout.absolute())
            )
            print(f"{name:<16} {now:>12.0f} {before:>12.0f}  {now / before:.3f}", flush=True)


def cost(
    measure: Measure, generator: Generator, make: Callable[[], Counted], *, partitions: int = 4
) -> float:
    """Return the instructions that a broker takes each time, whose topic has so many partitions."""
    few, many = (
        _count(make(), partitions, partial(measure.load, generator=generator, count=count))
        for count in (measure.few, measure.many)
    )
    return (many - few) / (measure.many - measure.few)


def _count(broker: Counted, partitions: int, load: Callable[[Counted], object]) -> int:
    """Instructions from the start to the end of a broker that serves this load."""
    try:
        broker.start(PATIENCE_S)
        peers.create_topics(broker, [TOPIC], partitions)
        load(broker)
        broker.stop(PATIENCE_S)
        return broker.counted()
    finally:
        broker.close()


if __name__ == "__main__":
    main()
