"""Both scanners and both converters of records, for every test that depends on one."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import pytest

from kcompat.records import conversion, down_convert, scanning, up_convert, validate, wrapper

if TYPE_CHECKING:
    from types import ModuleType


@pytest.fixture(params=["_python", "_native"])
def scanner(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Each of the two, and everything above it using it."""
    module = built(request.param)
    monkeypatch.setattr(scanning, "scan", module.scan)
    monkeypatch.setattr(scanning, "read", module.read)
    monkeypatch.setattr(validate, "inspect", module.inspect)
    monkeypatch.setattr(validate, "INSPECTS_CRC", module.checks_crc())
    return module


@pytest.fixture(params=["_conversion_python", "_conversion"])
def converter(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Each of the two, and everything above it using it."""
    module = built(request.param)
    for user in (conversion, down_convert):
        monkeypatch.setattr(user, "write_messages", module.write_messages)
    for user in (conversion, up_convert):
        monkeypatch.setattr(user, "write_records", module.write_records)
    for user in (conversion, wrapper):
        monkeypatch.setattr(user, "write_wrapper", module.write_wrapper)
    return module


def built(name: str) -> ModuleType:
    """A module of `kcompat.records`; skips where it is an extension that was not built."""
    try:
        return importlib.import_module(f"kcompat.records.{name}")
    except ImportError:
        pytest.skip("the extension was not built")
