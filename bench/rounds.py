"""The frame of every bench: its options, and rounds in which the peers take turns."""

from __future__ import annotations

import argparse
import resource
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import report

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from trial import Measure, Work

QUICK = 0.1
ROUNDS = 5
UNCOUNTED = 2
"""Rounds before those: Kafka gets faster for longer than that, but most of it comes in these."""


def parser(description: str, names: Sequence[str]) -> argparse.ArgumentParser:
    """The options of every bench."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--only", metavar="NAME,...", help=f"only some of: {', '.join(names)}")
    parser.add_argument("--rounds", type=int, help=f"rounds that count (default: {ROUNDS})")
    parser.add_argument("--quick", action="store_true", help="one round of a tenth of the work")
    parser.add_argument("--no-kafka", action="store_true", help="without the real Kafka")
    parser.add_argument(
        "--before", type=Path, metavar="CHECKOUT", help="beside this checkout of kcompat, and nothing else"
    )
    return parser


def options(parser: argparse.ArgumentParser, names: Sequence[str]) -> argparse.Namespace:
    """The options of this run; with `names` of what is to be measured."""
    options = parser.parse_args()
    if options.before is not None:
        options.before = options.before.absolute()
        options.no_kafka = True
    options.names = options.only.split(",") if options.only else list(names)
    unknown = set(options.names) - set(names)
    if unknown:
        parser.error(f"there is no measure {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    if options.rounds is None:
        options.rounds = 1 if options.quick else ROUNDS
    return options


def run(
    measure: Callable[[argparse.Namespace, report.Results], None],
    options: argparse.Namespace,
    figures: Sequence[report.Figure],
) -> None:
    """Measure and print the table; one that is ended before prints what it has."""
    _allow_many_files()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench: ended"))  # so that the brokers end too
    results: report.Results = {}
    try:
        measure(options, results)
    except FileNotFoundError as missing:
        sys.exit(f"bench: {missing}")
    finally:
        beside = report.KAFKA if options.before is None else report.BEFORE
        print(report.table(results, figures, beside), flush=True)


def _allow_many_files() -> None:
    """5,000 connections need as many descriptors, here and in the brokers, which inherit the limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def play(
    measures: Sequence[Measure],
    peers: Sequence[str],
    trial_of: Callable[[Measure, str, str], Work | None],
    rounds: int,
    results: report.Results,
) -> None:
    """All rounds. Those before round 1 do not count: code is compiled in them, and memory touched.

    `trial_of` makes the trial of a measure, of a peer and with a label; None where there is none.
    """
    for number in range(1 - UNCOUNTED, rounds + 1):
        for measure in measures:
            for peer in peers[:: 1 if number % 2 else -1]:
                trial = trial_of(measure, peer, f"{measure.name}-{number + UNCOUNTED}")
                if trial is None:
                    continue
                say(f"round {number} of {rounds}: {measure.name}, {peer}")
                numbers = measure.run(trial)
                if number > 0:
                    report.add(results, peer, numbers)


def say(text: str) -> None:
    """Show progress: in one line on a terminal, in many elsewhere."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
    elif text:
        print(text, file=sys.stderr, flush=True)
