"""Both scanners of records, for every test that depends on one."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import pytest

from kcompat.records import scanning

if TYPE_CHECKING:
    from types import ModuleType


@pytest.fixture(params=["_python", "_native"])
def scanner(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Each of the two, and everything above it using it."""
    try:
        module = importlib.import_module(f"kcompat.records.{request.param}")
    except ImportError:
        pytest.skip("the extension was not built")
    monkeypatch.setattr(scanning, "scan", module.scan)
    monkeypatch.setattr(scanning, "read", module.read)
    return module
