"""Run one of Kafka's commands, with what they share: exit codes, and output whose reader has gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.commands.options import CommandExit
from kcompat.commands.table import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Sequence


def run_command(name: str, words: Sequence[str]) -> int:
    """Run a command of the table and return its exit code."""
    try:
        return COMMANDS[name].load()(words)
    except CommandExit as end:
        return end.code
