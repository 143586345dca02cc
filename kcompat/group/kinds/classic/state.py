"""The states of a classic group and which may follow which."""

from __future__ import annotations

from enum import Enum


class ClassicState(Enum):
    """States of a classic group; the values are what clients see."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"

    def may_follow(self, previous: ClassicState) -> bool:
        """Whether a group in state `previous` may go to this one."""
        return previous in _PREVIOUS[self]


_PREVIOUS: dict[ClassicState, frozenset[ClassicState]] = {
    ClassicState.EMPTY: frozenset({ClassicState.PREPARING_REBALANCE}),
    ClassicState.PREPARING_REBALANCE: frozenset(
        {ClassicState.STABLE, ClassicState.COMPLETING_REBALANCE, ClassicState.EMPTY}
    ),
    ClassicState.COMPLETING_REBALANCE: frozenset({ClassicState.PREPARING_REBALANCE}),
    ClassicState.STABLE: frozenset({ClassicState.COMPLETING_REBALANCE}),
    ClassicState.DEAD: frozenset(ClassicState),
}
