"""Both scanners and both converters of records, for the tests that say what they do.

What is above them is tested with those that this process uses (see `kcompat.capabilities`).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType


@pytest.fixture(params=["_python", "_native"])
def scanner(request: pytest.FixtureRequest) -> ModuleType:
    """Each of the two."""
    return built(request.param)


@pytest.fixture(params=["_conversion_python", "_conversion"])
def converter(request: pytest.FixtureRequest) -> ModuleType:
    """Each of the two."""
    return built(request.param)


def built(name: str) -> ModuleType:
    """A module of `kcompat.records`; skips where it is an extension that was not built."""
    try:
        return importlib.import_module(f"kcompat.records.{name}")
    except ImportError:
        pytest.skip("the extension was not built")
