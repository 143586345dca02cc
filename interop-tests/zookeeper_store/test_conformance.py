"""A real ZooKeeper, and our own ZooKeeper port, do what every metadata store does."""

from __future__ import annotations

from support.session_conformance import SessionConformance
from support.store_conformance import StoreConformance


class TestConformance(StoreConformance, SessionConformance):
    """With the fixtures of conftest."""
