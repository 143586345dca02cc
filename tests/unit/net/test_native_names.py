"""Attributes that the native poll reads and calls by name exist."""

from __future__ import annotations

import asyncio

import pytest

from kcompat.net.answers import FrameHandler
from kcompat.net.hub import Hub
from kcompat.net.limits import Limits
from kcompat.net.plain import PlainConnection

_native = pytest.importorskip("kcompat.net._native")


async def test_each_name_is_of_a_connection_a_handler_a_hub_or_its_limits() -> None:
    hub = Hub(asyncio.get_running_loop())
    known = {*dir(PlainConnection), *dir(FrameHandler), *dir(Limits), *dir(hub)}
    assert set(_native.NAMES) - known == set()


@pytest.mark.parametrize(
    "name", ["_gate", "_held", "_answers", "_handler", "_deadline", "last_active", "lead"]
)
def test_what_is_read_of_a_connection_is_a_slot(name: str) -> None:
    assert name in _native.NAMES
    assert type(getattr(PlainConnection, name)).__name__ == "member_descriptor"
