"""Consumer groups as a rule-based machine.

Members come, change their minds, give partitions up late, leave, die and come back; topics come, grow and go;
the coordinator is slow, fails, restarts.

After every step no partition has two owners, no epoch has gone back, and replaying the log gives exactly what
the live coordinator has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from kcompat.group.coordinator_config import GroupCoordinatorConfig
from kcompat.group.kinds.consumer.group import ConsumerGroup
from kcompat.group.kinds.consumer.settings import ConsumerGroupConfig
from kcompat.protocol.errors import ErrorCode
from support.default_settings import with_defaults
from support.fuzzing import examples
from support.group_coordinators import GROUP, ConsumerGroupFixture
from support.group_machine import GroupMachine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.group.modern.heartbeat import HeartbeatAnswer

REBALANCE_MS = 20_000
TOPICS = ("t", "u", "v")
PATTERNS = ("[tu]", "[uv].*", ".*")
CONFIG = with_defaults(
    GroupCoordinatorConfig,
    consumer=with_defaults(ConsumerGroupConfig, max_size=4, regex_refresh_interval_ms=30_000),
)
REJOIN = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.GROUP_ID_NOT_FOUND)


class Client:
    """A consumer as far as its coordinator can see it."""

    def __init__(self, name: str, instance_id: str | None) -> None:
        self.name = name
        self.instance_id = instance_id
        self.lives = 0
        self.reset()

    def reset(self) -> None:
        """Begin anew: own nothing, with an id that nobody has had."""
        self.lives += 1
        self.member_id = f"{self.name}{self.lives}"
        self.epoch = 0
        self.owned: dict[bytes, frozenset[int]] = {}
        self.told: dict[bytes, frozenset[int]] = {}


class ConsumerGroups(GroupMachine):
    def __init__(self) -> None:
        super().__init__()
        self.fixture = ConsumerGroupFixture(CONFIG)
        self.clients = [Client("a", None), Client("b", None), Client("c", "i"), Client("d", "j")]
        self.group_epoch = 0
        self.member_epochs: dict[str, int] = {}

    def group(self) -> ConsumerGroup | None:
        found = next((s.groups[GROUP] for s in self.fixture.shards if GROUP in s.groups), None)
        assert found is None or isinstance(found, ConsumerGroup)
        return found

    def hear(self, client: Client, answer: HeartbeatAnswer) -> None:
        """Change the client's state as its answer requires."""
        if answer.error in REJOIN:
            client.owned, client.epoch = {}, 0
        if answer.error is ErrorCode.FENCED_INSTANCE_ID:
            client.reset()
        if answer.error:
            return
        assert answer.member_epoch >= client.epoch
        client.epoch = answer.member_epoch
        if answer.assigned is not None:
            client.told = {topic: frozenset(indexes) for topic, indexes in answer.assigned.items()}
            # It goes on with what it has and is still to have; the rest it gives up, or takes, later.
            client.owned = _common(client.owned, client.told)

    # --- what clients do

    @rule(
        index=st.integers(0, 3),
        topics=st.frozensets(st.sampled_from(TOPICS)),
        pattern=st.sampled_from([*PATTERNS, "", ""]),
        assignor=st.sampled_from(["uniform", "range", None]),
    )
    def join(self, index: int, topics: frozenset[str], pattern: str, assignor: str | None) -> None:
        client = self.clients[index]
        client.owned = {}
        answer = self.fixture.enter(
            client.member_id,
            subscribed_topics=topics,
            subscribed_regex=pattern,
            server_assignor=assignor,
            instance_id=client.instance_id,
            rebalance_timeout_ms=REBALANCE_MS,
        )
        client.epoch = 0
        self.hear(client, answer)

    @rule(index=st.integers(0, 3), takes=st.booleans(), reports=st.booleans())
    def heartbeat(self, index: int, takes: bool, reports: bool) -> None:
        client = self.clients[index]
        if not client.epoch:
            return
        if takes:
            client.owned = dict(client.told)
        fields = {"owned": client.owned} if reports else {}
        self.hear(
            client,
            self.fixture.beat(client.member_id, client.epoch, instance_id=client.instance_id, **fields),
        )

    @rule(index=st.integers(0, 3), topics=st.frozensets(st.sampled_from(TOPICS)))
    def subscribe(self, index: int, topics: frozenset[str]) -> None:
        client = self.clients[index]
        if client.epoch:
            answer = self.fixture.beat(
                client.member_id,
                client.epoch,
                instance_id=client.instance_id,
                subscribed_topics=topics,
                owned=client.owned,
            )
            self.hear(client, answer)

    @rule(index=st.integers(0, 3), for_good=st.booleans())
    def leave(self, index: int, for_good: bool) -> None:
        client = self.clients[index]
        if client.epoch:
            epoch = -1 if for_good or client.instance_id is None else -2
            self.fixture.beat(client.member_id, epoch, instance_id=client.instance_id)
            client.reset()

    @rule(index=st.integers(0, 3))
    def die(self, index: int) -> None:
        self.clients[index].reset()

    # --- what happens to them

    @rule(name=st.sampled_from(TOPICS), more=st.integers(1, 3))
    def grow(self, name: str, more: int) -> None:
        topic = self.fixture.image.topics.get(name)
        self.fixture.make(name, more + (0 if topic is None else len(topic.partitions)))

    @rule(name=st.sampled_from(TOPICS))
    def delete(self, name: str) -> None:
        if name in self.fixture.image.topics:
            self.fixture.delete(name)

    @rule(delay_ms=st.sampled_from([0, 1_000, 10_001, REBALANCE_MS, 46_000]))
    def wait(self, delay_ms: int) -> None:
        self.fixture.clock.advance(delay_ms)

    @rule()
    def fail(self) -> None:
        """The next heartbeat that writes anything finds no replicas."""
        self.fixture.log.error = ErrorCode.NOT_ENOUGH_REPLICAS
        for client in self.clients:
            if client.epoch:
                self.fixture.beat(client.member_id, client.epoch, instance_id=client.instance_id)
        self.fixture.log.error = ErrorCode.NONE

    @rule()
    def restart(self) -> None:
        self.fixture.restart()

    # --- what must hold

    @invariant()
    def epochs_only_grow(self) -> None:
        group = self.group()
        if group is None:
            return
        assert group.group_epoch >= self.group_epoch
        self.group_epoch = group.group_epoch
        for member_id, member in group.members.items():
            if member.member_epoch >= 0:
                assert member.member_epoch >= self.member_epochs.get(member_id, 0) or not member.assigned
                self.member_epochs[member_id] = member.member_epoch

    @invariant()
    def targets_are_disjoint_and_of_members(self) -> None:
        group = self.group()
        if group is None:
            return
        owners: dict[tuple[bytes, int], str] = {}
        for member_id, target in group.targets.items():
            assert group.members.get(member_id) is not None
            for topic, indexes in target.items():
                for index in indexes:
                    assert owners.setdefault((topic, index), member_id) == member_id


def _common(
    left: Mapping[bytes, frozenset[int]], right: Mapping[bytes, frozenset[int]]
) -> dict[bytes, frozenset[int]]:
    return {topic: indexes & right[topic] for topic, indexes in left.items() if topic in right}


TestConsumerGroups = ConsumerGroups.TestCase
TestConsumerGroups.settings = settings(max_examples=examples(40), stateful_step_count=40, deadline=None)
