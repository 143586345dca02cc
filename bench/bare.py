"""How much of the time is the machine's: the load of the bench on a bare program in C, which only receives,
writes and answers.

    python bench/bare.py [--rounds N]

Set it beside what `run.py` and `run_clusters.py` print in the same hour.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "interop-tests"))

import frames
import replication
from generator import Generator, compiled
from system import Stopwatch
from throughput import MEDIUM, PARTITIONS, RECORDS_PER_BIG_BATCH, SMALL

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(__file__).with_name("bare.c")
ROUNDS = 5
TOPIC = "bench-topic"


class Load(NamedTuple):
    """One load of the generator, and the number of followers of the program that receives it."""

    label: str
    requests: list[bytes]
    connections: int
    depth: int
    count: int
    followers: int = 0


def loads() -> list[Load]:
    """Return the loads of the bench that need no client library."""
    small = [frames.produce(TOPIC, index, records=1, size=SMALL) for index in range(PARTITIONS)]
    replicated = frames.produce(TOPIC, 0, records=1, size=replication.SMALL, acks=replication.ALL)
    big = frames.produce(TOPIC, 0, records=RECORDS_PER_BIG_BATCH, size=MEDIUM)
    return [
        Load("one 100 B record a request, 32 in flight, 1 connection", small[:1], 1, 32, 100_000),
        Load("one 100 B record a request, 20 connections", small, 20, 1, 100_000),
        Load("one 100 B record at a time", small[:1], 1, 1, 20_000),
        Load("1 MB batches", [big], 1, 2, 400),
        Load("one 200 B record at a time, two followers", [replicated], 1, 1, 5_000, followers=2),
    ]


@contextlib.contextmanager
def running(program: Path, followers: int) -> Iterator[tuple[int, list[int]]]:
    """The port of a broker with so many followers, and the ids of all processes."""
    with contextlib.ExitStack() as stack:

        def start(*arguments: str) -> subprocess.Popen[bytes]:
            process = stack.enter_context(subprocess.Popen([program, *arguments], stdout=subprocess.PIPE))
            stack.callback(process.kill)
            return process

        broker = start("broker", str(followers))
        assert broker.stdout is not None
        port = int(broker.stdout.readline())
        processes = [broker, *(start("follower", str(port)) for _ in range(followers))]
        if broker.stdout.readline() != b"ready\n":
            raise RuntimeError("a follower did not come")
        yield port, [process.pid for process in processes]


def main() -> None:
    """Print a table of medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"how often (default: {ROUNDS})")
    rounds: int = parser.parse_args().rounds
    with tempfile.TemporaryDirectory(prefix="kcompat-bench-") as directory:
        generator = Generator(Path(directory))
        program = compiled(SOURCE, Path(directory))
        print("| load | k requests/s | MB/s | p50, us | p99, us | CPU, us a request |")
        print("| --- | ---: | ---: | ---: | ---: | ---: |")
        for load in loads():
            figures = [_measure(generator, program, load) for _ in range(rounds)]
            print(
                f"| {load.label} |",
                " | ".join(f"{median(each):.4g}" for each in zip(*figures, strict=True)),
                "|",
            )


def _measure(generator: Generator, program: Path, load: Load) -> tuple[float, ...]:
    with running(program, load.followers) as (port, pids), Stopwatch(*pids) as watch:
        found = generator.run(
            port, load.requests, connections=load.connections, depth=load.depth, count=load.count
        )
    rate = load.count / found.seconds
    megabytes = rate * len(load.requests[0]) / 1e6
    return rate / 1e3, megabytes, found.p50_us, found.p99_us, watch.cpu / load.count * 1e6


if __name__ == "__main__":
    main()
