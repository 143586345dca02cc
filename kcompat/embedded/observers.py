"""Observers of embedded brokers: tools that are told when one starts in this process."""

from __future__ import annotations

from typing import Final, Protocol


class Observer(Protocol):
    """A tool that is told of each `Broker` and `Cluster` of this process. They record their requests then."""

    def starting(self, brokers: object) -> None:
        """Take note of a broker or a cluster that starts next."""

    def failing(self, brokers: object) -> None:
        """Take note of a running broker or cluster that stops next because of an exception in its `with`
        block.
        """


observers: Final[list[Observer]] = []
"""The observers in force."""
