"""Options of the plugin: the command line wins over the ini file, and a mistake is explained."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from kcompat.testing.options import check_options, does_reset, external_address, port_of, settings

if TYPE_CHECKING:
    from collections.abc import Mapping


class Given:
    """A configuration of pytest with these values, on the command line and in the ini file."""

    def __init__(self, line: Mapping[str, object], ini: Mapping[str, object]) -> None:
        self._line = line
        self._ini = ini

    def getoption(self, name: str) -> object:
        return self._line.get(name)

    def getini(self, name: str) -> object:
        return self._ini.get(name, [] if name == "kcompat_config" else "")


def given(line: Mapping[str, object] | None = None, ini: Mapping[str, object] | None = None) -> pytest.Config:
    return cast("pytest.Config", Given(line or {}, ini or {}))


def test_nothing_is_set_by_default() -> None:
    assert external_address(given()) is None
    assert port_of(given()) == 0
    assert settings(given()) == {}
    assert not does_reset(given())


def test_the_command_line_wins_over_the_ini_file() -> None:
    both = given(
        {"kcompat_external": "a:1", "kcompat_port": "5", "kcompat_config": ["x=1=2"]},
        {"kcompat_external": "b:2", "kcompat_port": "6", "kcompat_config": ["x=3", " y = 4 "]},
    )
    assert external_address(both) == "a:1"
    assert port_of(both) == 5
    assert settings(both) == {"x": "1=2", "y": "4"}


def test_the_ini_file_counts_where_the_command_line_says_nothing() -> None:
    ini = given(ini={"kcompat_external": "a:1,[::1]:2", "kcompat_port": "6"})
    assert external_address(ini) == "a:1,[::1]:2"
    assert port_of(ini) == 6
    assert does_reset(given(ini={"kcompat_reset": True}))


@pytest.mark.parametrize(("worker", "port"), [("gw0", 70), ("gw3", 73), ("master", 70)])
def test_each_worker_has_a_port_of_its_own(worker: str, port: int) -> None:
    assert port_of(given({"kcompat_port": "70"}), worker) == port
    assert port_of(given(), worker) == 0


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("kcompat_external", "here", "kcompat_external=here is not an address: use HOST:PORT"),
        ("kcompat_external", "a:1,b:x", "kcompat_external=a:1,b:x is not an address: use HOST:PORT"),
        ("kcompat_port", "65536", "kcompat_port=65536 is not a port: use a number from 1 to 65535"),
        ("kcompat_port", "-1", "kcompat_port=-1 is not a port"),
        ("kcompat_config", ["x"], "kcompat_config=x is not a setting: use KEY=VALUE"),
        ("kcompat_config", ["=1"], "kcompat_config==1 is not a setting"),
    ],
)
def test_a_mistake_is_explained(name: str, value: object, sentence: str) -> None:
    with pytest.raises(pytest.UsageError) as raised:
        check_options(given({name: value}))
    assert str(raised.value).startswith(sentence)
