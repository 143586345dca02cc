"""The lines about listeners that a broker prints when it serves."""

from __future__ import annotations

import logging

import pytest

from kcompat.cli.announcement import announce, warn_of_unknown_names
from kcompat.node.listeners import ServedListener


def said(capsys: pytest.CaptureFixture[str], *listeners: ServedListener) -> list[str]:
    """Return the lines below the first one."""
    announce("h:9092", listeners, ["/a", "/b"], None, None)
    first, *others = capsys.readouterr().out.splitlines()
    assert first == "kcompat is listening on h:9092 and stores in /a, /b"
    return others


@pytest.mark.parametrize(
    "listeners",
    [
        [ServedListener("PLAINTEXT", "localhost", 9092, None)],
        [ServedListener("PLAINTEXT", "10.0.0.1", 9092, ("10.0.0.1", 9092))],
        [ServedListener("PLAINTEXT", "localhost", port, ("localhost", port)) for port in (9092, 9093)],
    ],
    ids=["alone", "told", "cluster"],
)
def test_one_line_says_all_where_clients_are_told_what_is_bound(
    listeners: list[ServedListener], capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(capsys, *listeners) == []


@pytest.mark.parametrize(
    ("listener", "line"),
    [
        (
            ServedListener("PLAINTEXT", "::", 9092, None),
            "listener PLAINTEXT is bound to every interface, port 9092; "
            "clients are told the address that they connect to",
        ),
        (
            ServedListener("OUT", "localhost", 9092, ("foo.invalid", 19092)),
            "listener OUT is bound to localhost:9092; clients are told foo.invalid:19092",
        ),
        (
            ServedListener("OUT", "::1", 9092, ("fd00::1", 9092)),
            "listener OUT is bound to [::1]:9092; clients are told [fd00::1]:9092",
        ),
    ],
)
def test_a_listener_has_a_line_where_clients_are_told_something_else(
    listener: ServedListener, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(capsys, listener) == [line]


def test_several_listeners_have_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(
        capsys,
        ServedListener("IN", "10.0.0.1", 1, ("10.0.0.1", 1)),
        ServedListener("OUT", "10.0.0.1", 2, None),
    )
    assert lines == [
        "listener IN is bound to 10.0.0.1:1; clients are told 10.0.0.1:1",
        "listener OUT is bound to 10.0.0.1:2; clients are told the address that they connect to",
    ]


@pytest.mark.parametrize("name", ["foo.invalid", "a..invalid"], ids=["unknown", "impossible"])
async def test_a_name_that_does_not_resolve_is_a_warning(name: str, caplog: pytest.LogCaptureFixture) -> None:
    told = ServedListener("OUT", "localhost", 1, (name, 19092))
    with caplog.at_level(logging.WARNING):
        await warn_of_unknown_names([told, told])
    (warning,) = caplog.messages
    assert warning.startswith(f"clients are told to connect to {name}:19092, but {name} does not resolve")


async def test_addresses_and_names_that_resolve_are_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    told = [None, ("localhost", 1), ("10.1.2.3", 1), ("fd00::1", 1)]
    with caplog.at_level(logging.WARNING):
        await warn_of_unknown_names([ServedListener("OUT", "localhost", 1, each) for each in told])
    assert caplog.messages == []


async def test_a_silent_name_server_is_waited_for_no_longer(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        await warn_of_unknown_names([ServedListener("OUT", "localhost", 1, ("foo.invalid", 1))], patience_s=0)
    (warning,) = caplog.messages
    assert "foo.invalid does not resolve within 0 s on this machine" in warning
