"""Lines of standard input become records as Kafka's line reader makes them."""

from __future__ import annotations

import os

import pytest

from kcompat.admin.errors import JavaError
from kcompat.commands.console.lines import Line, LineReader, LineSource

KEYED = {"parse.key": "true", "key.separator": ":"}


@pytest.mark.parametrize(
    ("properties", "line", "record"),
    [
        ({}, "a\tb", Line(None, b"a\tb")),
        ({"parse.key": "TRUE "}, "k\tv\tw", Line(b"k", b"v\tw")),
        (KEYED, "k:", Line(b"k", b"")),
        (KEYED | {"ignore.error": "true"}, "no key", Line(None, b"no key")),
        (KEYED | {"null.marker": "NULL"}, "NULL:NULL", Line(None, None)),
        ({"parse.headers": "true"}, "h:1,i:2\tv", Line(None, b"v", (("h", b"1"), ("i", b"2")))),
        (
            {"parse.headers": "true", "parse.key": "true", "null.marker": "NULL"},
            "NULL\tk\tv",
            Line(b"k", b"v"),
        ),
        (
            {"parse.headers": "true", "null.marker": "NULL", "headers.separator": "\\|"},
            "h:NULL|i:x|\tNULL",
            Line(None, None, (("h", None), ("i", b"x"))),
        ),
        ({"parse.headers": "true", "ignore.error": "true"}, "h\tv", Line(None, b"v", (("h", None),))),
        ({}, "grün", Line(None, "grün".encode())),
    ],
)
def test_line_is_parsed(properties: dict[str, str], line: str, record: Line) -> None:
    assert LineReader(properties).read(line) == record


@pytest.mark.parametrize(
    ("properties", "line", "message"),
    [
        (KEYED, "nokey", "No key separator found on line number 2: 'nokey'"),
        ({"parse.headers": "true"}, "x", "No headers delimiter found on line number 2: 'x'"),
        (
            {"parse.headers": "true"},
            "h\tv",
            "No header key separator found in pair 'h' on line number 2",
        ),
        (
            {"parse.headers": "true", "null.marker": "N"},
            "N:1\tv",
            "Header keys should not be equal to the null marker 'N' as they can't be null",
        ),
    ],
)
def test_line_without_separator_is_refused(properties: dict[str, str], line: str, message: str) -> None:
    reader = LineReader(properties | {"ignore.error": "false"})
    good = "h:1\tk:v" if "parse.headers" in properties else "k:v"
    reader.read(good)
    with pytest.raises(JavaError) as caught:
        reader.read(line)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"headers.delimiter": ","}, "headers.delimiter and headers.separator may not be equal"),
        ({"headers.key.separator": ","}, "headers.separator and headers.key.separator may not be equal"),
        ({"null.marker": "\t"}, "null.marker and key.separator may not be equal"),
        ({"headers.separator": "["}, r"headers.separator=\[ is not a regular expression"),
    ],
)
def test_separators_that_cannot_be_are_refused(properties: dict[str, str], message: str) -> None:
    with pytest.raises(JavaError, match=message):
        LineReader(properties)


def test_source_yields_lines_of_any_line_end() -> None:
    reading, writing = os.pipe()
    source = LineSource(reading)
    assert not source.wait(0)
    os.write(writing, b"one\ntw")
    assert source.wait(0)
    assert source.read() == ["one"]
    os.write(writing, "o\r\nthrée\rfo".encode() + b"\xff")
    assert source.read() == ["two", "thrée"]
    os.write(writing, b"ur")
    assert source.read() == []
    os.close(writing)
    assert source.read() == ["fo\ufffdur"]
    assert source.is_over
    os.close(reading)
