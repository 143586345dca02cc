"""Conversion of the arguments of `Broker` and `Cluster` into texts of a configuration."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from kcompat.config.broker import as_log_dirs
from kcompat.config.known import insist_on_known
from kcompat.config.listeners import MAX_PORT, Endpoint, is_host
from kcompat.config.providers import resolve_variables
from kcompat.config.table import TOPIC_KEYS, broker_key
from kcompat.config.types import format_value
from kcompat.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from kcompat.node.development import Development
    from kcompat.security.acls import Acl

Setting: TypeAlias = "str | float | bool | timedelta | os.PathLike[str] | Sequence[str | float]"
"""A value of one of Kafka's keys; a sequence is a list, and a `timedelta` is for keys that end in a
unit of time.
"""

_UNITS: Final = {
    "ms": timedelta(milliseconds=1),
    "secs": timedelta(seconds=1),
    "seconds": timedelta(seconds=1),
    "minutes": timedelta(minutes=1),
    "hours": timedelta(hours=1),
}
"""Unit of time by the last word of a key."""

Settings: TypeAlias = Mapping[str, Setting]
"""Values by Kafka's keys."""


def read_settings(
    data_dir: str | os.PathLike[str] | None, host: str, port: int, config: Settings | None
) -> dict[str, str]:
    """Return the configured texts that the arguments specify, by Kafka's keys.

    Raises:
        UsageError: an argument is not valid, or two arguments contradict each other.
        ConfigError: `config` has a key that exists in no version of Kafka, a value that cannot be written as
            text, or a variable whose provider is not available.
    """
    if not isinstance(host, str) or (host and not is_host(host)):
        raise UsageError(f"host={host!r} is neither a name nor an address: use 127.0.0.1, for instance")
    check_port(port)
    is_mapping = config is None or (
        isinstance(config, Mapping) and all(isinstance(key, str) for key in config)
    )
    if not is_mapping:
        raise UsageError(
            f"config={config!r} is no mapping of names: use Kafka's keys, as in {{'num.partitions': 4}}"
        )
    values = {name: text_of(name, value) for name, value in (config or {}).items()}
    insist_on_known(values)
    if port and "listeners" in values:
        raise UsageError(
            f"port={port} and listeners={values['listeners']} both say where to listen: give one"
        )
    values.setdefault("listeners", str(Endpoint("PLAINTEXT", host, port, "PLAINTEXT")))
    if data_dir is not None:
        if "log.dirs" in values or "log.dir" in values:
            raise UsageError(f"data_dir={str(data_dir)!r} and log.dirs both say where to store: give one")
        values["log.dirs"] = as_log_dirs(_path_of(data_dir))
    return resolve_variables(values, os.environ)


def read_development(
    tls: bool,
    users: Mapping[str, str] | None,
    acls: Sequence[Sequence[Acl]] | None,
    *,
    has_peers: bool = False,
) -> Development:
    """Return the security that the arguments specify for a broker, or for several that are peers.

    Raises:
        UsageError: an argument is not valid, or `tls` needs libraries that are not installed.
    """
    if not isinstance(tls, bool):
        raise UsageError(f"tls={tls!r} is neither True nor False: for other certificates set Kafka's keys")
    if users is not None and not isinstance(users, Mapping):
        raise UsageError("users are no mapping: use passwords by user, as in {'alice': 'secret'}")
    if acls is not None and not isinstance(acls, list | tuple):
        raise UsageError(f"acls={acls!r} is no list: use what kcompat.allow and deny return, in a list")
    from kcompat.node.development import Development

    return Development(
        tls=tls,
        users=None if users is None else dict(users),
        acls=None if acls is None else _acls_of(acls),
        has_peers=has_peers,
    )


def _acls_of(acls: Sequence[Sequence[Acl]]) -> list[Acl]:
    """Return the ACLs of several calls of `allow` and `deny` as one list."""
    from kcompat.security.acls import Acl

    groups = [tuple(each) if isinstance(each, list | tuple) else (each,) for each in acls]
    found = list(chain.from_iterable(groups))
    if not all(isinstance(each, Acl) for each in found):
        raise UsageError(f"acls={acls!r} are not ACLs: use a list of what kcompat.allow and deny return")
    return found


def check_flag(name: str, value: bool) -> None:
    """Raise UsageError unless the argument of this name is True or False."""
    if not isinstance(value, bool):
        raise UsageError(f"{name}={value!r} is neither True nor False")


def check_timeout(timeout_s: float | None) -> None:
    """Raise UsageError unless `timeout_s` is a number of seconds for which a thread can wait; None stands for
    no limit.
    """
    is_number = isinstance(timeout_s, int | float) and not isinstance(timeout_s, bool)
    if timeout_s is not None and not (is_number and 0 <= timeout_s <= threading.TIMEOUT_MAX):
        raise UsageError(f"timeout_s={timeout_s!r} is not a time: use a number of seconds, such as 30")


def check_port(port: int, count: int = 1, *, name: str = "port") -> None:
    """Raise UsageError unless `count` ports in a row, from this one on, are TCP ports; 0 is any free port.
    `name` is that of the argument.
    """
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= MAX_PORT:
        raise UsageError(
            f"{name}={port!r} is not a port: use a number from 1 to {MAX_PORT}, or 0 for a free port"
        )
    if port and port + count - 1 > MAX_PORT:
        raise UsageError(f"{name}={port} leaves no room for {count} ports in a row: use a lower one, or 0")


def _path_of(data_dir: str | os.PathLike[str]) -> str:
    """Return the name of a directory, with the home directory of a user in place of `~` or `~USER`."""
    path = os.fspath(data_dir) if isinstance(data_dir, os.PathLike) else data_dir
    if not isinstance(path, str):
        raise UsageError(f"data_dir={data_dir!r} is not the name of a directory: use text or a path")
    try:
        return str(Path(path).expanduser()) if path.startswith("~") else path
    except RuntimeError as error:
        raise UsageError(f"data_dir={path!r} names the home of a user who is not known") from error


def text_of(name: str, value: Setting) -> str:
    """Return a value in the form that a properties file has. Raises ConfigError if it has none."""
    match value:
        case str():
            return value
        case bool() | int() | float():
            return format_value(value) or ""
        case timedelta() if name.rpartition(".")[2] in _UNITS:
            return _duration(name, value)
        case list() | tuple():
            return ",".join(text_of(name, element) for element in value)
        case os.PathLike():
            return os.fspath(value)
        case _:
            key = broker_key(name) or TOPIC_KEYS.get(name)
            shown = name if key is None or key.type.is_sensitive else f"{name}={value!r}"
            raise ConfigError(f"{shown} cannot be: use text, a number, True, False, or a list of those")


def _duration(name: str, value: timedelta) -> str:
    """Return a time in the unit that the key's name ends in; less than a millisecond is dropped."""
    stem, _, word = name.rpartition(".")
    if word != "ms" and value % _UNITS[word]:
        finer = f"{stem}.ms"
        hint = f": use {finer}" if broker_key(finer) else ""
        raise ConfigError(f"{name} cannot be {value}, which is not a whole number of {word}{hint}")
    return str(value // _UNITS[word])
