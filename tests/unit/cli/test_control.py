"""The control port that a command line or the variables of a container ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.cli.control import ControlSettings, settings_of_options, settings_of_variables
from kcompat.cli.parser import build_parser
from kcompat.config.errors import ConfigError
from kcompat.errors import UsageError

if TYPE_CHECKING:
    from argparse import Namespace


def options(*words: str) -> Namespace:
    return build_parser().parse_args(["start", *words])


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), None),
        (("--clock", "real"), None),
        (("--control-port", "0"), ControlSettings("127.0.0.1", 0)),
        (("--control-port", "8082", "--clock", "manual"), ControlSettings("127.0.0.1", 8082, True)),
    ],
)
def test_options(words: tuple[str, ...], expected: ControlSettings | None) -> None:
    assert settings_of_options(options(*words)) == expected


def test_options_that_contradict_each_other() -> None:
    with pytest.raises(UsageError, match="--clock manual needs --control-port, by which the time is moved"):
        settings_of_options(options("--clock", "manual"))
    with pytest.raises(
        UsageError, match="--control-port is for brokers in one process: leave out --processes"
    ):
        settings_of_options(options("--brokers", "2", "--processes", "--control-port", "0"))


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, None),
        ({"KCOMPAT_CONTROL_PORT": "", "KCOMPAT_CLOCK": ""}, None),
        ({"KCOMPAT_CONTROL_PORT": "8082"}, ControlSettings("", 8082)),
        ({"KCOMPAT_CONTROL_PORT": "8082", "KCOMPAT_CLOCK": "real"}, ControlSettings("", 8082)),
        ({"KCOMPAT_CONTROL_PORT": "8082", "KCOMPAT_CLOCK": "manual"}, ControlSettings("", 8082, True)),
    ],
)
def test_variables(variables: dict[str, str], expected: ControlSettings | None) -> None:
    assert settings_of_variables(variables) == expected


@pytest.mark.parametrize("port", ["0", "http", "65536", "-1", " 1"])
def test_a_variable_that_is_no_port(port: str) -> None:
    with pytest.raises(ConfigError) as refused:
        settings_of_variables({"KCOMPAT_CONTROL_PORT": port})
    assert str(refused.value) == (f"KCOMPAT_CONTROL_PORT={port} is not a port: use a number from 1 to 65535")


def test_variables_of_a_clock_that_cannot_be() -> None:
    with pytest.raises(ConfigError, match="KCOMPAT_CLOCK=frozen is no clock: use real or manual"):
        settings_of_variables({"KCOMPAT_CLOCK": "frozen"})
    with pytest.raises(ConfigError, match="KCOMPAT_CLOCK=manual needs KCOMPAT_CONTROL_PORT"):
        settings_of_variables({"KCOMPAT_CLOCK": "manual"})


def test_only_a_manual_clock_needs_an_event_loop_of_its_own() -> None:
    assert ControlSettings("", 1).loop_factory is None
    assert ControlSettings("", 1, True).loop_factory is not None
