r"""`ssl.principal.mapping.rules`: from the name in a client's certificate to its principal (KIP-371).

A rule is `DEFAULT`, which takes the name as it is, or `RULE:pattern/replacement/`, with `L` or `U` behind it
for lower or upper case. The first rule whose pattern matches the whole name decides.

Clients choose the names, so a match must not take long: names have at most 4 KiB. A search takes exponential
time only if the pattern does not match, so `kcompat.regex` first decides in linear time whether it does.
Patterns that repeat a repetition, such as `(a+)+`, are refused, and so are constructs that RE2 lacks, such as
`(?=a)` and `\1`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from msgspec import Struct

from kcompat.errors import ConfigError
from kcompat.regex.classes import Alphabet
from kcompat.regex.nodes import PatternError
from kcompat.regex.parser import parse
from kcompat.regex.pattern import Pattern

SETTING: Final = "ssl.principal.mapping.rules"
MAX_NAME: Final = 4096
"""Maximum number of characters of a name that is mapped."""

_RULE: Final = (
    r"(?P<default>DEFAULT)|RULE:(?P<pattern>(?:\\.|[^\\/])*)/(?P<text>(?:\\.|[^\\/])*)/(?P<case>[LU]?)"
)
_SPLITTER: Final = re.compile(rf"\s*(?P<rule>{_RULE}.*?|.*?)\s*(?:,\s*|$)")
_PARSER: Final = re.compile(_RULE)
_REFERENCE: Final = re.compile(r"\\(?P<literal>.)|\$(?P<group>\d+)", re.DOTALL)
_LINE_BREAKS: Final = frozenset("\n\r\x85\u2028\u2029")
"""Characters that Java's `.` does not match."""
_COUNT: Final = re.compile(r"\{\d+(,\d*)?\}")


class Mapping(Struct, frozen=True):
    """A pattern, and the replacement for names that match it."""

    pattern: str
    search: re.Pattern[str]
    replacement: tuple[str | int, ...]
    """Replacement, as texts and numbers of groups of the pattern."""
    case: str
    """`L`, `U` or nothing."""

    def apply(self, name: str) -> str | None:
        """Return the principal's name, or None if the pattern does not match the whole name."""
        if not _LINE_BREAKS.isdisjoint(name) or not _matches(self.pattern, name):
            return None
        # As in Kafka all matches are replaced, of which the first need not be the whole name.
        result = self.search.sub(self._expand, name)
        if self.case:
            return result.lower() if self.case == "L" else result.upper()
        return result

    def _expand(self, match: re.Match[str]) -> str:
        return "".join(part if isinstance(part, str) else match[part] or "" for part in self.replacement)


@lru_cache(maxsize=64)
def read_rules(text: str) -> tuple[Mapping | None, ...]:
    """Return the rules in their order; None stands for `DEFAULT`.

    Raises:
        ConfigError: a rule cannot be read, or is not supported.
    """
    rules: list[Mapping | None] = []
    for found in _SPLITTER.finditer(text.strip()):
        rule = found["rule"]
        if not rule:
            continue
        parts = _PARSER.match(rule)
        if parts is None or parts.end() < len(rule):
            rest = rule[parts.end() :] if parts is not None else rule
            raise ConfigError(f"{SETTING} has an invalid rule: `{rule}`, unmatched substring: `{rest}`")
        rules.append(None if parts["default"] else _mapping(parts["pattern"], parts["text"], parts["case"]))
    return tuple(rules)


def principal_name(rules: tuple[Mapping | None, ...], name: str) -> str | None:
    """Return the principal's name for the name in a certificate; None if no rule applies to it, or it is too
    long.
    """
    if len(name) > MAX_NAME:
        return None
    for rule in rules:
        result = name if rule is None else rule.apply(name)
        if result is not None:
            return result
    return None


def _mapping(pattern: str, replacement: str, case: str) -> Mapping:
    try:
        parse(pattern)
        search = re.compile(pattern)
    except (PatternError, re.error) as error:
        raise ConfigError(f"{SETTING} has the pattern `{pattern}`, which is not supported: {error}") from None
    if _repeats_repetition(pattern):
        raise ConfigError(
            f"{SETTING} has the pattern `{pattern}`, which repeats a repetition: a match could take for ever"
        )
    parts = _parts(replacement, search.groups)
    if not search.groups and any(isinstance(part, int) and part for part in parts):
        raise ConfigError(f"{SETTING} has the replacement `{replacement}`, but the pattern has no group")
    return Mapping(pattern, search, parts, case)


def _parts(replacement: str, groups: int) -> tuple[str | int, ...]:
    """Return the texts and group numbers of a replacement in Java's form.

    A number too high for a group ends one digit earlier. One that is still too high is text if the pattern
    has any group, as in Kafka.
    """
    parts: list[str | int] = []
    start = 0
    for found in _REFERENCE.finditer(replacement):
        parts.append(replacement[start : found.start()])
        start = found.end()
        if found["literal"] is not None:
            parts.append(found["literal"])
            continue
        digits = found["group"]
        size = len(digits)
        while size > 1 and int(digits[:size]) > groups:
            size -= 1
        number = int(digits[:size])
        is_text = number > groups > 0
        parts += [f"${digits[:size]}" if is_text else number, digits[size:]]
    parts.append(replacement[start:])
    return tuple(part for part in parts if part != "")


def _repeats_repetition(pattern: str) -> bool:
    """Return whether a group that contains a repetition is repeated itself."""
    open_groups = [False]  # whether each has a repetition
    place, closed = 0, False  # `closed`: the last part is a group with a repetition
    while place < len(pattern):
        character = pattern[place]
        counted = _COUNT.match(pattern, place)
        if character in "*+" or counted is not None:
            if closed:
                return True
            open_groups[-1] = True
            place = counted.end() if counted is not None else place + 1
            continue
        closed = False
        if character == "(":
            open_groups.append(False)
        elif character == ")":
            closed = open_groups.pop()
            open_groups[-1] |= closed
        place = _end_of_part(pattern, place)
    return False


def _end_of_part(pattern: str, place: int) -> int:
    """Return the position after the character, escape or class at `place`."""
    if pattern[place] == "\\":
        return place + 2
    if pattern[place] != "[":
        return place + 1
    place += 2 if pattern.startswith("[^", place) else 1
    place += pattern.startswith("]", place)
    while place < len(pattern) and pattern[place] != "]":
        place += 2 if pattern[place] == "\\" else 1
    return place + 1


@lru_cache(maxsize=64)
def _compiled(pattern: str, beyond: str) -> Pattern:
    alphabet = Alphabet(beyond)
    return Pattern(parse(pattern, alphabet), alphabet)


def _matches(pattern: str, name: str) -> bool:
    beyond = "".join(sorted({character for character in name if not character.isascii()}))
    return _compiled(pattern, beyond).matches(name)
