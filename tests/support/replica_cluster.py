"""Three brokers with a replica each of one partition, a controller and a network, all on one virtual clock.

Logs are on the disk, requests go through the handlers and their codecs. The controller is a small one of the
test's own: it elects from the stored ISR and takes conditional changes of it (kafka-rules 1.4, 1.13).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcompat.cluster.control_requests import Role
from kcompat.cluster.image import BrokerInfo, ClusterImage, PartitionInfo, TopicImage
from kcompat.config.broker import BrokerConfig
from kcompat.config.topic import topic_config
from kcompat.log.append import AppendResult
from kcompat.log.loader import create_log
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from kcompat.records.batch import build_batch, read_header
from kcompat.records.record import Record
from kcompat.replication.leading.leader import Leader
from kcompat.replication.storage_config import log_config
from kcompat.replication.waiting.delayed_progress import DelayedProgress
from support.replica_node import LATENCY_MS, Node, records_of
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from pathlib import Path

    from kcompat.replication.partition import Partition

TOPIC, TOPIC_ID = "t", b"t" * 16
BROKERS = (1, 2, 3)


class Produced:
    """Records that a producer was promised, or not (yet)."""

    def __init__(self, offset: int, epoch: int, value: bytes) -> None:
        self.offset, self.epoch, self.value = offset, epoch, value
        self.error: ErrorCode | None = None


class Cluster:
    """The brokers, what the store says of the partition, and what must never be broken."""

    def __init__(self, home: Path, min_insync_replicas: int) -> None:
        self.clock = VirtualClock()
        self.min_insync_replicas = min_insync_replicas
        settings = {"min.insync.replicas": str(min_insync_replicas)}
        self.config = topic_config(BrokerConfig(), settings)
        self.role = Role(leader=-1, leader_epoch=-1, isr=BROKERS, replicas=BROKERS)
        self.cut_off: set[int] = set()
        self.produced: list[Produced] = []
        self.flushed = dict.fromkeys(BROKERS, 0)
        self.checkpointed = dict.fromkeys(BROKERS, 0)
        self.leaders: dict[int, int] = {}
        self.high_watermarks: dict[tuple[int, int], int] = {}
        self.written: dict[tuple[int, int], bytes] = {}
        self.shown: dict[int, bytes] = {}
        self._broker_epoch = 0
        self._values = 0
        for broker in BROKERS:
            (home / f"{broker}").mkdir()
        logs = {
            broker: create_log(
                home / f"{broker}" / "t-0", TOPIC, 0, log_config(self.config), topic_id=TOPIC_ID, now_ms=0
            )
            for broker in BROKERS
        }
        self.nodes = {broker: Node(self, broker, log, 0) for broker, log in logs.items()}
        self.elect(1)
        self.run(10)

    def next_broker_epoch(self) -> int:
        """Return the broker epoch of the next registration."""
        self._broker_epoch += 1
        return self._broker_epoch

    # -- the controller ----------------------------------------------------------------------------------

    @property
    def alive(self) -> list[int]:
        """The brokers that are registered."""
        return [broker for broker in BROKERS if self.nodes[broker].is_up]

    def elect(self, wanted: int | None = None) -> None:
        """Make the wanted replica the leader if it may be, else the first that is in sync and alive."""
        candidates = [broker for broker in self.role.isr if broker in self.alive]
        leader = wanted if wanted in candidates else next(iter(candidates), -1)
        isr = tuple(broker for broker in self.role.isr if broker in self.alive) or self.role.isr
        self._decide(leader=leader, isr=isr)

    def _decide(self, *, leader: int, isr: tuple[int, ...]) -> None:
        role = self.role
        self.role = replace(
            role,
            leader=leader,
            isr=isr,
            leader_epoch=role.leader_epoch + 1,
            partition_epoch=role.partition_epoch + 1,
        )
        for broker in self.alive:
            self._tell(broker, self.role)

    def _tell(self, broker: int, role: Role) -> None:
        """Have a broker take a role, when it can be reached."""
        node = self.nodes[broker]

        def arrive() -> None:
            if node.is_up and broker in self.cut_off:
                self.clock.call_later(20, arrive)
            elif node.is_up:
                self._show(node)
                node.replicas.take_role(TOPIC, 0, role)

        self.clock.call_later(LATENCY_MS, arrive)

    def _show(self, node: Node) -> None:
        brokers = {broker: BrokerInfo(broker, None, {}) for broker in self.alive}
        role = self.role
        info = PartitionInfo(role.leader, role.leader_epoch, role.isr, role.replicas)
        image = ClusterImage("cluster").with_topics([TopicImage(TOPIC, TOPIC_ID, {0: info})])
        node.metadata.update(replace(image, brokers=brokers))

    def alter(self, node: Node, request: AlterPartitionRequest) -> AlterPartitionResponse:
        """Decide on a proposal as kafka-rules 1.4 says."""
        if request.broker_epoch != self.nodes[node.id].broker_epoch:
            return AlterPartitionResponse(error_code=ErrorCode.STALE_BROKER_EPOCH)
        (topic,) = request.topics
        (asked,) = topic.partitions
        answer = AlterPartitionResponse.PartitionData(0)
        role, isr = self.role, tuple(member.broker_id for member in asked.new_isr_with_epochs)
        if asked.leader_epoch < role.leader_epoch:
            answer.error_code = ErrorCode.FENCED_LEADER_EPOCH
        elif asked.partition_epoch < role.partition_epoch and set(isr) != set(role.isr):
            answer.error_code = ErrorCode.INVALID_UPDATE_VERSION
        elif not set(isr) <= set(self.alive):
            answer.error_code = ErrorCode.INELIGIBLE_REPLICA
        else:
            if set(isr) != set(role.isr):
                self.role = replace(role, isr=isr, partition_epoch=role.partition_epoch + 1)
                self.check()
            answer.leader_id, answer.leader_epoch = self.role.leader, self.role.leader_epoch
            answer.isr, answer.partition_epoch = list(self.role.isr), self.role.partition_epoch
        row = AlterPartitionResponse.TopicData(topic_id=topic.topic_id, partitions=[answer])
        return AlterPartitionResponse(topics=[row])

    # -- what happens ------------------------------------------------------------------------------------

    def run(self, ms: int) -> None:
        """Let time pass."""
        self.clock.advance(ms)
        self.check()

    def crash(self, broker: int, lost_part: float) -> None:
        """Kill a broker. What was not flushed is lost in part, unless it is the last that is in sync: nobody
        promises anything about a power cut of all.
        """
        node = self.nodes[broker]
        others = [each for each in self.role.isr if each != broker and each in self.alive]
        end, flushed = node.log.log_end_offset, self.flushed[broker]
        is_last = broker in self.role.isr and not others
        keep = end if is_last else end - int(lost_part * max(0, end - flushed))
        node.crash(keep)
        self.checkpointed[broker] = min(self.checkpointed[broker], keep)
        for other in self.alive:
            self._show(self.nodes[other])
        if broker in self.role.isr or broker == self.role.leader:
            isr = tuple(each for each in self.role.isr if each != broker) or self.role.isr
            self.role = replace(self.role, isr=isr)
            if self.role.leader == broker:
                self.elect()
            else:
                self._decide(leader=self.role.leader, isr=isr)

    def start(self, broker: int) -> None:
        """Start a broker that was killed."""
        old = self.nodes[broker]
        self.nodes[broker] = node = Node(self, broker, old.log, self.checkpointed[broker])
        for other in self.alive:
            self._show(self.nodes[other])
        self._tell(broker, self.role)
        if self.role.leader not in self.alive:
            self.elect()
        assert node.is_up

    def believers(self) -> list[int]:
        """The brokers that take themselves for the leader."""
        return [broker for broker in self.alive if self.nodes[broker].partition.is_leader]

    def produce(self, broker: int, count: int) -> None:
        """Write `count` records to a broker that takes itself for the leader, with acks=all."""
        node = self.nodes[broker]
        leader = node.partition.state
        assert isinstance(leader, Leader)
        for _ in range(count):
            self._values += 1
            value = b"%d" % self._values
            batch = memoryview(build_batch([Record(0, self.clock.now_ms(), None, value)]))
            result = node.partition.append(batch, read_header(batch), -1, self.clock.now_ms())
            if not isinstance(result, AppendResult):
                assert result == ErrorCode.NOT_ENOUGH_REPLICAS
                assert len(leader.state.isr) < self.min_insync_replicas
                return
            assert len(leader.state.isr) >= self.min_insync_replicas, "I6, at the append"
            self._await(node, Produced(result.base_offset, leader.epoch, value))

    def _await(self, node: Node, produced: Produced) -> None:
        self.produced.append(produced)

        def settle(partition: Partition, error: ErrorCode) -> None:
            produced.error = error
            if not error:
                leader = partition.state
                assert isinstance(leader, Leader)
                assert leader.high_watermark > produced.offset
                assert len(leader.state.maximal) >= self.min_insync_replicas, "I6, at the answer"

        wait = DelayedProgress({node.partition: produced.offset + 1}, settle, "done")
        if node.partition.committed(produced.offset + 1) is not None:
            wait.try_complete(node.partition)
        else:
            node.replicas.produces.wait(wait, (node.partition,), 30_000)

    def flush(self, broker: int) -> None:
        """Flush the log of a broker, and checkpoint its high watermark."""
        node = self.nodes[broker]
        if node.is_up:
            self.flushed[broker] = node.log.log_end_offset
            self.checkpointed[broker] = node.partition.high_watermark

    def heal(self) -> None:
        """Have everybody up and connected, and wait until all is quiet."""
        self.cut_off.clear()
        for broker in BROKERS:
            if not self.nodes[broker].is_up:
                self.start(broker)
        for _ in range(20):
            self.run(1000)

    # -- what must hold ----------------------------------------------------------------------------------

    def check(self) -> None:
        """Assert the invariants I1, I3, I4 and I5 of kafka-rules, and that nothing acknowledged is lost."""
        for node in self.nodes.values():
            if node.is_up:
                node.partition.check_invariants()
                self._check_leader(node)
            self.flushed[node.id] = min(self.flushed[node.id], node.log.log_end_offset)
            for offset, epoch, value in records_of(node.log):
                assert self.written.setdefault((offset, epoch), value) == value, "I3"
            for offset, _, value in self._committed(node):
                assert self.shown.setdefault(offset, value) == value, "I4: what was committed has changed"
        self._check_promises()

    def _committed(self, node: Node) -> list[tuple[int, int, bytes]]:
        if not node.is_up:
            return []
        return [record for record in records_of(node.log) if record[0] < node.partition.high_watermark]

    def _check_leader(self, node: Node) -> None:
        leader = node.partition.state
        if not isinstance(leader, Leader):
            return
        assert self.leaders.setdefault(leader.epoch, node.id) == node.id, "I1"
        key = (leader.epoch, node.broker_epoch)
        assert self.high_watermarks.get(key, 0) <= leader.high_watermark, "I4: the high watermark fell"
        self.high_watermarks[key] = leader.high_watermark
        if leader.epoch == self.role.leader_epoch:
            assert set(leader.state.maximal) >= set(self.role.isr), "I5"
            for member in self.role.isr:
                assert self.nodes[member].log.log_end_offset >= leader.high_watermark, "I4: not on all"

    def _check_promises(self) -> None:
        """Check that each replica in sync, one of which may be elected, has all acknowledged records."""
        promised = {each.offset: each.value for each in self.produced if each.error == ErrorCode.NONE}
        for broker in self.role.isr:
            has = {offset: value for offset, _, value in records_of(self.nodes[broker].log)}
            for offset, value in promised.items():
                assert has.get(offset) == value, f"{value!r} at {offset} is lost on {broker}"
