"""`--dev-tls` and `--user` of `kcompat start`: security for development, and the files for its clients."""

from __future__ import annotations

import getpass
import re
import sys
from typing import TYPE_CHECKING, Final

import javaproperties

from kcompat.config.errors import ConfigError
from kcompat.node.development import Development, client_file, write_secret
from kcompat.security.client_settings import SETTINGS

if TYPE_CHECKING:
    import argparse
    from collections.abc import MutableMapping

    from kcompat.config.broker import BrokerConfig

MECHANISM: Final = "SCRAM-SHA-512"
"""Mechanism in the files for clients. All of Kafka's own tools have it."""
VARIABLE: Final = "KCOMPAT_PASSWORD_"
"""Beginning of the environment variables with passwords, such as `KCOMPAT_PASSWORD_ALICE`."""


def read_development(options: argparse.Namespace, environment: MutableMapping[str, str]) -> Development:
    """Return the security that the options ask for.

    Passwords are removed from `environment`, which child processes inherit.

    Raises:
        ConfigError: a user has no password, or is given twice.
        UsageError: a user name is not valid, or the extra `security` is missing.
    """
    users: dict[str, str] = {}
    for text in options.users:
        name, password = _read_user(text, environment)
        if name in users:
            raise ConfigError(f"--user {name} is given twice: give each user once, with one password")
        users[name] = password
    return Development(tls=options.dev_tls, users=users or None, has_peers=options.brokers > 1)


def _read_user(text: str, environment: MutableMapping[str, str]) -> tuple[str, str]:
    """Return a name and a password from NAME:PASSWORD, or from NAME and the environment or the terminal."""
    name, colon, password = text.partition(":")
    if colon:
        return name, password
    variable = VARIABLE + re.sub(r"\W", "_", name).upper()
    if variable in environment:
        return name, environment.pop(variable)
    if sys.stdin is not None and sys.stdin.isatty():
        return name, getpass.getpass(f"password of {name}: ")
    raise ConfigError(f"--user {name} has no password: write --user {name}:PASSWORD, or set {variable}")


def write_client_files(development: Development, config: BrokerConfig, addresses: str) -> list[str]:
    """Write the file of the certificate authority, and a file for each user with the settings of Kafka's
    tools. Return lines that say where the latter are.

    Raises:
        StartError: a file cannot be written.
    """
    directory = config.log_dirs[0]
    development.write_ca(directory)
    lines = []
    for user in development.users or [None]:
        access = development.access(config, addresses, user, MECHANISM)
        settings = {name: str(value) for name, value in SETTINGS["java"](access).items()}
        path = client_file(directory, user, ".properties")
        write_secret(path, javaproperties.dumps(settings, timestamp=False))
        owner = "" if user is None else f" as {user}"
        lines.append(f"Kafka's tools connect{owner} with --command-config {path}")
    return lines
