"""Brokers whose processes have ended, seen before their sessions have. Pure.

Such a broker is registered until its session ends, but its port refuses. It is done without at once: that is
as safe as after the end of its session, because leaders and ISRs are conditional writes, so that a leader
which has been deposed unawares can have nothing acknowledged by its ISR. One that is there after all is taken
back. It is forgotten when its registration goes, or is another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from msgspec.structs import replace

from kcompat.controller.brokers import BrokersSeen
from kcompat.controller.state import Decision

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.controller.state import ControllerState, RegisteredBroker
    from kcompat.protocol.errors import ErrorCode


class WatchOver(Protocol):
    """Has somebody watch over the processes of brokers."""

    def __call__(self, brokers: Mapping[int, RegisteredBroker], /) -> object:
        """Watch over these, by id, and no others."""


def watch_over_nobody(_: Mapping[int, RegisteredBroker]) -> None:
    """Leave it to the sessions of brokers to show that they have ended."""


class ProcessEnded(Struct, frozen=True):
    """The port of the broker of this registration refuses."""

    broker_id: int
    broker_epoch: int

    def decide(self, state: ControllerState) -> Decision[None]:
        """Do without it, as if its registration had gone."""
        broker = state.brokers.get(self.broker_id)
        if broker is None or broker.epoch != self.broker_epoch or self.broker_id == state.broker_id:
            return Decision(state, None)
        presumed = replace(state, presumed_dead={**state.presumed_dead, self.broker_id: broker})
        return BrokersSeen({**state.brokers, **state.presumed_dead}).decide(presumed)

    def refused(self, error: ErrorCode) -> None:
        """Nobody waits for an answer."""


class ProcessBack(Struct, frozen=True):
    """The broker of this registration accepts connections after all."""

    broker_id: int
    broker_epoch: int

    def decide(self, state: ControllerState) -> Decision[None]:
        """Take it back, as one that has just registered."""
        broker = state.presumed_dead.get(self.broker_id)
        if broker is None or broker.epoch != self.broker_epoch:
            return Decision(state, None)
        others = {each: dead for each, dead in state.presumed_dead.items() if each != self.broker_id}
        known = {**state.brokers, **others, self.broker_id: broker}
        return BrokersSeen(known).decide(replace(state, presumed_dead=others))

    def refused(self, error: ErrorCode) -> None:
        """Nobody waits for an answer."""
