"""The admin client of a command, made of its command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.admin.client import AdminClient
from kcompat.admin.settings import ClientSettings, read_command_config

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.commands.options import Options

NO_DEFAULTS: Mapping[str, str] = {}


def connect(
    options: Options, servers: str | None = None, defaults: Mapping[str, str] = NO_DEFAULTS
) -> AdminClient:
    """Return the client that `--bootstrap-server` and `--command-config` describe.

    `servers` replaces the value of `--bootstrap-server`, and `defaults` are settings that the file may
    change. Raises JavaError.
    """
    properties = {**defaults}
    file = options.value("command-config")
    if file is not None:
        properties |= read_command_config(file)
    servers = servers or options.value("bootstrap-server")
    if servers is not None:
        properties["bootstrap.servers"] = servers
    return AdminClient(ClientSettings(properties))
