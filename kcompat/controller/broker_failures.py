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


class DetectFailures(Protocol):
    """Has somebody watch over the processes of brokers."""

    def __call__(self, brokers: Mapping[int, RegisteredBroker], /) -> object:
        """Watch over these, by id, and no others."""


def detect_no_failures(_: Mapping[int, RegisteredBroker]) -> None:
    """Leave it to the sessions of brokers to show that they have ended."""


class FailuresDetected(Struct, frozen=True):
    """The ports of these brokers refuse, and of no other observed brokers: broker epochs by id."""

    gone: Mapping[int, int]

    def decide(self, state: ControllerState) -> Decision[None]:
        """Do without them, as if their registrations had gone, and take back all others."""
        registered = {**state.brokers, **state.presumed_dead}
        presumed = {
            each: broker
            for each, broker in registered.items()
            if self.gone.get(each) == broker.epoch and each != state.broker_id
        }
        if presumed == state.presumed_dead:
            return Decision(state, None)
        return BrokersSeen(registered).decide(replace(state, presumed_dead=presumed))

    def refused(self, error: ErrorCode) -> None:
        """Nobody waits for an answer."""
