"""Variables in configuration values, `${PROVIDER:KEY}` or `${PROVIDER:PATH:KEY}` (KIP-297, KIP-421, KIP-887).

`config.providers` names the providers, and `config.providers.NAME.class` is the Kafka class of each.
A provider reads variables of the environment, keys of properties files, or files of a directory. Kafka's
counterparts: `ConfigTransformer` and the classes of `org.apache.kafka.common.config.provider`.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from kcompat.config.properties import read_properties
from kcompat.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_PROVIDERS: Final = "config.providers"
_PACKAGE: Final = "org.apache.kafka.common.config.provider"
_VARIABLE: Final = re.compile(r"\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}")


class Provider(Protocol):
    """A source of values."""

    def look_up(self, path: str, key: str) -> str | None:
        """Return the value of a key at a path, which may be empty; None if there is none.

        Raises:
            ConfigError: the path cannot be read.
        """


def resolve_variables(values: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the texts with their variables replaced by values.

    A variable stays as it is if no provider has its name or if the provider has no such key. Inserted values
    are not searched for further variables, nor are the settings of the providers themselves.

    Raises:
        ConfigError: a provider's class is not supported, its settings are invalid, or it cannot read the
            source of a variable.
    """
    providers = dict(_make_providers(values, environment))

    def value_of(variable: re.Match[str]) -> str:
        name, path, key = variable.groups(default="")
        found = providers[name].look_up(path, key) if name in providers else None
        return variable[0] if found is None else found

    return {name: _VARIABLE.sub(value_of, text) for name, text in values.items()}


def has_variable(text: str) -> bool:
    """Return whether the text contains a variable."""
    return _VARIABLE.search(text) is not None


def _make_providers(
    values: Mapping[str, str], environment: Mapping[str, str]
) -> Iterator[tuple[str, Provider]]:
    """Make the providers that `config.providers` names and that have a class; spaces in names are kept."""
    for name in values.get(_PROVIDERS, "").split(","):
        settings = f"{_PROVIDERS}.{name}"
        class_name = values.get(f"{settings}.class")
        if class_name is None:
            continue
        if class_name == f"{_PACKAGE}.EnvVarConfigProvider":
            yield name, EnvironmentProvider(environment, values.get(f"{settings}.param.allowlist.pattern"))
            continue
        allowed = AllowedPaths(f"{settings}.param.allowed.paths", values)
        if class_name == f"{_PACKAGE}.FileConfigProvider":
            yield name, FileProvider(allowed)
        elif class_name == f"{_PACKAGE}.DirectoryConfigProvider":
            yield name, DirectoryProvider(allowed)
        else:
            raise ConfigError(
                f"{settings}.class={class_name} is not supported: there are EnvVarConfigProvider, "
                f"FileConfigProvider and DirectoryConfigProvider of {_PACKAGE}"
            )


class EnvironmentProvider:
    """Variables of the environment whose whole names match a pattern (`EnvVarConfigProvider`)."""

    def __init__(self, environment: Mapping[str, str], pattern: str | None) -> None:
        """Take the variables; without a `pattern` all are included.

        Raises ConfigError for an invalid pattern.
        """
        self._environment = environment
        try:
            self._pattern = re.compile(".*" if pattern is None else pattern, re.DOTALL)
        except re.error as error:
            raise ConfigError(f"allowlist.pattern={pattern} is not a regular expression: {error}") from error

    def look_up(self, path: str, key: str) -> str | None:
        if path:
            raise ConfigError(f"${{...:{path}:{key}}} has a path, but variables of the environment have none")
        return self._environment.get(key) if self._pattern.fullmatch(key) else None


class FileProvider:
    """Keys of properties files (`FileConfigProvider`)."""

    def __init__(self, allowed: AllowedPaths) -> None:
        self._allowed = allowed

    def look_up(self, path: str, key: str) -> str | None:
        return read_properties(Path(path)).get(key) if path and self._allowed.have(path) else None


class DirectoryProvider:
    """Whole files of directories, by file name (`DirectoryConfigProvider`)."""

    def __init__(self, allowed: AllowedPaths) -> None:
        self._allowed = allowed

    def look_up(self, path: str, key: str) -> str | None:
        file = Path(path) / key
        if not path or not self._allowed.have(path) or file.parent != Path(path):
            return None
        try:
            return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else None
        except OSError as error:
            raise ConfigError(f"{file} cannot be read: {error.strerror}") from error


class AllowedPaths:
    """Directories and files that a provider may read: those of a setting, or all if it is empty."""

    def __init__(self, setting: str, values: Mapping[str, str]) -> None:
        """Read the paths from the key `setting`.

        Raises ConfigError if one of them is relative or does not exist.
        """
        text = values.get(setting)
        self._paths = [os.path.normpath(path) for path in text.split(",")] if text else None
        for path in self._paths or ():
            if not Path(path).is_absolute():
                raise ConfigError(f"{setting} has the path {path}, which is not absolute")
            if not Path(path).exists():
                raise ConfigError(f"{setting} has the path {path}, which does not exist")

    def have(self, path: str) -> bool:
        """Return whether a path is one of the allowed ones, or lies below one; links are not followed."""
        wanted = Path(os.path.normpath(path))
        return self._paths is None or any(wanted.is_relative_to(allowed) for allowed in self._paths)
