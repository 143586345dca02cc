"""The options by which commands that start no broker find its data directories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.cli.argument_types import absolute_path, path

if TYPE_CHECKING:
    import argparse


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
