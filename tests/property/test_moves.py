"""A replica that moves between log directories, with everything that may happen meanwhile: it is one log."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kcompat.cluster.control_requests import Role
from kcompat.protocol.errors import ErrorCode
from kcompat.replication.following.follower_partition import FollowerPartition
from support.fuzzing import examples
from support.replica_moves import FAST, ME, OTHER, SLOW, MovesFixture, all_records, append

DIRECTORIES = st.sampled_from("abc")


class Moves(RuleBasedStateMachine):
    """One partition, which this broker leads or follows, and a list of what must be in it."""

    def __init__(self) -> None:
        super().__init__()
        self._home = TemporaryDirectory()
        self.epoch = 0
        self.is_leader = True
        self.start = 0
        self.records: list[tuple[int, int, bytes]] = []
        self.count = 0
        self.wanted = "a"

    @initialize()
    def begin(self) -> None:
        self.open()

    def open(self) -> None:
        self.fixture = MovesFixture(Path(self._home.name), bytes_per_second=SLOW, seed=self.epoch)
        self.partition = self.fixture.create(role=self.role(), segment_bytes="1000", retention_ms="-1")
        self.fixture.clock.advance(0)

    def role(self) -> Role:
        leader = ME if self.is_leader else OTHER
        return Role(leader, self.epoch, (leader,), (ME, OTHER))

    @property
    def end(self) -> int:
        return self.partition.log.log_end_offset

    @rule(count=st.integers(1, 8))
    def produce(self, count: int) -> None:
        for _ in range(count):
            self.count += 1
            value = b"%06d" % self.count + bytes(100)
            self.records.append((self.end, self.epoch, value))
            append(self.partition, value, epoch=None if self.is_leader else self.epoch)

    @rule(is_leader=st.booleans())
    def elect(self, is_leader: bool) -> None:
        self.epoch += 1
        self.is_leader = is_leader
        assert not self.fixture.replicas.take_role("t", 0, self.role())

    @precondition(lambda self: not self.is_leader)
    @rule(part=st.floats(0, 1))
    def cut(self, part: float) -> None:
        """As a leader of another history has a follower do."""
        offset = self.start + int(part * (self.end - self.start))
        FollowerPartition(self.partition, self.fixture.clock).truncate_to(offset)
        self.records = [record for record in self.records if record[0] < offset]

    @precondition(lambda self: not self.is_leader)
    @rule(ahead=st.integers(0, 5))
    def begin_anew(self, ahead: int) -> None:
        """As a leader whose log starts later has a follower do."""
        self.start = self.end + ahead
        FollowerPartition(self.partition, self.fixture.clock).truncate_fully_and_start_at(self.start)
        self.records = []

    @precondition(lambda self: self.is_leader)
    @rule(part=st.floats(0, 1))
    def delete(self, part: float) -> None:
        low = self.partition.high_watermark
        self.start += int(part * (low - self.start))
        assert self.partition.delete_records_before(self.start)[0] == ErrorCode.NONE
        self.records = [record for record in self.records if record[0] >= self.start]

    @rule()
    def retain(self) -> None:
        self.fixture.logs.enforce_retention(
            self.fixture.clock.now_ms(), lambda _: self.partition.high_watermark
        )
        self.fixture.clock.advance(0)

    @rule(to=DIRECTORIES)
    def move(self, to: str) -> None:
        assert self.fixture.moves.move("t", 0, f"{self._home.name}/{to}") == ErrorCode.NONE
        self.wanted = to

    @rule(rate=st.sampled_from([SLOW, 500, FAST]), ms=st.sampled_from([0, 1, 200, 1000, 20_000]))
    def copy(self, rate: int, ms: int) -> None:
        self.fixture.allow(rate)
        self.fixture.clock.advance(ms)

    @rule(is_clean=st.booleans())
    def restart(self, is_clean: bool) -> None:
        if is_clean:
            self.fixture.stop()
        else:
            self.fixture.crash()
        self.epoch += 1
        self.open()

    @invariant()
    def holds_what_it_must(self) -> None:
        if not hasattr(self, "fixture"):
            return
        self.fixture.check(self.partition)
        log = self.partition.log
        assert all_records(self.partition) == self.records
        assert log.log_start_offset == self.start
        assert self.fixture.logs.get("t", 0) is log

    def teardown(self) -> None:
        with self._home:
            self.end_well()

    def end_well(self) -> None:
        """With time and room enough the replica is where it was last asked for, and nowhere else."""
        if hasattr(self, "fixture"):
            self.fixture.allow(FAST)
            self.fixture.clock.advance(2000)
            self.holds_what_it_must()
            assert self.partition.log.context.path == f"{self._home.name}/{self.wanted}"
            self.fixture.clock.advance(60_000)
            assert self.fixture.names() == [f"{self.wanted}/t-0"]
            self.fixture.stop()


Moves.TestCase.settings = settings(max_examples=examples(80), stateful_step_count=40, deadline=None)
TestMoves = Moves.TestCase
