"""A leader and two followers, with elections, cut links and crashes in any order: nothing acknowledged is
lost.

What must hold after every step is in `support.replica_cluster`: the invariants I1 to I7 of kafka-rules. At
the end everybody is healed, and has the same.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from kcompat.replication.isr import Committed
from kcompat.replication.leading.leader import Leader
from support.fuzzing import examples
from support.replica_cluster import BROKERS, Cluster
from support.replica_node import records_of

ANY_BROKER = st.sampled_from(BROKERS)


class Replication(RuleBasedStateMachine):
    """Whatever may happen to three brokers."""

    def __init__(self) -> None:
        super().__init__()
        self._home = TemporaryDirectory()
        self.cluster: Cluster

    @initialize(min_insync_replicas=st.sampled_from([1, 2]))
    def begin(self, min_insync_replicas: int) -> None:
        self.cluster = Cluster(Path(self._home.name), min_insync_replicas)

    @rule(which=st.integers(0, 2), count=st.integers(1, 4), ms=st.sampled_from([0, 1, 2, 3, 5, 20, 200]))
    def produce(self, which: int, count: int, ms: int) -> None:
        """To one of those that take themselves for the leader."""
        leaders = self.cluster.believers()
        if leaders:
            self.cluster.produce(leaders[which % len(leaders)], count)
        self.cluster.run(ms)

    @rule(count=st.integers(1, 4))
    def produce_and_wait(self, count: int) -> None:
        for leader in self.cluster.believers():
            self.cluster.produce(leader, count)
        self.cluster.run(50)

    @rule(ms=st.sampled_from([1, 2, 3, 5, 20, 500, 5_000]))
    def run(self, ms: int) -> None:
        self.cluster.run(ms)

    @rule()
    def shrink(self) -> None:
        """As housekeeping does, half a minute later."""
        self.cluster.run(31_000)
        for broker in self.cluster.alive:
            self.cluster.nodes[broker].replicas.shrink_isrs()
        self.cluster.run(5)

    @rule(broker=ANY_BROKER)
    def elect(self, broker: int) -> None:
        self.cluster.elect(broker)

    @rule(broker=ANY_BROKER)
    def cut_off(self, broker: int) -> None:
        self.cluster.cut_off.add(broker)

    @precondition(lambda self: self.cluster.cut_off)
    @rule()
    def connect(self) -> None:
        self.cluster.cut_off.clear()

    @rule(broker=ANY_BROKER, lost_part=st.sampled_from([0.0, 0.5, 1.0]))
    def crash(self, broker: int, lost_part: float) -> None:
        if self.cluster.nodes[broker].is_up:
            self.cluster.crash(broker, lost_part)
            self.cluster.check()

    @precondition(lambda self: len(self.cluster.alive) < len(BROKERS))
    @rule(ms=st.sampled_from([0, 1, 2, 50]))
    def start(self, ms: int) -> None:
        down = [broker for broker in BROKERS if not self.cluster.nodes[broker].is_up]
        self.cluster.start(down[0])
        self.cluster.run(ms)

    @rule(broker=ANY_BROKER)
    def flush(self, broker: int) -> None:
        self.cluster.flush(broker)

    def teardown(self) -> None:
        if hasattr(self, "cluster"):
            self._all_is_well_again()
        self._home.cleanup()

    def _all_is_well_again(self) -> None:
        cluster = self.cluster
        cluster.heal()
        leader = cluster.nodes[cluster.role.leader].partition.state
        assert isinstance(leader, Leader)
        assert isinstance(leader.state, Committed)
        assert set(cluster.role.isr) == set(leader.state.isr) == set(BROKERS)
        logs = [records_of(node.log) for node in cluster.nodes.values()]
        assert logs[0] == logs[1] == logs[2]
        marks = {node.partition.high_watermark for node in cluster.nodes.values()}
        assert marks == {cluster.nodes[1].log.log_end_offset}


TestReplication = Replication.TestCase
TestReplication.settings = settings(max_examples=examples(60), stateful_step_count=40, deadline=None)
