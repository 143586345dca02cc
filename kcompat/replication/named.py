"""Which partition a replica belongs to."""

from __future__ import annotations

from typing import Protocol


class Named(Protocol):
    """What belongs to one partition."""

    @property
    def topic(self) -> str:
        """Its topic."""

    @property
    def topic_id(self) -> bytes:
        """The id of its topic; zero where that has none."""

    @property
    def index(self) -> int:
        """Its number in the topic."""
