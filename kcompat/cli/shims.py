"""`kcompat install-shims`: files named like Kafka's scripts that run kcompat's commands."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kcompat.commands.table import COMMANDS

if TYPE_CHECKING:
    import argparse

MARK: Final = "# written by kcompat install-shims"
"""Line that marks a file as one that this command wrote, so that it may be written again."""


def add_install_shims(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parser of the command."""
    install = commands.add_parser(
        "install-shims",
        help="write kafka-topics.sh and the others, which run kcompat's commands",
        description="Write files named like Kafka's scripts, with and without .sh, that run kcompat's "
        "commands with this Python. Files of others are never replaced: exit code 1 then.",
    )
    install.add_argument("directory", type=Path, metavar="DIR", help="where to write them; made if needed")


def run(options: argparse.Namespace) -> int:
    """Write the files; return exit code 1 if one of another program is in the way."""
    directory: Path = options.directory
    try:
        directory.mkdir(parents=True, exist_ok=True)
        strange = [path for path in _paths(directory) if path.exists() and not _is_ours(path)]
        if strange:
            print(
                f"kcompat: {strange[0]} is not a file of kcompat, and is kept: choose another directory",
                file=sys.stderr,
            )
            return 1
        for path in _paths(directory):
            _write(path)
    except OSError as error:
        print(f"kcompat: {directory} cannot be written: {error.strerror or error}", file=sys.stderr)
        return 1
    print(f"{len(COMMANDS)} commands are in {directory}, each with and without .sh")
    return 0


def _paths(directory: Path) -> list[Path]:
    return [directory / f"{command.script}{end}" for command in COMMANDS.values() for end in ("", ".sh")]


def _is_ours(path: Path) -> bool:
    return path.is_file() and MARK in path.read_text(errors="replace").splitlines()[1:2]


def _write(path: Path) -> None:
    import shlex

    name = path.name.removeprefix("kafka-").removesuffix(".sh")
    path.write_text(f'#!/bin/sh\n{MARK}\nexec {shlex.quote(sys.executable)} -m kcompat {name} "$@"\n')
    path.chmod(0o755)
