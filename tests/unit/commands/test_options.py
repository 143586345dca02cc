"""The command line as joptsimple reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.admin.errors import JavaError
from kcompat.commands.options import CommandExit, OptionParser

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kcompat.commands.options import Options


def parsed(*words: str) -> Options:
    parser = OptionParser("This tool is for tests.")
    parser.accepts("topic", "A topic.", "topic")
    parser.accepts("list", "A list.")
    parser.accepts("timeout|t", "A timeout.", "ms")
    parser.accepts("filter", "A filter.", "filter", optional=True)
    parser.accepts_output()
    return parser.parse(words)


@pytest.mark.parametrize(
    "words",
    [
        ["--topic", "a", "--list"],
        ["--topic=a", "--list"],
        ["-topic", "a", "-list"],
        ["--list=ignored", "-topic=a"],
    ],
)
def test_the_ways_to_write_an_option(words: Sequence[str]) -> None:
    options = parsed(*words)
    assert options.value("topic") == "a"
    assert options.has("list")
    assert not options.has("timeout")


def test_an_option_takes_the_next_word_whatever_it_looks_like() -> None:
    assert parsed("--topic", "--list").given == {"topic": ["--list"]}


def test_short_names() -> None:
    assert parsed("-t", "5").number("timeout") == parsed("-t5").number("timeout") == 5


def test_an_optional_argument() -> None:
    assert parsed("--filter", "--list").given == {"filter": [], "list": []}
    assert parsed("--filter", "x").value("filter") == "x"


def test_words_of_no_option() -> None:
    assert parsed("a", "--list", "--", "--topic").rest == ["a", "--topic"]


@pytest.mark.parametrize(
    ("words", "look", "message"),
    [
        (["--nonsense"], lambda options: options, "nonsense is not a recognized option"),
        (["-x"], lambda options: options, "x is not a recognized option"),
        (["--top", "a"], lambda options: options, "top is not a recognized option"),
        (["--topic"], lambda options: options, "Option topic requires an argument"),
        (
            ["--topic", "a", "--topic", "b"],
            lambda options: options.value("topic"),
            "Found multiple arguments for option topic, but you asked for only one",
        ),
        (
            ["--timeout", "soon"],
            lambda options: options.number("timeout"),
            "Cannot parse argument 'soon' of option t/timeout",
        ),
    ],
)
def test_what_cannot_be_read(words: list[str], look: Callable[[Options], object], message: str) -> None:
    with pytest.raises(JavaError) as refused:
        look(parsed(*words))
    assert str(refused.value) == message
    assert refused.value.logged().startswith("joptsimple.")


@pytest.mark.parametrize(
    ("words", "look", "message"),
    [
        ([], lambda options: options.end_for_help(), "This tool is for tests."),
        (["--help", "--list"], lambda options: options.end_for_help(), "This tool is for tests."),
        (["--list"], lambda options: options.require("topic"), 'Missing required argument "[topic]"'),
        (
            ["--list", "-t1"],
            lambda options: options.forbid("list", ("timeout",)),
            'Option "[list]" can\'t be used with option "[t, timeout]"',
        ),
        (
            ["--list", "--topic", "a", "-t1"],
            lambda options: options.forbid_together(("list", "topic"), ("timeout",), "!"),
            'Option combination "[[list], [topic]]" can\'t be used with option "[t, timeout]"!',
        ),
        (["-o", "yaml"], lambda options: options.json, "--output takes text or json, not yaml"),
    ],
)
def test_ends_with_the_help_on_standard_error(
    words: list[str],
    look: Callable[[Options], object],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(CommandExit) as end:
        look(parsed(*words))
    printed = capsys.readouterr()
    assert end.value.code == 1
    assert printed.out == ""
    assert printed.err.startswith(f"{message}\nOption ")
    assert "--topic <topic>" in printed.err


def test_the_version_goes_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CommandExit) as end:
        parsed("--version").end_for_help()
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith("kcompat ")
