"""Measure kcompat beside a real Kafka 3.9.2, and librdkafka's mock cluster where it can, turn by turn.

    python bench/run.py [--only NAME,...] [--rounds N] [--quick] [--no-mock] [--no-kafka] [--before CHECKOUT]

With --before it is measured beside another checkout of itself instead, whose extensions are built: whether a
change made something slower is seen in no other way, as machines differ from one hour to the next.

Prints a table of medians and of the medians of the ratios of each round. Nothing here passes or fails.
"""

from __future__ import annotations

import argparse
import contextlib
import resource
import signal
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "interop-tests"))

import compaction
import down_conversion
import flush
import footprint
import fresh_group
import latency
import peers
import report
import restart
import spark_latency
import throughput
from generator import Generator
from trial import Measure, Trial

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from support.broker_process import BrokerProcess

MEASURES: tuple[Measure, ...] = (
    *footprint.FIRST,
    *throughput.MEASURES,
    *latency.MEASURES,
    *fresh_group.MEASURES,
    *flush.MEASURES,
    *compaction.MEASURES,
    *down_conversion.MEASURES,
    *restart.MEASURES,
    *footprint.LAST,
)
SPARK = "spark"
NAMES = (*(measure.name for measure in MEASURES), SPARK)
QUICK = 0.1
ROUNDS = 5
UNCOUNTED = 2
"""Rounds before those: Kafka gets faster for longer than that, but most of it comes in these."""


def main() -> None:
    """Run what was asked for and print the table."""
    options = _options()
    _allow_many_files()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench: ended"))  # so that the brokers end too
    try:
        results = _run(options)
    except FileNotFoundError as missing:
        sys.exit(f"bench: {missing}")
    beside = report.KAFKA if options.before is None else report.BEFORE
    print(report.table(results, (*report.FIGURES, *down_conversion.FIGURES), beside))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure kcompat beside a real Kafka.")
    parser.add_argument("--only", metavar="NAME,...", help=f"only some of: {', '.join(NAMES)}")
    parser.add_argument("--rounds", type=int, help=f"rounds that count (default: {ROUNDS})")
    parser.add_argument("--quick", action="store_true", help="one round of a tenth of the work")
    parser.add_argument("--no-mock", action="store_true", help="without librdkafka's mock cluster")
    parser.add_argument("--no-kafka", action="store_true", help="without the real Kafka")
    parser.add_argument(
        "--before", type=Path, metavar="CHECKOUT", help="beside this checkout of kcompat, and nothing else"
    )
    options = parser.parse_args()
    if options.before is not None:
        options.before = options.before.absolute()
        options.no_kafka = options.no_mock = True
    options.names = options.only.split(",") if options.only else list(NAMES)
    unknown = set(options.names) - set(NAMES)
    if unknown:
        parser.error(f"there is no measure {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    if options.rounds is None:
        options.rounds = 1 if options.quick else ROUNDS
    return options


def _allow_many_files() -> None:
    """5,000 connections need as many descriptors, here and in the brokers, which inherit the limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _run(options: argparse.Namespace) -> report.Results:
    results: report.Results = {}
    measures = [measure for measure in MEASURES if measure.name in options.names]
    with tempfile.TemporaryDirectory(prefix="kcompat-bench-") as directory:
        if measures:
            with _started(_peers(options)) as running:
                generator = Generator(Path(directory))
                _measure(measures, running, generator, Path(directory), options, results)
        if SPARK in options.names:
            with_kafka = not options.no_kafka
            spark_latency.measure(Path(directory), _say, results, quick=options.quick, with_kafka=with_kafka)
    _say("")
    return results


def _peers(options: argparse.Namespace) -> dict[str, BrokerProcess]:
    chosen = {report.OURS: peers.kcompat()}
    if options.before is not None:
        chosen[report.BEFORE] = peers.kcompat_before(options.before)
    if not options.no_kafka:
        chosen[report.KAFKA] = peers.kafka()
    if not options.no_mock:
        chosen[report.MOCK] = peers.MockCluster()
    return chosen


@contextlib.contextmanager
def _started(chosen: dict[str, BrokerProcess]) -> Iterator[dict[str, BrokerProcess]]:
    with contextlib.ExitStack() as stack:
        for peer, broker in chosen.items():
            _say(f"starting {peer}")
            stack.enter_context(broker)
        yield chosen


def _measure(
    measures: Sequence[Measure],
    running: dict[str, BrokerProcess],
    generator: Generator,
    directory: Path,
    options: argparse.Namespace,
    results: report.Results,
) -> None:
    """All rounds. Those before round 1 do not count: code is compiled in them, and memory touched."""
    scale = QUICK if options.quick else 1.0
    for number in range(1 - UNCOUNTED, options.rounds + 1):
        for measure in measures:
            for peer, broker in list(running.items())[:: 1 if number % 2 else -1]:
                if (peer == report.MOCK and not measure.on_mock) or (
                    measure.only_mock and peer != report.MOCK
                ):
                    continue
                _say(f"round {number} of {options.rounds}: {measure.name}, {peer}")
                label = f"{measure.name}-{number + UNCOUNTED}"
                numbers = measure.run(Trial(broker, generator, directory, label, scale))
                if number > 0:
                    report.add(results, peer, numbers)


def _say(text: str) -> None:
    """Show progress: in one line on a terminal, in many elsewhere."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
    elif text:
        print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
