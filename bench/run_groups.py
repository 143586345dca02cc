"""Measure how groups form and settle with kcompat beside real Kafkas: 3.9.2 for classic groups, 4.3.0 for
those of KIP-848.

    python bench/run_groups.py [--only NAME,...] [--rounds N] [--quick] [--no-kafka] [--before CHECKOUT]

Prints a table as `run.py` does; the column of Kafka is the release of the row. Nothing here passes or fails.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "interop-tests"))

import group_settling
import peers
import report
import rounds
from generator import Generator
from trial import Measure, Trial

from real_kafka import RealKafka

if TYPE_CHECKING:
    import argparse

    from support.broker_process import BrokerProcess

RELEASES = {group_settling.CLASSIC: "3.9.2", group_settling.CONSUMER: "4.3.0"}
NAMES = tuple(measure.name for measure in RELEASES)


def main() -> None:
    """Run what was asked for and print the table."""
    parser = rounds.parser("Measure how groups form and settle beside real Kafkas.", NAMES)
    rounds.run(_run, rounds.options(parser, NAMES), group_settling.FIGURES)


def _run(options: argparse.Namespace, results: report.Results) -> None:
    scale = rounds.QUICK if options.quick else 1.0
    for measure, release in RELEASES.items():
        if measure.name not in options.names:
            continue
        with tempfile.TemporaryDirectory(prefix="kcompat-bench-") as name, contextlib.ExitStack() as stack:
            directory, chosen = Path(name), _peers(options, release)
            generator = Generator(directory)
            for peer, broker in chosen.items():
                rounds.say(f"starting {peer}")
                stack.enter_context(broker)

            def trial_of(
                _: Measure,
                peer: str,
                label: str,
                chosen: dict[str, BrokerProcess] = chosen,
                generator: Generator = generator,
                directory: Path = directory,
            ) -> Trial:
                return Trial(
                    broker=chosen[peer], generator=generator, directory=directory, label=label, scale=scale
                )

            rounds.play([measure], list(chosen), trial_of, options.rounds, results)
    rounds.say("")


def _peers(options: argparse.Namespace, release: str) -> dict[str, BrokerProcess]:
    settings = group_settling.BROKER
    chosen: dict[str, BrokerProcess] = {report.OURS: peers.kcompat(settings)}
    if options.before is not None:
        chosen[report.BEFORE] = peers.kcompat_before(options.before)(settings)
    if not options.no_kafka:
        chosen[report.KAFKA] = RealKafka(
            release, {**settings, **group_settling.OF_KAFKA}, heap=peers.HEAP, options=()
        )
    return chosen


if __name__ == "__main__":
    main()
