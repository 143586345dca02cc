"""The parser of the command line, apart from Kafka's commands, which parse theirs as Kafka does."""

from __future__ import annotations

import argparse
import os
from functools import cache, partial
from typing import Any, Final

from kcompat.cli.argument_types import (
    absolute_path,
    add_directories,
    address,
    broker_count,
    host_name,
    path,
    port_number,
)
from kcompat.cli.completion import add_completion
from kcompat.cli.config_commands import add_config
from kcompat.cli.doctor import add_doctor
from kcompat.cli.logging_options import add_logging
from kcompat.cli.metrics import add_metrics
from kcompat.cli.record_commands import add_replay, add_trace
from kcompat.cli.shims import add_install_shims
from kcompat.commands.table import COMMANDS

_OUTPUT: Final = 1
"""Descriptor of standard output."""
DESCRIPTION = "A broker that speaks the Apache Kafka protocol."


class Parser(argparse.ArgumentParser):
    """Parser whose help is as wide as the terminal, as argparse's own.

    argparse asks for the width whenever an option is added, and imports `shutil` for that, which would take
    half a megabyte of a broker's memory.
    """

    def __init__(self, **options: Any) -> None:
        # set before the first option, which is --help
        made = options.pop("formatter_class", argparse.HelpFormatter)
        super().__init__(formatter_class=partial(made, width=_width_of_help()), **options)


@cache
def _width_of_help() -> int:
    """Return the columns of a help text, two fewer than the terminal has (`shutil.get_terminal_size`)."""
    columns = os.environ.get("COLUMNS", "")
    try:
        width = int(columns) if columns.isdecimal() else os.get_terminal_size(_OUTPUT).columns
    except OSError:  # standard output is no terminal
        width = 0
    return (width or 80) - 2


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser: argparse.ArgumentParser = Parser(
        prog="kcompat",
        description=DESCRIPTION,
        epilog=_kafkas_commands(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--version", action="store_true", help="print the version, its commit and whether extensions are used"
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    _add_start(commands)
    apis = commands.add_parser("apis", help="list the APIs and versions that are served")
    apis.add_argument("--markdown", action="store_true", help="print the reference page")
    add_config(commands)
    _add_log(commands)
    _add_compact(commands)
    add_doctor(commands)
    add_trace(commands)
    add_replay(commands)
    _add_hand_over(commands)
    _add_take_over(commands)
    _add_container(commands)
    add_install_shims(commands)
    add_completion(commands, parser)
    return parser


def _kafkas_commands() -> str:
    """Return the part of the help that names Kafka's commands."""
    rows = "\n".join(f"  {command.name:<20}  {command.help}" for command in COMMANDS.values())
    return f"Kafka's commands, with the flags of its scripts (`kcompat topics --help`):\n{rows}"


def _add_container(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    container = commands.add_parser("container", help="what the container image runs")
    actions = container.add_subparsers(dest="action", metavar="ACTION", title="actions", required=True)
    run = actions.add_parser(
        "run",
        help="run the broker",
        description="Run a broker as the variables of the environment and "
        "/mnt/shared/config/server.properties ask for it, by the rules of Apache Kafka's image.",
    )
    run.add_argument(
        "settings", nargs="*", metavar="NAME=VALUE", help="a variable that counts before the environment"
    )
    rpk = actions.add_parser("rpk", help="run the broker as `rpk redpanda start` of Redpanda's image would")
    rpk.add_argument("words", nargs=argparse.REMAINDER, metavar="WORD", help="arguments of rpk")
    storage = actions.add_parser("storage", help="do what `kafka-storage` does: add the first SCRAM users")
    storage.add_argument("words", nargs=argparse.REMAINDER, metavar="WORD", help="arguments of kafka-storage")
    actions.add_parser("health", help="ask the broker that runs; exit code 1: it does not answer")


def _add_compact(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    compact = commands.add_parser(
        "compact",
        help="compact topics now",
        description="Compact all partitions of topics now, and wait until that is done: all that is old "
        "enough (min.compaction.lag.ms), whatever the dirty ratio. If a broker runs on the data directory, "
        "it does the work. Exit code 1: a partition could not be compacted.",
    )
    compact.add_argument("topics", nargs="+", metavar="TOPIC", help="a topic whose cleanup.policy is compact")
    add_directories(compact)


def _add_hand_over(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    hand_over = commands.add_parser(
        "hand-over",
        help="give a data directory to a Kafka broker in ZooKeeper mode",
        description="Register what a stopped broker's data directory holds in ZooKeeper, so that a Kafka 3.9 "
        "broker in ZooKeeper mode takes it over as it is. What ZooKeeper holds already is never changed; an "
        "interrupted command can be repeated. Exit code 1: refused, with the reason.",
    )
    hand_over.add_argument(
        "--zookeeper",
        required=True,
        metavar="HOST:PORT[/CHROOT]",
        help="where Kafka will find it, as in its zookeeper.connect",
    )
    add_directories(hand_over)


def _add_take_over(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    take_over = commands.add_parser(
        "take-over",
        help="take the metadata of a Kafka broker in ZooKeeper mode",
        description="Read what a stopped Kafka 3.9 broker in ZooKeeper mode kept in ZooKeeper, above all the "
        "configurations of topics, so that kcompat takes over its data directory as it is. ZooKeeper is only "
        "read. Exit code 1: refused, with the reason.",
    )
    take_over.add_argument(
        "--zookeeper",
        required=True,
        metavar="HOST:PORT[/CHROOT]",
        help="where it is kept, as in the broker's zookeeper.connect",
    )
    add_directories(take_over)


def _add_log(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    log = commands.add_parser("log", help="look into the files of a log directory")
    actions = log.add_subparsers(dest="action", metavar="ACTION", title="actions", required=True)
    dump = actions.add_parser(
        "dump",
        help="print files in readable form",
        description="Print segments, indexes, producer snapshots and checkpoints in readable form, and point "
        "out damage by file and byte. Exit code 1: something is wrong; 2: a file cannot be read, or "
        "none is there.",
    )
    dump.add_argument(
        "paths",
        nargs="+",
        type=os.path.expanduser,
        metavar="PATH",
        help="a file, a partition, or a whole data directory",
    )
    dump.add_argument("--deep", action="store_true", help="every record, not only every batch")
    dump.add_argument(
        "--verify",
        action="store_true",
        help="check CRCs, offsets and records, and the index entries against the log",
    )
    dump.add_argument("--json", action="store_true", help="one JSON object a line")
    dump.add_argument("--quiet", action="store_true", help="only what is wrong")
    dump.add_argument(
        "--topic", help="decode records as this topic's (default: the one the directory is named after)"
    )


def _add_start(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    start = commands.add_parser(
        "start",
        help="run a broker",
        description="Run a broker until SIGTERM or SIGINT. Without arguments it listens on port 9092 of this "
        "machine alone and stores in ./kcompat-data. The command line counts before KAFKA_... variables, the "
        "file comes last.",
    )
    start.add_argument(
        "properties", nargs="?", type=path, metavar="server.properties", help="a Kafka properties file"
    )
    start.add_argument(
        "--override", action="append", default=[], metavar="KEY=VALUE", help="set one key; may be repeated"
    )
    _add_address(start)
    _add_cluster(start)
    where = start.add_mutually_exclusive_group()
    where.add_argument(
        "--data-dir", type=absolute_path, metavar="DIR", help="where to store (default: ./kcompat-data)"
    )
    where.add_argument("--memory", action="store_true", help="store in memory; everything is gone at the end")
    _add_security(start)
    _add_instruments(start)
    add_metrics(start)
    add_logging(start)


def _add_address(start: argparse.ArgumentParser) -> None:
    """Add the options for the address of the only listener."""
    start.add_argument(
        "--host",
        type=host_name,
        metavar="ADDRESS",
        help="address that the only listener is bound to; 0.0.0.0 for every interface (default without a "
        "properties file, listeners and zookeeper.connect: localhost)",
    )
    start.add_argument(
        "--port", type=port_number, help="port of the only listener; 0 for any free one (default: 9092)"
    )


def _add_cluster(start: argparse.ArgumentParser) -> None:
    """Add the options for the number of brokers, and the topics that they begin with."""
    start.add_argument(
        "--brokers",
        type=broker_count,
        default=1,
        metavar="N",
        help="run N brokers in this process, which replicate to each other; their ports follow --port",
    )
    start.add_argument(
        "--processes",
        action="store_true",
        help="with --brokers: run each broker in a process, and on a processor core, of its own",
    )
    start.add_argument(
        "--topic",
        dest="topics",
        action="append",
        default=[],
        metavar="NAME[:PARTITIONS[:REPLICAS]][,KEY=VALUE...]",
        help="a topic that is created at the start unless it exists, such as orders:3 or "
        "users:1,cleanup.policy=compact; may be repeated",
    )


def _add_instruments(start: argparse.ArgumentParser) -> None:
    """Add the options for programs that look into the broker, and for people who look for a fault."""
    start.add_argument(
        "--record",
        type=absolute_path,
        metavar="DIR",
        help="write all requests and answers to files here, at most 64 MiB (default: KCOMPAT_RECORD)",
    )
    start.add_argument(
        "--zookeeper-port",
        type=address,
        metavar="[HOST:]PORT",
        help="serve the broker's metadata to ZooKeeper's clients too, at this port of 127.0.0.1 or of HOST",
    )
    start.add_argument(
        "--control-port",
        type=port_number,
        metavar="PORT",
        help="let programs of this machine look into the broker and disturb it, by HTTP at this port of "
        "127.0.0.1; 0 for any free one. Needs the extra http",
    )
    start.add_argument(
        "--clock",
        choices=("real", "manual"),
        default="real",
        help="with --control-port: a manual clock can be moved ahead, so that what would expire does",
    )


def _add_security(start: argparse.ArgumentParser) -> None:
    """Add the options for users and for the encryption of connections."""
    start.add_argument(
        "--add-scram",
        action="append",
        default=[],
        metavar="MECHANISM=[name=NAME,password=PASSWORD]",
        help="a SCRAM user that a new cluster begins with, as for kafka-storage; may be repeated",
    )
    start.add_argument(
        "--dev-tls",
        action="store_true",
        help="encrypt by TLS, with certificates made for this run; clients trust development-ca.pem in the "
        "data directory",
    )
    start.add_argument(
        "--user",
        dest="users",
        action="append",
        default=[],
        metavar="NAME[:PASSWORD]",
        help="let this user in, by PLAIN or SCRAM, and no client without a login; may be repeated. Without "
        "PASSWORD it comes from the variable KCOMPAT_PASSWORD_NAME or the terminal",
    )
