"""Controlled shutdown: the leaderships of a broker that is about to stop move to other brokers. Pure."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kcompat.controller import leader_elections
from kcompat.controller.draft import Draft
from kcompat.controller.offline_replicas import take_offline
from kcompat.controller.state import Decision
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.controller.state import ControllerState

UNKNOWN_BROKER_EPOCH = -1


class StillLed(Struct, frozen=True):
    """An error, or the partitions with other replicas that the broker still leads; it may wait for them to
    get other leaders.
    """

    error: ErrorCode = ErrorCode.NONE
    partitions: Sequence[tuple[str, int]] = ()


class ControlledShutdown(Struct, frozen=True):
    """Event: a broker is about to stop. It joins no ISR from now on, until it has registered anew."""

    broker_id: int
    broker_epoch: int = UNKNOWN_BROKER_EPOCH

    def decide(self, state: ControllerState) -> Decision[StillLed]:
        """Move leaderships away from the broker, and remove it from all ISRs."""
        broker = state.brokers.get(self.broker_id)
        if broker is None:
            return Decision(state, StillLed(ErrorCode.BROKER_NOT_AVAILABLE))
        if self.broker_epoch != UNKNOWN_BROKER_EPOCH and self.broker_epoch < broker.epoch:
            return Decision(state, StillLed(ErrorCode.STALE_BROKER_EPOCH))
        state = replace(state, shutting_down=state.shutting_down | {self.broker_id})
        draft = Draft(state)
        followed, still_led = [], []
        for topic, index, partition in draft.partitions():
            if self.broker_id not in partition.replicas or len(partition.replicas) == 1:
                continue
            if partition.leader != self.broker_id:
                followed.append((self.broker_id, topic, index))
                continue
            is_live = partial(state.is_live, topic=topic, index=index)
            result = leader_elections.of_shutdown(partition, is_live, state.shutting_down)
            if result is None:
                still_led.append((topic, index))
            else:
                draft.elect(topic, index, result)
        if state.brokers.keys() <= state.shutting_down:
            still_led = []  # no other broker can take the leaderships
        take_offline(draft, followed)
        return draft.decision(StillLed(partitions=still_led))

    def refused(self, error: ErrorCode) -> StillLed:
        """Return the answer that carries `error`."""
        return StillLed(error)
