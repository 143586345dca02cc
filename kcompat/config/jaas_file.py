"""JAAS files, which the Java option `java.security.auth.login.config` names. They hold logins that are not in
the settings.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kcompat.config.errors import ConfigError
from kcompat.config.table import mechanism_key
from kcompat.security.login_lines import LOGIN_MODULES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

OPTION: Final = re.compile(r"-Djava\.security\.auth\.login\.config=(\S+)")
"""Option of a Java virtual machine that names the file."""

_TOKEN: Final = re.compile(
    r"""
    (?P<blank> \s+ | /\*.*?\*/ | //[^\n]* )
    | (?P<mark> [{};] )
    | (?P<text> "(?:\\.|[^"\\])*" | [^\s{};"]+ )
    """,
    re.VERBOSE | re.DOTALL,
)


def read_jaas_file(path: Path) -> dict[str, list[str]]:
    """Return the login lines of each section of a file, such as `KafkaServer`.

    Raises:
        ConfigError: the file cannot be read or understood. The message quotes no part of the file, which
            contains secrets.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigError(f"the JAAS file {path} cannot be read: {reason}") from None
    try:
        return _sections(_tokens(text))
    except ValueError:
        raise ConfigError(
            f"the JAAS file {path} is not of the form NAME {{ CLASS FLAG OPTIONS; }};"
        ) from None


def _tokens(text: str) -> list[str]:
    tokens, position = [], 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ValueError
        position = match.end()
        if match["blank"] is None:
            tokens.append(match[0])
    return tokens


def _sections(tokens: list[str]) -> dict[str, list[str]]:
    sections: dict[str, list[str]] = {}
    rest = iter(tokens)
    for name in rest:
        if next(rest, "") != "{":
            raise ValueError
        lines = sections[name.strip('"')] = []
        line: list[str] = []
        for word in rest:
            if word == "}":
                break
            line.append(word)
            if word == ";":
                lines.append(" ".join(line[:-1]) + ";")
                line = []
        if line or next(rest, "") != ";":
            raise ValueError
    return sections


def logins_of_listeners(sections: Mapping[str, list[str]], listeners: Iterable[str]) -> dict[str, str]:
    """Return the settings that correspond to the sections for brokers: the login line of each mechanism of
    each listener.

    A section for one listener, such as `internal.KafkaServer`, replaces `KafkaServer`.
    """
    settings = {}
    for listener in listeners:
        lines = sections.get(f"{listener.lower()}.KafkaServer") or sections.get("KafkaServer", [])
        for line in lines:
            for mechanism, module in LOGIN_MODULES.items():
                if line.startswith(f"{module} "):
                    settings[mechanism_key(listener, mechanism, "sasl.jaas.config")] = line
    return settings
