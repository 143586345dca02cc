"""Makes importable here: the broker process of the tests with real clients. And both twins of the poll."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from kcompat.net import poller

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "interop-tests"))


@pytest.fixture(params=["_python", "_native"])
def either_poll(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections are served by each of the two; skips where the extension was not built."""
    try:
        twin = importlib.import_module(f"kcompat.net.{request.param}")
    except ImportError:
        pytest.skip("the extension was not built")
    monkeypatch.setattr(poller, "serve", twin.serve)
