"""Interventions of tests in groups, transactions and clusters, remembered for the report of a failed test.

Faults of requests and of disks have reports of their own: see `reports`.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kcompat.node.broker import BrokerNode
    from kcompat.node.hooks import Hooks

MOST_REMEMBERED: Final = 100
"""Maximum number of interventions that are remembered at one broker."""


class Intervention:
    """A deliberate change by a test, which no client or broker has caused."""

    def __init__(self, description: str, *, lasts: bool, isolated: int | None) -> None:
        self.description = description
        """Effect as a sentence, such as `broker 1 is isolated`."""
        self.isolated = isolated
        """Id of the broker that is isolated; None for another effect."""
        self.began = time.time()
        """Time in seconds since the epoch."""
        self.ended = None if lasts else self.began
        """Time of the end; None while the effect lasts."""

    def end(self) -> None:
        """Record the end of the effect, unless it has ended already."""
        if self.ended is None:
            self.ended = time.time()


_REMEMBERED: Final[WeakKeyDictionary[Hooks, deque[Intervention]]] = WeakKeyDictionary()


def note(
    nodes: Iterable[BrokerNode], description: str, *, lasts: bool = False, isolated: int | None = None
) -> Intervention:
    """Remember an intervention at the first of these brokers, if there is one."""
    intervention = Intervention(description, lasts=lasts, isolated=isolated)
    for node in nodes:
        _REMEMBERED.setdefault(node.hooks, deque(maxlen=MOST_REMEMBERED)).append(intervention)
        break
    return intervention


def interventions(nodes: Iterable[BrokerNode]) -> Sequence[Intervention]:
    """Return the interventions that these brokers remember."""
    return [each for node in nodes for each in _REMEMBERED.get(node.hooks, ())]
