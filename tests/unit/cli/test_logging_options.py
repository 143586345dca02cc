"""The options about the log, and the variables that processes of brokers inherit."""

from __future__ import annotations

import pytest

from kcompat.cli.logging_options import FORMAT_VARIABLE, LOGGERS_VARIABLE, SLOW_VARIABLE, choose_logging
from kcompat.cli.parser import build_parser


def chosen(*words: str, **variables: str) -> tuple[str | None, dict[str, str]]:
    level = choose_logging(build_parser().parse_args(["start", *words]), variables)
    return level, variables


def test_levels_of_the_whole_and_of_loggers() -> None:
    words = ["--log-level", "info", "--log-level", "kafka.request.logger=debug", "--log-level", "a.b=WARN"]
    assert chosen(*words) == ("INFO", {LOGGERS_VARIABLE: "kafka.request.logger=DEBUG,a.b=WARN"})


def test_a_level_on_the_command_line_comes_after_those_of_the_variable() -> None:
    _, variables = chosen("--log-level", "a=INFO", **{LOGGERS_VARIABLE: "a=WARN"})
    assert variables == {LOGGERS_VARIABLE: "a=WARN,a=INFO"}


def test_the_format_and_the_limit_of_slow_requests() -> None:
    words = ["--log-format", "json", "--slow-request-ms", "250"]
    assert chosen(*words) == (None, {FORMAT_VARIABLE: "json", SLOW_VARIABLE: "250.0"})
    assert chosen() == (None, {})


@pytest.mark.parametrize("text", ["LOUD", "=DEBUG", "kafka.request.logger=LOUD", "kafka.request.logger"])
def test_a_level_that_there_is_not(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        build_parser().parse_args(["start", "--log-level", text])
    assert "is not LEVEL or LOGGER=LEVEL" in capsys.readouterr().err
