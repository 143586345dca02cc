"""Groups that change their kind as a rule-based machine.

Classic members and members of KIP-848 come, go on late, leave, die and come back, static ones with the other
protocol; the topic grows; the coordinator fails to append, and restarts.

After every step the coordinator is sound and replaying the log gives what the live coordinator has. When all
go on without disturbance, each partition has one owner in the end, whatever has happened before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from kcompat.group.coordinator_config import GroupCoordinatorConfig
from kcompat.group.kinds.classic.group import ClassicGroup
from kcompat.group.kinds.consumer.settings import ConsumerGroupConfig, MigrationPolicy
from kcompat.protocol.errors import ErrorCode
from support.classic_consumer import ClassicConsumer
from support.default_settings import with_defaults
from support.fuzzing import examples
from support.group_coordinators import ConsumerGroupFixture
from support.group_machine import GroupMachine

if TYPE_CHECKING:
    from kcompat.group.modern.heartbeat import HeartbeatAnswer
    from support.consumer_texts import Partitions

PLACES = st.integers(0, 4)
ROUNDS = 60


class Modern:
    """A member of KIP-848 that reports what it has, one heartbeat behind what it is told."""

    def __init__(self, fixture: ConsumerGroupFixture, name: str, instance_id: str | None) -> None:
        self._fixture = fixture
        self._name = name
        self._instance_id = instance_id
        self._lives = 0
        self.forget()

    def forget(self) -> None:
        """Lose everything, as a process that is killed."""
        self._lives += 1
        self._member_id = f"{self._name}{self._lives}"
        self._epoch = 0
        self._told: dict[bytes, frozenset[int]] = {}

    @property
    def owned(self) -> Partitions:
        """Return the partitions that the member was last assigned."""
        names = {topic.topic_id: name for name, topic in self._fixture.image.topics.items()}
        return frozenset((names[topic], index) for topic, indexes in self._told.items() for index in indexes)

    def poll(self) -> None:
        """Heartbeat, or join."""
        if self._epoch:
            self._hear(
                self._fixture.beat(
                    self._member_id, self._epoch, instance_id=self._instance_id, owned=self._told
                )
            )
        else:
            self._told = {}
            self._hear(self._fixture.enter(self._member_id, instance_id=self._instance_id))

    def leave(self) -> None:
        """Leave; a static member means to come back."""
        if self._epoch:
            epoch = -1 if self._instance_id is None else -2
            self._fixture.beat(self._member_id, epoch, instance_id=self._instance_id)
        self.forget()

    def _hear(self, answer: HeartbeatAnswer) -> None:
        if answer.error in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
            self.forget()
        elif answer.error in (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.GROUP_ID_NOT_FOUND):
            self._epoch, self._told = 0, {}
        elif not answer.error:
            self._epoch = answer.member_epoch
            if answer.assigned is not None:
                self._told = {topic: frozenset(indexes) for topic, indexes in answer.assigned.items()}


class MixedGroups(GroupMachine):
    @initialize(policy=st.sampled_from(MigrationPolicy))
    def begin(self, policy: MigrationPolicy) -> None:
        consumer = with_defaults(ConsumerGroupConfig, migration=policy, session_timeout_ms=20_000)
        self.fixture = ConsumerGroupFixture(with_defaults(GroupCoordinatorConfig, consumer=consumer))
        fixture = self.fixture
        self.places: list[list[ClassicConsumer | Modern]] = [
            [ClassicConsumer(fixture)],
            [ClassicConsumer(fixture, eager=False)],
            [Modern(fixture, "m", None)],
            [ClassicConsumer(fixture, instance_id="i"), Modern(fixture, "i", "i")],
            [Modern(fixture, "j", "j"), ClassicConsumer(fixture, instance_id="j", eager=False)],
        ]
        self.running = [False] * len(self.places)

    # --- what members do

    @rule(place=PLACES, times=st.integers(1, 3))
    def poll(self, place: int, times: int) -> None:
        self.running[place] = True
        for _ in range(times):
            self.places[place][0].poll()

    @rule(place=PLACES)
    def leave(self, place: int) -> None:
        self.places[place][0].leave()
        self.running[place] = False

    @rule(place=PLACES)
    def die(self, place: int) -> None:
        self.places[place][0].forget()
        self.running[place] = False

    @rule(place=st.integers(3, 4), politely=st.booleans())
    def change_the_protocol(self, place: int, politely: bool) -> None:
        (self.leave if politely else self.die)(place)
        self.places[place].reverse()
        self.poll(place, 1)

    # --- what happens to them

    @rule(delay_ms=st.sampled_from([0, 3_000, 9_000, 21_000, 61_000]))
    def wait(self, delay_ms: int) -> None:
        self.fixture.clock.advance(delay_ms)

    @rule()
    def grow(self) -> None:
        partitions = len(self.fixture.image.topics["t"].partitions)
        if partitions < 8:
            self.fixture.make("t", partitions + 1)
            self.refresh()

    @rule(place=PLACES)
    def fail(self, place: int) -> None:
        """Run a member while the log refuses writes with NOT_ENOUGH_REPLICAS."""
        self.fixture.log.error = ErrorCode.NOT_ENOUGH_REPLICAS
        member = self.places[place][0]
        if isinstance(member, Modern) and self.running[place]:
            member.poll()
        elif isinstance(member, ClassicConsumer) and member.instance_id is None and member.member_id:
            self.fixture.leave(member.member_id)
        self.fixture.log.error = ErrorCode.NONE

    @rule()
    def restart(self) -> None:
        self.fixture.restart()

    def refresh(self) -> None:
        """Have the leader of a classic group look at the topic, which no other member does."""
        for members in self.places if isinstance(self.fixture.either(), ClassicGroup) else ():
            for member in members:
                if isinstance(member, ClassicConsumer):
                    member.refresh()

    def teardown(self) -> None:
        """All that run go on until nothing changes any more."""
        if not hasattr(self, "fixture"):
            return
        for number in range(ROUNDS):
            if number == ROUNDS // 2:
                self.refresh()
            for place, members in enumerate(self.places):
                if self.running[place]:
                    members[0].poll()
            self.fixture.clock.advance(1_000)
        owned = [members[0].owned for place, members in enumerate(self.places) if self.running[place]]
        everything = {("t", index) for index in self.fixture.image.topics["t"].partitions}
        if owned:
            assert frozenset().union(*owned) == everything
        assert sum(map(len, owned)) == (len(everything) if owned else 0)


TestMixedGroups = MixedGroups.TestCase
TestMixedGroups.settings = settings(max_examples=examples(60), stateful_step_count=40, deadline=None)
