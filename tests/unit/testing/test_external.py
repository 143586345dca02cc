"""A broker that the tests did not start."""

from __future__ import annotations

import copy

import pytest

from kcompat.errors import UsageError
from kcompat.testing.external import ExternalBroker


@pytest.mark.parametrize(
    ("address", "host", "port"), [("a:1", "a", 1), ("a:1, b:2", "a", 1), ("[::1]:9092", "::1", 9092)]
)
def test_addresses(address: str, host: str, port: int) -> None:
    broker = ExternalBroker(address)
    assert (broker.bootstrap_servers, broker.host, broker.port) == (address, host, port)
    assert repr(broker) == f"<ExternalBroker at {address}>"


def test_what_only_kcompat_can_do_is_said() -> None:
    broker = ExternalBroker("a:1")
    with pytest.raises(UsageError, match="the broker at a:1 has no 'reset', which only"):
        broker.reset()  # type: ignore[operator]
    with pytest.raises(UsageError, match="the password of 'alice' is not known"):
        broker.client_config("alice")


def test_tools_that_look_for_special_methods_find_none() -> None:
    assert not hasattr(ExternalBroker("a:1"), "__len__")
    assert copy.copy(ExternalBroker("a:1")).bootstrap_servers == "a:1"
