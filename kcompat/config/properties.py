"""The sources of the static configuration: a .properties file, the environment, the command line."""

from __future__ import annotations

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.config.errors import ConfigError
from kcompat.config.java_text import trim
from kcompat.config.known import insist_on_known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

ENVIRONMENT_PREFIX = "KAFKA_"

_NOT_KEYS = frozenset(
    {
        "KAFKA_CREATE_TOPICS",
        "KAFKA_GC_LOG_OPTS",
        "KAFKA_HEAP_OPTS",
        "KAFKA_HOME",
        "KAFKA_JMX_HOSTNAME",
        "KAFKA_JMX_OPTS",
        "KAFKA_JMX_PORT",
        "KAFKA_JVM_PERFORMANCE_OPTS",
        "KAFKA_LOG4J_LOGGERS",
        "KAFKA_LOG4J_OPTS",
        "KAFKA_LOG4J_ROOT_LOGLEVEL",
        "KAFKA_OPTS",
        "KAFKA_TOOLS_LOG4J_LOGLEVEL",
        "KAFKA_VERSION",
    }
)
"""Variables for Kafka's image and scripts, which are not configuration keys."""

_UNDERSCORES = re.compile("_{1,3}")
_FROM_UNDERSCORES = {"_": ".", "__": "_", "___": "-"}
_LINE_END = re.compile(r"\r\n|\r|\n")
MAX_FILE_BYTES = 1 << 20


class Setting(Struct, frozen=True):
    """The text of one key, and the place that sets it: a line of a file, or a variable."""

    key: str
    text: str
    line: int | None = None
    """Number of the first line of the setting, from 1; None for a variable."""
    variable: str | None = None
    """Name of the variable of the environment; None for a line of a file."""


def read_properties(path: Path) -> dict[str, str]:
    """Read the keys and values of a .properties file.

    Raises:
        ConfigError: the file cannot be read, or is not a .properties file.
    """
    return {setting.key: setting.text for setting in read_settings(path)}


def read_settings(path: Path) -> list[Setting]:
    """Read the settings of a .properties file in their order; a key may be there several times.

    Raises:
        ConfigError: the file cannot be read, or is not a .properties file.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    if len(content) > MAX_FILE_BYTES:
        raise ConfigError(f"{path} is larger than {MAX_FILE_BYTES} bytes, which no configuration is")
    if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise ConfigError(f"{path} is encoded in UTF-16, in which no key can be found: save it as UTF-8")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = content.decode("latin-1")  # Java's encoding of such files
    try:
        return list(parse_settings(text))
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def parse_properties(text: str) -> dict[str, str]:
    """Parse the keys and values in the text of a .properties file; the last of equal keys counts.

    Raises:
        ConfigError: the text has an escape that Java does not know.
    """
    return {setting.key: setting.text for setting in parse_settings(text)}


def parse_settings(text: str) -> Iterator[Setting]:
    """Yield the settings in the text of a .properties file, in their order.

    Raises:
        ConfigError: the text has an escape that Java does not know.
    """
    # Imported here: the import takes 40 ms, and a broker started without a file does not need it.
    import javaproperties

    line = 1
    try:
        for element in javaproperties.parse(text):
            if isinstance(element, javaproperties.KeyValue):
                yield Setting(element.key, element.value, line)
            line += len(_LINE_END.findall(element.source))
    except javaproperties.InvalidUEscapeError as error:
        raise ConfigError(f"{error.escape} is not a Unicode escape") from error


def parse_overrides(overrides: Iterable[str]) -> dict[str, str]:
    """Parse `--override key=value` arguments.

    Raises:
        ConfigError: an argument has no "=" or no key.
    """
    values: dict[str, str] = {}
    for override in overrides:
        key, separator, value = override.partition("=")
        if not separator or not trim(key):
            raise ConfigError(f"--override {override} is not of the form key=value")
        values[trim(key)] = trim(value)
    return values


def from_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the keys set by variables `KAFKA_...`, by the rule of Kafka's image.

    After the prefix, `_` stands for a dot, `__` for an underscore and `___` for a dash; letters are lowered:
    `KAFKA_LOG_RETENTION_HOURS` is `log.retention.hours`.
    """
    return {setting.key: setting.text for setting in settings_of_variables(environment)}


def settings_of_variables(environment: Mapping[str, str]) -> Iterator[Setting]:
    """Yield the settings that the variables `KAFKA_...` make, as `from_environment` reads them."""
    for name, value in sorted(environment.items()):
        if (
            name.startswith(ENVIRONMENT_PREFIX)
            and name not in _NOT_KEYS
            and len(name) > len(ENVIRONMENT_PREFIX)
        ):
            yield Setting(key_of_variable(name), value, variable=name)


def key_of_variable(name: str) -> str:
    """Return the key of a variable `KAFKA_...`."""
    rest = name.removeprefix(ENVIRONMENT_PREFIX).lower()
    return _UNDERSCORES.sub(lambda match: _FROM_UNDERSCORES[match[0]], rest)


def load_static(
    path: Path | None, environment: Mapping[str, str], overrides: Iterable[str]
) -> dict[str, str]:
    """Return the static configuration: the file, overridden by the environment, overridden by the command
    line.

    Raises:
        ConfigError: a setting cannot be understood, or the command line has a key that exists in no Kafka
            version.
    """
    values = {} if path is None else read_properties(path)
    values.update(from_environment(environment))
    ours = parse_overrides(overrides)
    insist_on_known(ours)
    return values | ours
