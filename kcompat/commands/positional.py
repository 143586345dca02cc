"""The command line as argparse4j reads it, which some of Kafka's commands use, with its error texts."""

from __future__ import annotations

import argparse
import re
import sys
from typing import NoReturn

from kcompat.commands.options import CommandExit


class Argparse4jParser(argparse.ArgumentParser):
    """A parser that ends the command as argparse4j does: with exit code 1, and its words for an error."""

    def add_output(self, *, is_of_action: bool = False) -> None:
        """Add the option for JSON, which may stand before or after the action of a command."""
        default = argparse.SUPPRESS if is_of_action else "text"
        self.add_argument(
            "-o", "--output", choices=("text", "json"), default=default, help="what to print (default: text)"
        )

    def error(self, message: str) -> NoReturn:
        """Print the usage and the error to standard error, and end with exit code 1."""
        sys.stderr.write(self.format_usage())
        sys.stderr.write(f"{self.prog}: error: {_words(message)}\n")
        raise CommandExit(1)

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """End the command; the help has been printed before."""
        if message:
            sys.stderr.write(message)
        raise CommandExit(status)


def _words(message: str) -> str:
    """Return argparse4j's words for an error of argparse."""
    if message.startswith("the following arguments are required: "):
        missing = message.rpartition(": ")[2]
        return f"argument {missing} is required" if missing.startswith("-") else "too few arguments"
    number = re.fullmatch(r"argument (\S+): invalid int value: '(.*)'", message)
    if number is not None:
        name, text = number.groups()
        return f"argument {name}: could not convert '{text}' to Integer (For input string: \"{text}\")"
    choice = re.fullmatch(r"argument \w+: (invalid choice: .*)", message)
    return message if choice is None else choice[1]
