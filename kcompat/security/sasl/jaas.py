"""JAAS lines, the form in which Kafka's settings name a login: `CLASS FLAG NAME=VALUE NAME=VALUE;`.

The grammar is that of Kafka's `JaasConfig`: values may be quoted, with Java's escapes; `/` outside of quotes
begins a comment. No error repeats a part of the line, since any part may be a secret.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kcompat.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FLAGS: Final = ("required", "requisite", "sufficient", "optional")
"""Control flags, in lower case. Each has the same effect, since a line names one login module."""

_TOKEN: Final = re.compile(
    r"""
    (?P<blank> [\x00-\x20]+ | /\*.*?(?:\*/|\Z) | /[^\r\n]* )
    | (?P<mark> [=;] )
    | (?P<quote> ["'] ) (?P<quoted> (?: \\. | (?!(?P=quote)) [^\\\r\n] )* ) (?P<end> (?P=quote) )?
    | (?P<word> [^\x00-\x20/"'=;]+ )
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|.)", re.DOTALL)
_CONTROL_CHARACTERS: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}

_Token = tuple[str, bool]
"""A text, and whether it is a mark: `=` or `;` outside of quotes."""

_END: Final[_Token] = ("", True)


class JaasLogin(Struct, frozen=True):
    """The login that a JAAS line names. Its options may be secret, so its `repr` leaves them out."""

    module: str
    """Java class of the login module."""
    options: Mapping[str, str]

    def __repr__(self) -> str:
        return f"JaasLogin({self.module})"

    __str__ = __repr__


def parse_jaas(line: str) -> JaasLogin:
    """Return the login of a JAAS line.

    Raises:
        ConfigError: the line is malformed, or does not name exactly one login. The message is the end of a
            sentence that begins with the name of the setting.
    """
    tokens = iter(list(_tokens(line)))
    module, is_mark = next(tokens, _END)
    if is_mark:
        raise ConfigError("does not begin with the class of a login module")
    flag, is_mark = next(tokens, _END)
    if is_mark or flag.lower() not in FLAGS:
        raise ConfigError(f"has none of {', '.join(FLAGS)} behind the class of the login module")
    options: dict[str, str] = {}
    while (token := next(tokens, _END)) != (";", True):
        _read_option(token, tokens, options)
    if next(tokens, None) is not None:
        raise ConfigError("goes on behind its `;`, and only one login module is allowed")
    return JaasLogin(module, options)


def _read_option(token: _Token, tokens: Iterator[_Token], options: dict[str, str]) -> None:
    name, is_mark = token
    if token == _END:
        raise ConfigError("does not end with `;` (a value with `/`, `;`, `=` or a space must be quoted)")
    if is_mark:
        raise ConfigError("has a `=` without the name of an option before it")
    equals, (value, is_mark) = next(tokens, _END), next(tokens, _END)
    if equals != ("=", True) or is_mark:
        raise ConfigError(
            f"has no value for its option {len(options) + 1}, which must be of the form NAME=VALUE"
        )
    options[name] = value


def _tokens(line: str) -> Iterator[_Token]:
    position = 0
    while position < len(line):
        match = _TOKEN.match(line, position)
        assert match is not None, "a character is a blank, a mark, or begins a quote or a word"
        position = match.end()
        if match["mark"] is not None:
            yield match["mark"], True
        elif match["word"] is not None:
            yield match["word"], False
        elif match["quote"] is not None:
            if match["end"] is None:
                raise ConfigError("has a quote that is not closed")
            yield _ESCAPE.sub(_unescaped, match["quoted"]), False


def _unescaped(escape: re.Match[str]) -> str:
    """Return the character of an escape sequence; a backslash before any other character is dropped."""
    text = escape[1]
    return chr(int(text, 8)) if text[0] in "01234567" else _CONTROL_CHARACTERS.get(text, text)
