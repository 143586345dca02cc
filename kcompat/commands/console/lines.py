"""Lines of standard input as records: `kafka.tools.ConsoleProducer$LineMessageReader`.

A line is a value, or headers, a key and a value with separators between them, as the properties of
`--property` and `--reader-config` say.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import select
from typing import TYPE_CHECKING, Final, NamedTuple

from kcompat.admin.errors import JavaError, kafka_error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.records.record import Header

_SEPARATORS: Final = {
    "key.separator": "\t",
    "headers.delimiter": "\t",
    "headers.separator": ",",
    "headers.key.separator": ":",
}
_DIFFERENT: Final = (
    ("headers.delimiter", "headers.separator"),
    ("headers.delimiter", "headers.key.separator"),
    ("headers.separator", "headers.key.separator"),
)
"""Pairs of separators that may not be equal, in the order in which Kafka compares them."""
_NOT_NULL_MARKER: Final = ("key.separator", "headers.separator", "headers.delimiter", "headers.key.separator")
_PIECE_BYTES: Final = 1 << 16


class Line(NamedTuple):
    """The record that one line stands for; None is null."""

    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()


class LineReader:
    """Reader of lines by the properties of a command line."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        """Check the properties. Raises JavaError where two separators cannot be told apart."""
        separators = {name: properties.get(name, default) for name, default in _SEPARATORS.items()}
        for one, other in _DIFFERENT:
            if separators[one] == separators[other]:
                raise kafka_error(f"{one} and {other} may not be equal")
        self._null = properties.get("null.marker")
        for name in _NOT_NULL_MARKER:
            if separators[name] == self._null:
                raise kafka_error(f"null.marker and {name} may not be equal")
        self._key_separator = separators["key.separator"]
        self._delimiter = separators["headers.delimiter"]
        self._between_headers = _pattern(separators["headers.separator"])
        self._in_header = separators["headers.key.separator"]
        self._has_key = _is_true(properties, "parse.key")
        self._has_headers = _is_true(properties, "parse.headers")
        self._tolerates = _is_true(properties, "ignore.error")
        self._is_plain = not self._has_key and not self._has_headers and self._null is None
        self._number = 0

    def read(self, line: str) -> Line:
        """Return the record of the next line, which has no line end.

        Raises:
            JavaError: a separator is missing, and the property `ignore.error` is not set.
        """
        self._number += 1
        if self._is_plain:
            return Line(None, line.encode())
        headers, start = self._part(self._has_headers, line, 0, self._delimiter, "headers delimiter")
        key, start = self._part(self._has_key, line, start, self._key_separator, "key separator")
        found = () if headers is None or headers == self._null else self._headers(headers)
        return Line(self._bytes(key), self._bytes(line[start:]), found)

    def _part(
        self, is_there: bool, line: str, start: int, separator: str, name: str
    ) -> tuple[str | None, int]:
        """Return the text from `start` up to the separator, and the position after that."""
        if not is_there:
            return None, start
        end = line.find(separator, start)
        if end >= 0:
            return line[start:end], end + len(separator)
        if self._tolerates:
            return None, start
        raise kafka_error(f"No {name} found on line number {self._number}: '{line}'")

    def _bytes(self, text: str | None) -> bytes | None:
        return None if text is None or text == self._null else text.encode()

    def _headers(self, text: str) -> tuple[Header, ...]:
        pairs = self._between_headers.split(text)
        while len(pairs) > 1 and not pairs[-1]:  # Java's `split` drops empty texts at the end
            pairs.pop()
        return tuple(map(self._header, pairs))

    def _header(self, pair: str) -> Header:
        name, separator, value = pair.partition(self._in_header)
        if not separator:
            if self._tolerates:
                return pair, None
            raise kafka_error(f"No header key separator found in pair '{pair}' on line number {self._number}")
        if name == self._null:
            raise kafka_error(
                f"Header keys should not be equal to the null marker '{name}' as they can't be null"
            )
        return name, self._bytes(value)


def _pattern(text: str) -> re.Pattern[str]:
    """Return the regular expression that divides headers. Raises JavaError if `text` is none."""
    try:
        return re.compile(text)
    except re.error as error:
        raise JavaError(
            "PatternSyntaxException",
            f"headers.separator={text} is not a regular expression: {error}",
            package="java.util.regex.",
        ) from None


def _is_true(properties: Mapping[str, str], name: str) -> bool:
    return properties.get(name, "").strip().lower() == "true"


class LineSource:
    """Lines of a file or a terminal, read in pieces, so that waiting for more lines can stop at any time."""

    def __init__(self, descriptor: int) -> None:
        """Read from a file descriptor. Bytes that are not UTF-8 become U+FFFD, as in Java."""
        self._descriptor = descriptor
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._decoder = io.IncrementalNewlineDecoder(decoder, translate=True)
        self._begun: list[str] = []  # pieces of a line whose end has not been read
        self.is_over = False
        """Whether the end of the input was read."""

    def wait(self, timeout_s: float | None) -> bool:
        """Wait for input, at most this long if a time is given; return whether there is some."""
        return bool(select.select([self._descriptor], [], [], timeout_s)[0])

    def read(self) -> list[str]:
        """Read the available input, or wait for some; return the lines that it completes."""
        piece = os.read(self._descriptor, _PIECE_BYTES)
        self.is_over = not piece
        text = self._decoder.decode(piece, final=self.is_over)
        if "\n" in text:
            *lines, rest = text.split("\n")
            lines[0] = "".join([*self._begun, lines[0]])
            self._begun = [rest] if rest else []
        else:
            lines = []
            if text:
                self._begun.append(text)
        if self.is_over and self._begun:
            lines.append("".join(self._begun))
            self._begun = []
        return lines
