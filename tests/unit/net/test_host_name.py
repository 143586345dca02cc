"""The name of this host: what Java calls canonical, and what is left where name servers do not help."""

from __future__ import annotations

import socket
import threading
from typing import TypeVar

import pytest

from kcompat.net.host_name import SystemNames, canonical_name, host_name

T = TypeVar("T")

ADDRESS = "10.1.2.3"
OTHER_ADDRESS = "10.1.2.4"


class Told:
    """`Names` from two tables."""

    def __init__(self, addresses: dict[str, list[str]], names: dict[str, str]) -> None:
        self._addresses = addresses
        self._names = names

    def own(self) -> str:
        return "here"

    def addresses_of(self, name: str) -> list[str]:
        return self._known(self._addresses, name)

    def name_of(self, address: str) -> str:
        return self._known(self._names, address)

    @staticmethod
    def _known(table: dict[str, T], asked: str) -> T:
        if asked not in table:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return table[asked]


KNOWN = Told({"here": [ADDRESS, OTHER_ADDRESS], "here.example.com": [ADDRESS]}, {ADDRESS: "here.example.com"})


@pytest.mark.parametrize(
    ("names", "canonical"),
    [
        (KNOWN, "here.example.com"),
        (Told({"here": [ADDRESS]}, {}), ADDRESS),
        (Told({"here": [ADDRESS]}, {ADDRESS: "elsewhere"}), ADDRESS),
        (Told({"here": [ADDRESS], "elsewhere": [OTHER_ADDRESS]}, {ADDRESS: "elsewhere"}), ADDRESS),
    ],
    ids=["known", "address without a name", "name without an address", "name of another address"],
)
def test_the_canonical_name_leads_back_to_the_address(names: Told, canonical: str) -> None:
    assert canonical_name(names) == canonical


async def test_a_name_that_is_known_is_told(caplog: pytest.LogCaptureFixture) -> None:
    assert await host_name(KNOWN) == "here.example.com"
    assert not caplog.messages


async def test_a_host_that_does_not_know_its_address_is_told_as_it_calls_itself(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert await host_name(Told({}, {})) == "here"
    (said,) = caplog.messages
    assert "Name or service not known" in said
    assert "advertised.listeners" in said


async def test_a_silent_name_server_is_not_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    answered = threading.Event()

    class Silent(Told):
        def addresses_of(self, name: str) -> list[str]:
            answered.wait()
            return super().addresses_of(name)

    try:
        assert await host_name(Silent({"here": [ADDRESS]}, {}), patience_s=0.01) == "here"
    finally:
        answered.set()
    (said,) = caplog.messages
    assert "no name server answers" in said


async def test_a_name_that_no_server_can_be_asked_for_is_told_as_it_is() -> None:
    class Odd(Told):
        def addresses_of(self, name: str) -> list[str]:
            return [str(name.encode("idna"))]

        def own(self) -> str:
            return "x" * 64

    assert await host_name(Odd({}, {})) == "x" * 64


def test_the_resolver_of_this_host_is_asked() -> None:
    names = SystemNames()
    assert names.own() == socket.gethostname()
    assert names.addresses_of("127.0.0.1") == ["127.0.0.1"]
    with pytest.raises(OSError, match=r"."):
        names.addresses_of("no name at all")
