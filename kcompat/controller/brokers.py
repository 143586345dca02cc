"""Events: brokers fail, start, return or change their addresses, and a controller begins its term. Pure.

A broker is known by its id and its broker epoch. A broker that has registered anew since it was last seen (a
bounce) has failed and started: it has taken up no leadership yet, and may have lost what it had not synced.

A broker whose process has ended stays registered until its session ends, but its port refuses connections.
The failure detector reports it (`FailuresDetected`), and the controller treats it as failed at once. That is
as safe as to wait for the end of the session: leaders and ISRs are conditional writes, so a leader that was
replaced without knowing it cannot have its ISR acknowledge anything. A broker that answers again counts as
live again. The failure is forgotten when the registration is removed or renewed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from msgspec.structs import replace

from kcompat.controller.deletion import drop_empty_marks, resume_deletions
from kcompat.controller.draft import Draft
from kcompat.controller.offline_replicas import elect_offline, take_offline
from kcompat.controller.reassignment import resume_reassignments
from kcompat.controller.requests import deleted_partitions
from kcompat.controller.state import Decision

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from collections.abc import Set as AbstractSet

    from kcompat.controller.state import ControllerState, RegisteredBroker
    from kcompat.protocol.errors import ErrorCode


class DetectFailures(Protocol):
    """Port to the failure detector, called with the brokers to watch."""

    def __call__(self, brokers: Mapping[int, RegisteredBroker], /) -> object:
        """Watch the processes of these brokers, by id, and of no others."""


def detect_no_failures(_: Mapping[int, RegisteredBroker]) -> None:
    """Watch no broker: only the end of its session shows that it has failed."""


class Failover(Struct, frozen=True):
    """Start of a controller's term, with the state that it has read from the store."""

    def decide(self, state: ControllerState) -> Decision[None]:
        """Send every broker its roles and the whole metadata image, elect leaders, and resume deletions and
        reassignments.
        """
        draft = Draft(state)
        _send_image_and_roles(draft, state.brokers)
        elect_offline(draft)
        draft.state = replace(draft.state, deposed=frozenset())
        take_offline(draft, _replicas_on(draft, lambda broker_id: broker_id not in state.brokers))
        drop_empty_marks(draft)
        resume_reassignments(draft)
        resume_deletions(draft, state.brokers.keys())
        return draft.decision(None)

    def refused(self, error: ErrorCode) -> None:
        """Do nothing: no caller waits for an answer."""


class BrokersSeen(Struct, frozen=True):
    """The brokers registered now. Those presumed dead (`FailuresDetected`) do not count as live, but clients
    see them as long as they are registered.
    """

    brokers: Mapping[int, RegisteredBroker]

    def decide(self, state: ControllerState) -> Decision[None]:
        """Take replicas of missing brokers offline, send new brokers their roles, and propagate the live
        brokers.
        """
        presumed = {
            each: broker
            for each, broker in state.presumed_dead.items()
            if each in self.brokers and self.brokers[each].epoch == broker.epoch
        }
        known = state.brokers
        seen = {each: broker for each, broker in self.brokers.items() if each not in presumed}
        if known == seen and presumed == state.presumed_dead:
            return Decision(state, None)
        state = replace(state, presumed_dead=presumed)
        stayed = {each for each in known if each in seen and seen[each].epoch == known[each].epoch}
        lost, started = known.keys() - stayed, seen.keys() - stayed
        draft = Draft(state)
        draft.propagate_brokers()
        if lost:
            _remove(draft, lost)
        draft.state = replace(draft.state, brokers=dict(seen))
        if started:
            _send_image_and_roles(draft, started)
            elect_offline(draft)
            resume_reassignments(draft)
            resume_deletions(draft, started)
        return draft.decision(None)

    def refused(self, error: ErrorCode) -> None:
        """Do nothing: no caller waits for an answer."""


class FailuresDetected(Struct, frozen=True):
    """Failed brokers among those watched, by id with their broker epochs; all other watched brokers are
    alive.
    """

    gone: Mapping[int, int]

    def decide(self, state: ControllerState) -> Decision[None]:
        """Treat these brokers as if they were not registered, and brokers that answer again as live."""
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


class LogDirectoriesFailed(Struct, frozen=True):
    """Brokers with an offline log directory; they do not say which partitions it holds."""

    brokers: Collection[int]

    def decide(self, state: ControllerState) -> Decision[None]:
        """Send these brokers all their roles: their replies name the replicas they cannot serve."""
        draft = Draft(state)
        _send_all_roles(draft, frozenset(self.brokers))
        return draft.decision(None)

    def refused(self, error: ErrorCode) -> None:
        """Do nothing: no caller waits for an answer."""


def _remove(draft: Draft, lost: AbstractSet[int]) -> None:
    """Take these brokers' replicas offline, and elect other leaders."""
    state = draft.state
    draft.state = replace(
        state,
        brokers={each: broker for each, broker in state.brokers.items() if each not in lost},
        shutting_down=state.shutting_down - lost,
        failed=frozenset(replica for replica in state.failed if replica[0] not in lost),
    )
    elect_offline(draft)
    take_offline(draft, _replicas_on(draft, lost.__contains__))


def _send_image_and_roles(draft: Draft, started: Collection[int]) -> None:
    """Send these brokers the whole metadata image and their roles, and the removal of topics being deleted,
    which they may have from before their session ended.
    """
    for broker_id in started:
        draft.propagate_all_to(broker_id)
    draft.propagate_deleted(deleted_partitions(deletion.topic for deletion in draft.state.deleting.values()))
    _send_all_roles(draft, frozenset(started))


def _send_all_roles(draft: Draft, brokers: AbstractSet[int]) -> None:
    for topic, index, partition in draft.partitions():
        draft.send_roles(topic, index, [each for each in partition.replicas if each in brokers])


def _replicas_on(draft: Draft, is_meant: Callable[[int], bool]) -> list[tuple[int, str, int]]:
    """Return the replicas on these brokers as (broker, topic, index)."""
    return [
        (broker_id, topic, index)
        for topic, index, partition in draft.partitions()
        for broker_id in partition.replicas
        if is_meant(broker_id)
    ]
