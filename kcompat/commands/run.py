"""Run one of Kafka's commands: exit codes, and output to a pipe whose reader has ended."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING

from kcompat.commands.options import CommandExit
from kcompat.commands.table import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Sequence


def run_command(name: str, words: Sequence[str]) -> int:
    """Run a command of the table and return its exit code.

    As in Java, bytes of `words` that are not UTF-8 are read as U+FFFD, and characters that the encoding of an
    output lacks are written as `?`.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        return COMMANDS[name].load()([os.fsencode(word).decode(errors="replace") for word in words])
    except CommandExit as end:
        return end.code
