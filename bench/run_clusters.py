"""Measure three kcompat brokers beside three of a real Kafka 3.9.2, each over a ZooKeeper, turn by turn.

    python bench/run_clusters.py [--only NAME,...] [--rounds N] [--quick] [--behind MB] [--no-kafka]
                                 [--before CHECKOUT]

Prints a table as `run.py` does. Nothing here passes or fails.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "interop-tests"))

import cluster_in_process
import clusters
import many_partitions
import replication
import report
import rounds
import steady
from generator import Generator

if TYPE_CHECKING:
    import argparse

    from trial import Measure

MEASURES = (*many_partitions.FIRST, *replication.MEASURES, *steady.MEASURES, *many_partitions.LAST)
IN_PROCESS = "in-process"
NAMES = (*(measure.name for measure in MEASURES), IN_PROCESS)
FIGURES = (*replication.FIGURES, *steady.FIGURES, *many_partitions.FIGURES, *cluster_in_process.FIGURES)
BEHIND_MB = 250


def main() -> None:
    """Run what was asked for and print the table."""
    parser = rounds.parser("Measure three kcompat brokers beside three of a real Kafka.", NAMES)
    parser.add_argument(
        "--behind",
        type=int,
        default=BEHIND_MB,
        metavar="MB",
        help=f"how far behind a follower is that has to catch up (default: {BEHIND_MB})",
    )
    rounds.run(_run, rounds.options(parser, NAMES), FIGURES)


def _run(options: argparse.Namespace, results: report.Results) -> None:
    measures = [measure for measure in MEASURES if measure.name in options.names]
    if measures:
        _measure(measures, options, results)
    if IN_PROCESS in options.names:
        for _ in range(options.rounds):
            report.add(results, report.OURS, cluster_in_process.measure())
    rounds.say("")


def _measure(measures: list[Measure], options: argparse.Namespace, results: report.Results) -> None:
    chosen = clusters.chosen(with_kafka=not options.no_kafka, before=options.before)
    scale = rounds.QUICK if options.quick else 1.0
    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kcompat-bench-")))
        generator = Generator(directory)
        for peer, cluster in chosen.items():
            rounds.say(f"starting {clusters.BROKERS} brokers: {peer}")
            stack.enter_context(cluster)

        def trial_of(_: Measure, peer: str, label: str) -> clusters.ClusterTrial:
            return clusters.ClusterTrial(
                cluster=chosen[peer],
                generator=generator,
                directory=directory,
                label=label,
                scale=scale,
                behind_mb=options.behind,
            )

        rounds.play(measures, list(chosen), trial_of, options.rounds, results)


if __name__ == "__main__":
    main()
