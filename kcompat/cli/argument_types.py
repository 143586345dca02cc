"""The types of arguments of the command line, and options that several commands have.

The types raise argparse.ArgumentTypeError with a sentence.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

MOST_BROKERS = 100
"""Largest number of brokers that one command runs."""


def absolute_path(text: str) -> Path:
    """Return a path from the command line as an absolute path."""
    if not text:
        raise argparse.ArgumentTypeError("the name of the directory is empty")
    return path(text).absolute()


def path(text: str) -> Path:
    """Return a path from the command line; `~` and `~USER` stand for the home directory of a user."""
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise argparse.ArgumentTypeError(f"{text} names the home of a user who is not known") from error


def address(text: str) -> tuple[str, int]:
    """Return host and port of [HOST:]PORT from the command line; the default host is the loopback address."""
    host, colon, port = text.rpartition(":")
    return (host.strip("[]") if colon else "127.0.0.1"), port_number(port)


def host_name(text: str) -> str:
    """Return a host from the command line, without the brackets that an IPv6 address may have."""
    host = text.strip("[]")
    if not host:
        raise argparse.ArgumentTypeError("the address is empty: 0.0.0.0 stands for every interface")
    return host


def port_number(text: str) -> int:
    """Return a TCP port from the command line."""
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text} is not a port, which is a number from 0 to 65535")
    return int(text)


def milliseconds(text: str) -> float:
    """Return a time in milliseconds from the command line or a variable of the environment."""
    try:
        found = float(text)
    except ValueError:
        found = -1
    if not 0 <= found < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a number of milliseconds")
    return found


def broker_count(text: str) -> int:
    """Return the number of brokers to run, from the command line."""
    if not text.isdecimal() or not 1 <= int(text) <= MOST_BROKERS:
        raise argparse.ArgumentTypeError(
            f"{text} is not a number of brokers, which is from 1 to {MOST_BROKERS}"
        )
    return int(text)


def record_count(text: str) -> int:
    """Return a number of records from the command line."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text} is not a number of records")
    return int(text)


def factor(text: str) -> float:
    """Return a factor of speed from the command line."""
    return _positive(text, "a speed")


def seconds(text: str) -> float:
    """Return a time in seconds from the command line, at most eleven days, for which sockets can wait."""
    return min(_positive(text, "a time in seconds"), 1e6)


def _positive(text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not {what}, which is a number above 0")
    return value


def add_directories(command: argparse.ArgumentParser) -> None:
    """Add the options for data directories, for commands that do not start a broker."""
    command.set_defaults(host=None, port=None)
    command.add_argument(
        "--data-dir",
        type=absolute_path,
        metavar="DIR",
        help="where the broker stores (default: ./kcompat-data)",
    )
    command.add_argument(
        "--properties", type=path, metavar="server.properties", help="the broker's properties file"
    )
    command.add_argument(
        "--override", action="append", default=[], metavar="KEY=VALUE", help="set one key; may be repeated"
    )
