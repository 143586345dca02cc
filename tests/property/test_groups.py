"""Groups as a rule-based machine.

Members come, sync, beat, commit, leave, die; the coordinator is slow, fails, restarts.

After every step the invariants hold, and replaying the log gives exactly what the live coordinator has kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from kcompat.group.coordinator_config import GroupCoordinatorConfig
from kcompat.group.kinds.classic.members import ClassicState
from kcompat.protocol.errors import ErrorCode
from kcompat.records.control import ControlType, EndTransactionMarker
from support.coordinator_state import kept_of_groups
from support.default_settings import with_defaults
from support.fuzzing import examples
from support.group_coordinators import GROUP, GroupFixture
from support.group_machine import GroupMachine, SlowLogMachine

if TYPE_CHECKING:
    from kcompat.group.coordinator import GroupCoordinator
    from kcompat.group.requests import JoinAnswer, SyncAnswer
    from kcompat.promise import Promise

TOPIC_PARTITIONS = [("topic", index) for index in range(6)]
INSTANCES = ("s1", "s2")
SESSION_MS, REBALANCE_MS, RETENTION_MS = 10_000, 15_000, 1_000_000_000
CONFIG = with_defaults(
    GroupCoordinatorConfig,
    max_size=4,
    offsets_retention_ms=RETENTION_MS,
    retention_check_interval_ms=RETENTION_MS,
)


class Client:
    """A consumer as far as its coordinator can see it."""

    def __init__(self, instance_id: str | None) -> None:
        self.instance_id = instance_id
        self.member_id = ""
        self.generation = -1
        self.joining: Promise[JoinAnswer] | None = None
        self.joined: JoinAnswer | None = None
        self.syncing: Promise[SyncAnswer] | None = None
        self.owned: frozenset[tuple[str, int]] | None = None
        """Partitions that the member consumes in its generation; None while it has no assignment."""

    def reset(self) -> None:
        """Forget the membership, as a client does on UNKNOWN_MEMBER_ID."""
        self.member_id, self.generation, self.joined, self.owned = "", -1, None, None


def encode(partitions: frozenset[tuple[str, int]]) -> bytes:
    return ",".join(str(index) for _, index in sorted(partitions)).encode()


def decode(assignment: bytes) -> frozenset[tuple[str, int]]:
    return frozenset(("topic", int(index)) for index in assignment.decode().split(",") if index)


class Groups(GroupMachine, SlowLogMachine):
    def __init__(self) -> None:
        super().__init__()
        self.fixture = GroupFixture(CONFIG)
        self.log = self.fixture.log
        self.fixture.coordinator.start()
        self.clients = [Client(None) for _ in range(4)] + [Client(name) for name in INSTANCES]
        self.generation = 0
        self.members_of: dict[int, frozenset[str]] = {}
        """The dynamic members of each generation, as its leader was told."""
        self.acknowledged: dict[tuple[str, int], int] = {}
        """Offsets whose commits were answered with no error."""
        self.deletions = 0
        """Deletions of the group and of offsets that have begun or ended."""
        self.open_deletions = 0

    # --- what clients do

    def each(self, index: int) -> Client:
        return self.clients[index % len(self.clients)]

    @rule(index=st.integers(0, 5), asks_for_id=st.booleans(), both=st.booleans(), skips=st.booleans())
    def join(self, index: int, asks_for_id: bool, both: bool, skips: bool) -> None:
        client = self.each(index)
        client.owned = None
        client.joining = self.fixture.join(
            client.member_id,
            instance_id=client.instance_id,
            protocols=(("range", b""), ("sticky", b"")) if both else (("range", b""),),
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            needs_member_id=asks_for_id and client.instance_id is None,
            can_skip_assignment=skips,
        )
        self.hear()

    @rule(index=st.integers(0, 5), forgetful=st.booleans())
    def sync(self, index: int, forgetful: bool) -> None:
        client = self.each(index)
        if client.joined is None:
            return
        assignments: dict[str, bytes] = {}
        members = [member.member_id for member in client.joined.members][forgetful:]
        for position, member_id in enumerate(members):
            assignments[member_id] = encode(frozenset(TOPIC_PARTITIONS[position :: len(members)]))
        client.syncing = self.fixture.sync(
            client.member_id, client.generation, assignments, instance_id=client.instance_id
        )
        self.hear()

    @rule(index=st.integers(0, 5))
    def heartbeat(self, index: int) -> None:
        client = self.each(index)
        error = self.fixture.heartbeat(client.member_id, client.generation, instance_id=client.instance_id)
        if error in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
            client.reset()

    @rule(index=st.integers(0, 5), partition=st.sampled_from(TOPIC_PARTITIONS), offset=st.integers(0, 99))
    def commit(self, index: int, partition: tuple[str, int], offset: int) -> None:
        client = self.each(index)
        overlaps, deletions = self.open_deletions > 0, self.deletions
        answer = self.fixture.commit({partition: offset}, client.member_id, client.generation)

        def heard(errors: dict[tuple[str, int], ErrorCode]) -> None:
            if errors[partition] == ErrorCode.NONE:
                if overlaps or deletions != self.deletions:
                    # A deletion that overlaps the commit may come before or after it in the log.
                    self.acknowledged.pop(partition, None)
                    return
                self.acknowledged[partition] = offset
                assert self.fixture.fetch_one(partition).offset == offset

        answer.then(heard)

    @rule(index=st.integers(0, 5))
    def leave(self, index: int) -> None:
        client = self.each(index)
        self.fixture.leave(client.member_id)
        client.reset()

    @rule(index=st.integers(0, 5))
    def restart_client(self, index: int) -> None:
        """The process dies and comes back knowing nothing."""
        client = self.each(index)
        client.reset()
        client.joining = client.syncing = None

    @rule(count=st.integers(1, 6), asks_for_id=st.booleans(), forgetful=st.booleans())
    def come_together(self, count: int, asks_for_id: bool, forgetful: bool) -> None:
        """The first clients do what well-behaved clients do, and mostly reach a stable group."""
        for _ in range(2 + asks_for_id):
            for index in range(count):
                self.join(index, asks_for_id, both=False, skips=True)
        for index in range(count):
            self.sync(index, forgetful)

    @rule()
    def delete_group(self) -> None:
        self.acknowledged.clear()
        self.deletion_begins()

        def heard(error: ErrorCode) -> None:
            self.acknowledged.clear()
            self.deletion_ends()
            if error == ErrorCode.NONE:
                assert not self.staged(), "what is deleted does not come back with a marker"

        self.fixture.coordinator.delete(GROUP).then(heard)

    @rule(partition=st.sampled_from(TOPIC_PARTITIONS))
    def delete_offset(self, partition: tuple[str, int]) -> None:
        self.acknowledged.pop(partition, None)
        self.deletion_begins()

        def heard(answer: tuple[ErrorCode, dict[tuple[str, int], ErrorCode]]) -> None:
            self.acknowledged.pop(partition, None)
            self.deletion_ends()
            if answer == (ErrorCode.NONE, {partition: ErrorCode.NONE}):
                assert partition not in self.staged()

        self.fixture.coordinator.delete_offsets(GROUP, [partition]).then(heard)

    def deletion_begins(self) -> None:
        """Note that a request to delete is on its way."""
        self.deletions += 1
        self.open_deletions += 1

    def deletion_ends(self) -> None:
        """Note that a request to delete is answered."""
        self.deletions += 1
        self.open_deletions -= 1

    @precondition(lambda self: not self.held)
    @rule(partition=st.sampled_from(TOPIC_PARTITIONS))
    def a_partition_is_deleted(self, partition: tuple[str, int]) -> None:
        self.acknowledged.pop(partition, None)
        self.fixture.coordinator.forget_topics(lambda each: each == partition)
        if self.fixture.log.error == ErrorCode.NONE:
            assert partition not in self.staged()

    def staged(self) -> set[tuple[str, int]]:
        """The partitions of which open transactions have offsets."""
        _, _, staged = durable(self.fixture.coordinator).get(GROUP, (None, {}, {}))
        return set().union(*staged.values())

    # --- what happens to the coordinator

    @rule(ms=st.sampled_from([1, 1_000, 5_000, SESSION_MS, REBALANCE_MS, 300_000]))
    def time_passes(self, ms: int) -> None:
        self.fixture.clock.advance(ms)
        self.hear()

    @rule()
    def offsets_expire(self) -> None:
        self.fixture.clock.advance(2 * RETENTION_MS)
        self.acknowledged.clear()
        self.hear()

    def commits_went_on(self) -> None:
        self.hear()

    @rule(error=st.sampled_from([ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.MESSAGE_TOO_LARGE]))
    def appends_fail(self, error: ErrorCode) -> None:
        self.fixture.log.error = error

    @rule()
    def appends_work(self) -> None:
        self.fixture.log.error = ErrorCode.NONE

    @precondition(lambda self: not self.held)
    @rule()
    def coordinator_restarts(self) -> None:
        self.hear()
        before = durable(self.fixture.coordinator)
        self.fixture.restart().start()
        assert durable(self.fixture.coordinator) == before
        group = self.fixture.group()
        self.generation = 0 if group is None else group.generation
        self.members_of.clear()  # a generation that was never written is counted again
        self.hear()

    @precondition(lambda self: not self.held and self.fixture.log.error == ErrorCode.NONE)
    @rule(
        producer_id=st.integers(1, 2),
        partition=st.sampled_from(TOPIC_PARTITIONS),
        offset=st.integers(100, 199),
    )
    def an_open_transaction_is_found(self, producer_id: int, partition: tuple[str, int], offset: int) -> None:
        """The coordinator restarts, and its log has a commit more, in a transaction that is still open."""
        self.hear()
        self.acknowledged.pop(partition, None)  # unless it is committed again: then that commit counts
        self.fixture.stage(producer_id, {partition: offset})
        self.fixture.coordinator.start()
        group = self.fixture.group()
        self.generation = 0 if group is None else group.generation
        self.members_of.clear()
        self.hear()

    @rule(producer_id=st.integers(1, 2), kind=st.sampled_from(ControlType))
    def a_transaction_ends(self, producer_id: int, kind: ControlType) -> None:
        self.fixture.end_transaction(producer_id, EndTransactionMarker(kind, 0))

    # --- what clients hear

    def hear(self) -> None:
        """Let each client take the answers that have come."""
        for client in self.clients:
            if client.joining is not None and client.joining.done:
                answer, client.joining = client.joining.value, None
                self.hear_join(client, answer)
            if client.syncing is not None and client.syncing.done:
                sync, client.syncing = client.syncing.value, None
                if sync.error == ErrorCode.NONE and client.joined is not None:
                    client.owned = decode(sync.assignment)

    def hear_join(self, client: Client, answer: JoinAnswer) -> None:
        if answer.error == ErrorCode.NONE:
            assert answer.generation >= 1
            assert bool(answer.members) <= (answer.leader == answer.member_id)
            client.member_id, client.generation, client.joined = answer.member_id, answer.generation, answer
            if answer.members:
                dynamic = frozenset(m.member_id for m in answer.members if m.instance_id is None)
                assert self.members_of.setdefault(answer.generation, dynamic) == dynamic
        elif answer.error == ErrorCode.MEMBER_ID_REQUIRED:
            client.member_id = answer.member_id
        elif answer.error in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
            client.reset()

    # --- what always holds

    @invariant()
    def generations_go_forward(self) -> None:
        group = self.fixture.group()
        if group is None:
            self.generation = 0
            self.members_of.clear()
        else:
            assert group.generation >= self.generation
            self.generation = group.generation

    @invariant()
    def a_partition_has_one_owner(self) -> None:
        group = self.fixture.group()
        if group is None or not group.is_in(ClassicState.STABLE):
            return
        owned = [decode(member.assignment) for member in group.members.values()]
        assert len(frozenset().union(*owned)) == sum(map(len, owned))

    @invariant()
    def a_stable_group_has_what_the_log_says(self) -> None:
        group = self.fixture.group()
        if group is not None and group.is_in(ClassicState.STABLE):
            assert group.stored is not None
            assert group.stored.generation == group.generation
            for stored in group.stored.members:
                if stored.member_id in group.members:
                    assert group.members[stored.member_id].assignment == stored.assignment

    @invariant()
    def what_was_acknowledged_is_there(self) -> None:
        if not self.held:
            assert self.fixture.fetch().items() >= self.acknowledged.items()

    @invariant()
    def nobody_waits_for_a_group_at_rest(self) -> None:
        group = self.fixture.group()
        if not self.held and (group is None or group.is_in(ClassicState.EMPTY)):
            assert not any(client.joining for client in self.clients)


def durable(coordinator: GroupCoordinator) -> dict[str, Any]:
    """Return the durable state of each group: its stored record, its offsets, and those of open
    transactions.
    """
    kept: dict[str, Any] = {}
    for _, shard in coordinator.runtime.active():
        kept |= kept_of_groups(shard)
    return kept


TestGroups = Groups.TestCase
TestGroups.settings = settings(max_examples=examples(80), stateful_step_count=40, deadline=None)
