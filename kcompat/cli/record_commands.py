"""The command lines of the commands that show and play what clients asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.cli.argument_types import add_directories, address, factor, path, seconds

if TYPE_CHECKING:
    import argparse


def add_trace(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `kcompat trace` to the commands."""
    trace = commands.add_parser(
        "trace",
        help="show the requests of clients and their answers",
        description="Print one line for each request that a running broker answers, until Ctrl-C, or for "
        "each one in the files of a flight record. Without FILE the broker is found by its data directory; "
        "of several brokers below it, all are shown.",
    )
    trace.add_argument(
        "files",
        nargs="*",
        type=path,
        metavar="FILE",
        help="a file of a flight record, or a directory of some",
    )
    trace.add_argument("--client", metavar="ID", help="only requests with this client id")
    trace.add_argument("--api", metavar="NAME", help="only requests of this API, such as Produce")
    trace.add_argument("--topic", metavar="NAME", help="only requests that name this topic")
    trace.add_argument("--errors", action="store_true", help="only requests that failed")
    trace.add_argument(
        "--deep", action="store_true", help="all fields of requests and answers, and the records in them"
    )
    add_directories(trace)


def add_replay(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `kcompat replay` to the commands."""
    replay = commands.add_parser(
        "replay",
        help="play recorded requests to a broker and compare its answers",
        description="Send the requests of a flight record to any Kafka, in their order and over as many "
        "connections, and print where its answers differ from the recorded ones. Exit code 1: some differ.",
    )
    replay.add_argument(
        "files", nargs="+", type=path, metavar="FILE", help="a flight record: a file, or a directory of some"
    )
    replay.add_argument("address", type=address, metavar="HOST:PORT", help="a listener of the broker")
    replay.add_argument(
        "--command-config",
        type=path,
        metavar="FILE",
        help="properties of a client with the TLS and the login of the listener, as for Kafka's commands",
    )
    replay.add_argument(
        "--speed",
        type=factor,
        metavar="N",
        help="1 keeps the recorded times, 2 is twice as fast (default: as fast as the order allows)",
    )
    replay.add_argument(
        "--timeout",
        type=seconds,
        default=30.0,
        metavar="SECONDS",
        help="how long to wait for each answer; three in a row without one end the replay (default: 30)",
    )
