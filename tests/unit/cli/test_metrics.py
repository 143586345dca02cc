"""Metrics ports by the command line and by variables."""

from __future__ import annotations

import argparse

import pytest

from kcompat.cli.metrics import HOST_VARIABLE, PORT_VARIABLE, add_metrics, choose_metrics, metrics_ports
from kcompat.config.errors import ConfigError
from kcompat.errors import UsageError


def chosen(words: str, variables: dict[str, str] | None = None) -> dict[str, str]:
    """Return the variables after a command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--processes", action="store_true")
    add_metrics(parser)
    found = dict(variables or {})
    choose_metrics(parser.parse_args(words.split()), found)
    return found


def test_the_command_line_counts_before_the_variables() -> None:
    assert chosen("", {PORT_VARIABLE: "9"}) == {PORT_VARIABLE: "9"}
    assert chosen("--metrics-port 8", {PORT_VARIABLE: "9"}) == {PORT_VARIABLE: "8"}
    assert chosen("--metrics-host ::1", {PORT_VARIABLE: "9"}) == {PORT_VARIABLE: "9", HOST_VARIABLE: "::1"}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--metrics-host 0.0.0.0", "--metrics-host needs --metrics-port, which opens the port"),
        ("--metrics-port 0 --processes", "--metrics-port 0 is for brokers in one process: use a number"),
    ],
)
def test_options_that_contradict_each_other_are_refused(words: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        chosen(words)


def test_there_is_no_port_unless_one_is_asked_for() -> None:
    assert metrics_ports({}, 1) is None
    assert metrics_ports({PORT_VARIABLE: ""}, 1) is None
    assert metrics_ports({PORT_VARIABLE: "0"}, 1) is not None


@pytest.mark.parametrize(("text", "brokers"), [("metrics", 1), ("-1", 1), ("65536", 1), ("65535", 2)])
def test_a_variable_that_is_no_port_is_refused(text: str, brokers: int) -> None:
    with pytest.raises(ConfigError, match=f"{PORT_VARIABLE}={text} is not a port"):
        metrics_ports({PORT_VARIABLE: text}, brokers)
