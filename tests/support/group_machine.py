"""The base of rule-based machines of coordinators: logs whose commits wait, and invariants of groups
after every step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

if TYPE_CHECKING:
    from support.coordinator_log import MemoryCoordinatorLog
    from support.group_coordinators import GroupFixture


class SlowLogMachine(RuleBasedStateMachine):
    """A machine whose log commits nothing for a while; `held` says that it is so."""

    log: MemoryCoordinatorLog
    held = False

    @precondition(lambda self: not self.held)
    @rule()
    def commits_stop(self) -> None:
        self.log.hold()
        self.held = True

    @precondition(lambda self: self.held)
    @rule()
    def commits_go_on(self) -> None:
        self.held = False
        self.log.release()
        self.commits_went_on()

    def commits_went_on(self) -> None:
        """Answers that waited have come."""


class GroupMachine(RuleBasedStateMachine):
    """A machine of groups: their coordinator is sound, and a replay of its log gives what it has."""

    fixture: GroupFixture

    @invariant()
    def the_coordinator_is_sound(self) -> None:
        self.fixture.check_invariants()

    @invariant()
    def a_replay_of_the_log_gives_the_live_state(self) -> None:
        self.fixture.check_replay()
