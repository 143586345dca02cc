"""Measure kcompat beside a real Kafka 3.9.2, and librdkafka's mock cluster where it can, turn by turn.

    python bench/run.py [--only NAME,...] [--rounds N] [--quick] [--no-mock] [--no-kafka] [--before CHECKOUT]

With --before it is measured beside another checkout of itself instead, whose extensions are built: whether a
change made something slower is seen in no other way, as machines differ from one hour to the next.

Prints a table of medians and of the medians of the ratios of each round. Nothing here passes or fails.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "interop-tests"))

import compaction
import down_conversion
import encrypted
import flush
import footprint
import fresh_group
import growth
import growth_of_clients
import latency
import offsets
import peers
import refused_logins
import report
import restart
import rounds
import spark_latency
import throughput
import transactions
from generator import Generator
from trial import Measure, Trial

from support.broker_process import BrokerProcess

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

MEASURES: tuple[Measure, ...] = (
    *footprint.FIRST,
    *throughput.MEASURES,
    *encrypted.MEASURES,
    *refused_logins.MEASURES,
    *latency.MEASURES,
    *fresh_group.MEASURES,
    *transactions.MEASURES,
    *offsets.MEASURES,
    *flush.MEASURES,
    *compaction.MEASURES,
    *down_conversion.MEASURES,
    *restart.MEASURES,
    *growth.MEASURES,
    *growth_of_clients.MEASURES,
    *footprint.LAST,
)
SPARK = "spark"
NAMES = (*(measure.name for measure in MEASURES), SPARK)


def main() -> None:
    """Run what was asked for and print the table."""
    parser = rounds.parser("Measure kcompat beside a real Kafka.", NAMES)
    parser.add_argument("--no-mock", action="store_true", help="without librdkafka's mock cluster")
    options = rounds.options(parser, NAMES)
    rounds.run(
        _run,
        options,
        (
            *report.FIGURES,
            *down_conversion.FIGURES,
            *growth.FIGURES,
            *growth_of_clients.FIGURES,
            *transactions.FIGURES,
            *offsets.FIGURES,
        ),
    )


def _run(options: argparse.Namespace, results: report.Results) -> None:
    measures = [measure for measure in MEASURES if measure.name in options.names]
    with tempfile.TemporaryDirectory(prefix="kcompat-bench-") as directory:
        # For a while after many files were deleted ext4 makes new ones ten times as slowly.
        BrokerProcess.left_in = Path(directory)
        if measures:
            with _started(_peers(options)) as running:
                generator = Generator(Path(directory))
                _measure(measures, running, generator, Path(directory), options, results)
        if SPARK in options.names:
            spark_latency.measure(
                Path(directory), rounds.say, results, quick=options.quick, with_kafka=not options.no_kafka
            )
    rounds.say("")


def _peers(options: argparse.Namespace) -> dict[str, BrokerProcess]:
    chosen = {report.OURS: peers.kcompat()}
    if options.before is not None:
        chosen[report.BEFORE] = peers.kcompat_before(options.before)(peers.PROPERTIES)
    if not options.no_kafka:
        chosen[report.KAFKA] = peers.kafka()
    if not options.no_mock and options.before is None:
        chosen[report.MOCK] = peers.MockCluster()
    return chosen


@contextlib.contextmanager
def _started(chosen: dict[str, BrokerProcess]) -> Iterator[dict[str, BrokerProcess]]:
    with contextlib.ExitStack() as stack:
        for peer, broker in chosen.items():
            rounds.say(f"starting {peer}")
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
    """Run all rounds of `measures` on the brokers in turn, and add their figures to `results`."""
    scale = rounds.QUICK if options.quick else 1.0

    def trial_of(measure: Measure, peer: str, label: str) -> Trial | None:
        if (peer == report.MOCK and not measure.on_mock) or (measure.only_mock and peer != report.MOCK):
            return None
        return Trial(broker=running[peer], generator=generator, directory=directory, label=label, scale=scale)

    rounds.play(measures, list(running), trial_of, options.rounds, results)


if __name__ == "__main__":
    main()
