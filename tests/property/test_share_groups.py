"""Share groups as a rule-based machine: the group coordinator and the share coordinator together.

Members come, change their minds, leave, die and come back; topics come, grow and go; administrators alter
and delete; either coordinator fails, the group coordinator restarts.

After every step members have only share partitions that have state, no epoch has gone back, and replaying the
log gives exactly what the live coordinator has. At the end of all trouble members have everything.
"""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from kcompat.group.coordinator_config import GroupCoordinatorConfig
from kcompat.group.kinds.share.group import ShareGroup
from kcompat.group.kinds.share.settings import ShareGroupConfig
from kcompat.protocol.errors import ErrorCode
from support.default_settings import with_defaults
from support.fuzzing import examples
from support.group_coordinators import GROUP
from support.group_machine import GroupMachine
from support.share_groups import ShareGroupFixture

TOPICS = ("t", "u", "v")
MEMBERS = ("a", "b", "c", "d")
CONFIG = with_defaults(GroupCoordinatorConfig, share=with_defaults(ShareGroupConfig, max_size=3))
RETRY_MS = 30_000


class ShareGroupsMachine(GroupMachine):
    def __init__(self) -> None:
        super().__init__()
        self.fixture = ShareGroupFixture(CONFIG)
        self.group_epoch = 0

    def group(self) -> ShareGroup | None:
        found = next((s.groups[GROUP] for s in self.fixture.shards if GROUP in s.groups), None)
        assert found is None or isinstance(found, ShareGroup)
        return found

    # --- what members and administrators do

    @rule(member=st.sampled_from(MEMBERS), topics=st.frozensets(st.sampled_from(TOPICS), min_size=1))
    def join(self, member: str, topics: frozenset[str]) -> None:
        self.fixture.share(member, 0, subscribed_topics=topics)

    @rule(member=st.sampled_from(MEMBERS), topics=st.none() | st.frozensets(st.sampled_from(TOPICS)))
    def heartbeat(self, member: str, topics: frozenset[str] | None) -> None:
        if self.fixture.share(member, subscribed_topics=topics).error:
            self.fixture.epochs[member] = 0

    @rule(member=st.sampled_from(MEMBERS))
    def leave(self, member: str) -> None:
        self.fixture.leave_share(member)

    @rule(name=st.sampled_from(TOPICS), index=st.integers(0, 3), offset=st.integers(0, 9))
    def alter(self, name: str, index: int, offset: int) -> None:
        self.fixture.share_groups.alter_offsets(GROUP, {name: {index: offset}})

    @rule(name=st.sampled_from(TOPICS))
    def delete_offsets(self, name: str) -> None:
        self.fixture.share_groups.delete_offsets(GROUP, [name])

    @rule()
    def delete_group(self) -> None:
        if self.fixture.coordinator.delete(GROUP).value == ErrorCode.NONE:
            self.group_epoch = 0

    # --- what happens to them

    @rule(name=st.sampled_from(TOPICS), more=st.integers(1, 3))
    def grow(self, name: str, more: int) -> None:
        topic = self.fixture.image.topics.get(name)
        self.fixture.make(name, more + (0 if topic is None else len(topic.partitions)))

    @rule(name=st.sampled_from(TOPICS))
    def delete_topic(self, name: str) -> None:
        topic = self.fixture.image.topics.get(name)
        if topic is not None:
            self.fixture.delete(name)
            self.fixture.shares.coordinator.forget_topics({topic.topic_id})
            self.fixture.coordinator.forget_share_partitions({topic.topic_id})

    @rule(delay_ms=st.sampled_from([0, 1_000, 10_001, RETRY_MS, 46_000]))
    def wait(self, delay_ms: int) -> None:
        self.fixture.clock.advance(delay_ms)

    @rule(error=st.sampled_from([ErrorCode.NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE]))
    def share_coordinator_fails(self, error: ErrorCode) -> None:
        self.fixture.persister.error = error

    @rule(member=st.sampled_from(MEMBERS))
    def group_coordinator_fails(self, member: str) -> None:
        self.fixture.log.error = ErrorCode.NOT_ENOUGH_REPLICAS
        self.fixture.share(member)
        self.fixture.log.error = ErrorCode.NONE

    @rule()
    def restart(self) -> None:
        self.fixture.restart()

    @rule()
    def all_is_well_again(self) -> None:
        """Every subscribed partition that there is has somebody."""
        self.fixture.persister.error = ErrorCode.NONE
        group = self.group()
        if group is None or not len(group.members):
            return
        for _ in range(3):
            self.fixture.clock.advance(RETRY_MS)
            for member in list(group.members.keys()):
                self.fixture.share(member, dict(group.members.items())[member].member_epoch)
        group = self.group()
        assert group is not None
        had: dict[bytes, set[int]] = {}
        for member in group.members.values():
            for topic_id, indexes in member.assigned.items():
                had.setdefault(topic_id, set()).update(indexes)
        topics = [
            self.fixture.image.topics[name] for name in group.subscribers if name in self.fixture.image.topics
        ]
        assert had == {topic.topic_id: set(topic.partitions) for topic in topics}

    # --- what must hold

    @invariant()
    def epochs_only_grow(self) -> None:
        group = self.group()
        if group is not None:
            assert group.group_epoch >= self.group_epoch
            self.group_epoch = group.group_epoch

    @invariant()
    def members_are_to_have_what_has_state(self) -> None:
        group = self.group()
        if group is None:
            return
        states = {(key.topic_id, key.partition) for key in self.fixture.shares.states()}
        topics = {topic.topic_id for topic in self.fixture.image.topics.values()}
        for topic_id, row in group.initialization.initialized.items():
            assert topic_id in topics
            assert {(topic_id, index) for index in row.partitions} <= states
        for member_id in group.targets.keys():  # noqa: SIM118
            assert group.members.get(member_id) is not None


TestShareGroups = ShareGroupsMachine.TestCase
TestShareGroups.settings = settings(max_examples=examples(40), stateful_step_count=40, deadline=None)
