"""Both twins of the poll."""

from __future__ import annotations

import importlib

import pytest

from kcompat.net import poller


@pytest.fixture(params=["_python", "_native"])
def either_poll(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections are served by each of the two; skips where the extension was not built."""
    try:
        twin = importlib.import_module(f"kcompat.net.{request.param}")
    except ImportError:
        pytest.skip("the extension was not built")
    monkeypatch.setattr(poller, "serve", twin.serve)
