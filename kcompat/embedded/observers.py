"""Observers of embedded brokers: tools that are told when one starts in this process."""

from __future__ import annotations

from typing import Final, Protocol


class Observer(Protocol):
    """A tool that is told of each `Broker` and `Cluster` that starts in this process. While there is one,
    brokers record their requests.
    """

    def starting(self, brokers: object) -> None:
        """Handle a broker or a cluster that is about to start."""

    def failing(self, brokers: object) -> None:
        """Handle a running broker or cluster that is about to stop because of an exception in its `with`
        block.
        """


observers: Final[list[Observer]] = []
"""The observers of this process."""
