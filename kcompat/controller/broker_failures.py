"""Brokers whose processes have ended although their sessions have not. Pure.

Such a broker stays registered until its session ends, but its port refuses connections. The controller treats
it as failed at once. That is as safe as to wait for the end of the session: leaders and ISRs are conditional
writes, so a leader that was replaced without knowing it cannot have its ISR acknowledge anything. A broker
that answers again is taken back. The failure is forgotten when the registration is removed or renewed.
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
    """Port to the failure detector, called with the brokers to watch."""

    def __call__(self, brokers: Mapping[int, RegisteredBroker], /) -> object:
        """Watch the processes of these brokers, by id, and of no others."""


def detect_no_failures(_: Mapping[int, RegisteredBroker]) -> None:
    """Watch no broker: only the end of its session shows that it has failed."""


class FailuresDetected(Struct, frozen=True):
    """Failed brokers among those watched, by id with their broker epochs; all others are alive."""

    gone: Mapping[int, int]

    def decide(self, state: ControllerState) -> Decision[None]:
        """Treat these brokers as if their registrations had gone, and take back those that answer again."""
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
        """Do nothing: no caller waits for an answer."""
