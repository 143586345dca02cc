"""Parts that the console clients share: settings from files and options, connections, and logged failures."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from kcompat.admin.client import AdminClient
from kcompat.admin.errors import JavaError, kafka_error
from kcompat.admin.log_lines import log_line
from kcompat.admin.settings import ClientSettings, read_command_config

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kcompat.commands.options import Options

_NO_ADMIN: Final = "Failed to create new KafkaAdminClient"


def key_values(texts: Sequence[str]) -> dict[str, str]:
    """Return the pairs of `--property key=value`; a text without `=` stands for an empty value."""
    return {key: value for key, _, value in (text.partition("=") for text in texts)}


def file_and_values(options: Options, files: Sequence[str], texts: Sequence[str]) -> dict[str, str]:
    """Return the properties of a file, changed by those on the command line.

    `files` and `texts` are the names of options that mean the same: an older and a newer one. Raises
    JavaError if the file cannot be read.
    """
    found: dict[str, str] = {}
    for name in files:
        if options.has(name):
            found |= read_command_config(options.value(name))
    for name in texts:
        found |= key_values(options.values(name))
    return found


def connect_client(properties: Mapping[str, str], kind: str) -> AdminClient:
    """Return the connections of a client; `kind` is `producer` or `consumer`. Raises JavaError."""
    try:
        return AdminClient(ClientSettings(properties, kind))
    except JavaError as error:
        if str(error) != _NO_ADMIN:
            raise
        raise kafka_error(f"Failed to construct kafka {kind}") from error.__cause__


def log_failure(text: str, logger: str, error: JavaError) -> None:
    """Log a text and, below it, the error, as Java does without the frames of a stack trace."""
    log_line("ERROR", text, logger)
    complain(error.logged().removesuffix(": "))


def complain(text: str) -> None:
    """Write a line to standard error."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
