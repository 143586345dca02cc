"""Streams groups as a rule-based machine: members that take tasks and give them up in their own time.

Members come, say what they have or nothing, leave, die and come back; two of them are threads of one process.
Topics grow and go, and are made; the group asks for standby tasks; the coordinator fails, and restarts.

After every step no two members work on one task, no epoch has gone back, and replaying the log gives exactly
what the live coordinator has. At the end of all trouble every task is with somebody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from kcompat.cluster.config_entities import GROUPS
from kcompat.group.kinds.streams.group import StreamsGroup
from kcompat.group.kinds.streams.tasks import Task, each_task, task_sets
from kcompat.protocol.errors import ErrorCode
from support.fuzzing import examples
from support.group_coordinators import GROUP, REBALANCE_MS
from support.group_machine import GroupMachine
from support.streams_groups import AT_ONCE, IN_TWO_STEPS, StreamsGroupFixture

if TYPE_CHECKING:
    from kcompat.group.kinds.streams.requests import StreamsHeartbeatAnswer

MEMBERS = ("a", "b", "c", "d")
PROCESSES = {"a": "p", "b": "p", "c": "q", "d": "r"}
INTERNAL = ("between", "log")


class StreamsGroupsMachine(GroupMachine):
    def __init__(self) -> None:
        super().__init__()
        self.fixture = StreamsGroupFixture(AT_ONCE)
        self.group_epoch = 0
        self.works_on: dict[str, set[Task]] = {}
        """The active tasks of each client that takes itself for a member."""

    def group(self) -> StreamsGroup | None:
        found = next((s.groups[GROUP] for s in self.fixture.shards if GROUP in s.groups), None)
        assert found is None or isinstance(found, StreamsGroup)
        return found

    def told(self, member: str, answer: StreamsHeartbeatAnswer) -> None:
        """The client takes what is new at once, and gives up the rest when it heartbeats next."""
        if answer.error:
            self.works_on.pop(member, None)
            self.fixture.has.pop(member, None)
            self.fixture.epochs[member] = 0
        elif answer.tasks is not None:
            self.works_on.setdefault(member, set()).update(each_task(answer.tasks.active))

    # --- what members do

    @rule(member=st.sampled_from(MEMBERS))
    def join(self, member: str) -> None:
        self.works_on[member] = set()
        self.fixture.has.pop(member, None)
        self.told(member, self.fixture.enter_streams(member, IN_TWO_STEPS, process_id=PROCESSES[member]))

    @rule(member=st.sampled_from(MEMBERS))
    def report(self, member: str) -> None:
        """Heartbeat, having given up all that is to be given up."""
        if member not in self.works_on:
            return
        active, _ = self.fixture.has.get(member, ({}, {}))
        self.works_on[member] &= set(each_task(active))
        self.told(member, self.fixture.report_tasks(member))

    @rule(member=st.sampled_from(MEMBERS))
    def report_late(self, member: str) -> None:
        """Heartbeat, still having all that the client ever took."""
        if member not in self.works_on:
            return
        has: dict[str, list[int]] = {}
        for subtopology, number in self.works_on[member]:
            has.setdefault(subtopology, []).append(number)
        _, standby = self.fixture.has.get(member, ({}, {}))
        self.told(
            member,
            self.fixture.stream(
                member, active=task_sets(has.items()), standby=task_sets(standby.items()), warmup={}
            ),
        )

    @rule(member=st.sampled_from(MEMBERS))
    def heartbeat(self, member: str) -> None:
        """Heartbeat without a word."""
        if member in self.works_on:
            self.told(member, self.fixture.stream(member))

    @rule(member=st.sampled_from(MEMBERS))
    def leave(self, member: str) -> None:
        self.works_on.pop(member, None)
        self.fixture.leave_streams(member)

    @rule()
    def delete_group(self) -> None:
        if self.fixture.coordinator.delete(GROUP).value == ErrorCode.NONE:
            self.group_epoch = 0

    # --- what happens to them

    @rule(more=st.integers(1, 2))
    def grow(self, more: int) -> None:
        topic = self.fixture.image.topics.get("t")
        count = 0 if topic is None else len(topic.partitions)
        if count < 6:
            self.fixture.make("t", more + count)

    @rule(name=st.sampled_from(("t", *INTERNAL)))
    def delete_topic(self, name: str) -> None:
        if name in self.fixture.image.topics:
            self.fixture.delete(name)

    @rule(copies=st.integers(0, 2))
    def ask_for_copies(self, copies: int) -> None:
        own = {"streams.num.standby.replicas": str(copies)}
        self.fixture.show(self.fixture.image.with_configs({(GROUPS, GROUP): own}))

    @rule(delay_ms=st.sampled_from([0, 1_000, 10_001, 46_000, REBALANCE_MS]))
    def wait(self, delay_ms: int) -> None:
        self.fixture.clock.advance(delay_ms)

    @rule(error=st.sampled_from([ErrorCode.NONE, ErrorCode.POLICY_VIOLATION]))
    def topics_cannot_be_made(self, error: ErrorCode) -> None:
        self.fixture.maker.error = error

    @rule(member=st.sampled_from(MEMBERS))
    def coordinator_fails(self, member: str) -> None:
        self.fixture.log.error = ErrorCode.NOT_ENOUGH_REPLICAS
        if member in self.works_on:
            answer = self.fixture.stream(member)
            assert answer.error or answer.tasks is None
            if answer.error != ErrorCode.COORDINATOR_NOT_AVAILABLE:
                self.told(member, answer)
        self.fixture.log.error = ErrorCode.NONE

    @rule()
    def restart(self) -> None:
        self.fixture.restart()

    @rule()
    def all_is_well_again(self) -> None:
        """Every task is with somebody once topics fit each other."""
        self.fixture.maker.error = ErrorCode.NONE
        group = self.group()
        if group is None or group.is_empty:
            return
        for name in INTERNAL:
            if name in self.fixture.image.topics:
                self.fixture.delete(name)
        if "t" not in self.fixture.image.topics:
            self.fixture.make("t", 2)
        self.fixture.clock.advance(10_001)
        for _ in range(8):
            for member in list(group.members.latest):
                if member in self.works_on:
                    self.report(member)
                else:
                    self.join(member)
            group = self.group()
            assert group is not None
        count = len(self.fixture.image.topics["t"].partitions)
        wanted = {(name, number) for name in "01" for number in range(count)}
        members = group.members.latest
        assert {task for name in members for task in self.works_on[name]} == wanted
        for member_id, member in group.members.items():
            target = group.target(member_id)
            assert {*each_task(target.standby)} == {*each_task(member.assigned.standby)}

    # --- what must hold

    @invariant()
    def epochs_only_grow(self) -> None:
        group = self.group()
        if group is not None:
            assert group.group_epoch >= self.group_epoch
            self.group_epoch = group.group_epoch

    @invariant()
    def no_two_members_work_on_one_task(self) -> None:
        group = self.group()
        members = {} if group is None else group.members.latest
        tasks = [task for name, tasks in self.works_on.items() if name in members for task in tasks]
        assert len(tasks) == len(set(tasks)), self.works_on


TestStreamsGroups = StreamsGroupsMachine.TestCase
TestStreamsGroups.settings = settings(max_examples=examples(40), stateful_step_count=40, deadline=None)
