"""The `kcompat` command: parses the command line and runs one sub-command.

Exit codes: 0 success, 1 the broker or its configuration is refused, 2 the command line is not understood.
"""

from __future__ import annotations

import errno
import gc
import importlib
import os
import sys
from typing import TYPE_CHECKING

from kcompat.cli import asyncio_without_tls
from kcompat.commands.table import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Sequence

MORE_THAN_IS_IMPORTED = 100_000
"""New objects before the cyclic collector runs during imports. Imported objects all stay, and examining them
repeatedly takes a tenth of a broker's start."""

OUTPUT_FAULTS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
"""Error numbers of failed writes to standard output; their errors name no file."""

WITH_BROKERS = frozenset({"start", "container"})
"""Commands that run brokers in this process."""

MODULES = {"config": "config_commands", "install-shims": "shims"}
"""Modules of commands that are not named as their commands."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code."""
    gc.set_threshold(MORE_THAN_IS_IMPORTED)
    _replace_closed_streams()
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = _run_as_kafka(words) if words and words[0] in COMMANDS else _run(words)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of the output, such as `head`, has ended
        _drop_output()
        return 0
    except OSError as error:
        if error.filename is not None or error.errno not in OUTPUT_FAULTS:
            raise
        _drop_output()
        print(f"kcompat: the output cannot be written: {error.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return code


def _replace_closed_streams() -> None:
    """Open the null device in place of standard streams that the caller has closed.

    Python has None for them, and their file descriptors would become those of sockets.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = open(os.devnull, mode, encoding="utf-8")  # noqa: PTH123, SIM115 - no need of pathlib here
            setattr(sys, name, stream)


def _drop_output() -> None:
    """Redirect standard output to the null device, so that flushing it at exit does not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run_as_kafka(words: Sequence[str]) -> int:
    """Run one of Kafka's commands and return its exit code."""
    from kcompat.commands.run import run_command  # late: a broker needs none of them

    code = run_command(words[0], words[1:])
    _explain_failure()
    return code


def _explain_failure() -> None:
    """Say in a last line why the command had no answer from a broker, if so."""
    from kcompat.admin.contact import take_failure

    failure = take_failure()
    if failure is not None:
        from kcompat.doctor.way_in import explain  # late: most commands are answered

        found = explain(*failure)
        print(f"kcompat: {found.what}. {found.advice}", file=sys.stderr)


def _run(words: Sequence[str]) -> int:
    from kcompat.cli.config_commands import with_config_action  # late: Kafka's commands need no argparse
    from kcompat.cli.parser import build_parser

    options = build_parser().parse_args(with_config_action(words))
    if options.version:
        from kcompat.cli.version import describe

        print(describe())
        return 0
    command: str | None = options.command
    if command is None:
        build_parser().print_help()
        return 2
    if command in WITH_BROKERS:
        asyncio_without_tls.load()
    module = importlib.import_module(f"kcompat.cli.{MODULES.get(command, command.replace('-', '_'))}")
    code: int = module.run(options)
    return code
