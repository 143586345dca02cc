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

    from kcompat.commands.options import OptionParser, Options

_NO_ADMIN: Final = "Failed to create new KafkaAdminClient"


def key_values(texts: Sequence[str]) -> dict[str, str]:
    """Return the pairs of `--property key=value`; a text without `=` stands for an empty value."""
    return {key: value for key, _, value in (text.partition("=") for text in texts)}


def accept_client(parser: OptionParser, kind: str) -> None:
    """Accept the options that name the brokers and the settings of a client; `kind` is `producer` or
    `consumer`.
    """
    parser.accepts_servers()
    parser.accepts(f"{kind}-property|command-property", f"Setting of the {kind}, as key=value.", "key=value")
    parser.accepts(f"{kind}.config|command-config", f"Properties file with settings of the {kind}.", "file")


def client_properties(options: Options, kind: str) -> dict[str, str]:
    """Return the settings of a client as its options give them. Raises JavaError for a file that cannot be
    read.
    """
    return file_properties(options, f"{kind}.config") | key_values(options.values(f"{kind}-property"))


def file_properties(options: Options, name: str) -> dict[str, str]:
    """Return the properties in the file that an option names, none without it. Raises JavaError for a file
    that cannot be read.
    """
    return read_command_config(options.value(name)) if options.has(name) else {}


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
