"""An administrator who makes, grows, changes, moves and deletes topics whatever happens to the controller.

What no promise of Kafka allows: a change that was acknowledged and is not there, one that is there by half,
and two controllers that decide at the same time.
"""

from __future__ import annotations

import json
import threading
import time
from typing import TYPE_CHECKING, Any, Self

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from msgspec import Struct

from kcompat.cluster import znodes
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from kcompat.protocol.messages.create_partitions import CreatePartitionsRequest
from kcompat.protocol.messages.create_topics import CreateTopicsRequest
from kcompat.protocol.messages.delete_topics import DeleteTopicsRequest
from kcompat.protocol.messages.elect_leaders import ElectLeadersRequest
from kcompat.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from support.eventually import Patience

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from broker_cluster import BrokerCluster
    from kcompat.protocol.message import Message

TIMEOUT_MS = 3000
PAUSE_S = 0.1
RETENTION = "retention.ms"
MOVED_TO = (3, 1)
"""The brokers to which the first partition of each topic goes."""
KEPT = 3
"""So many topics are there when the one before them is deleted."""
UNDECIDED = frozenset(
    {
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        ErrorCode.REASSIGNMENT_IN_PROGRESS,
        ErrorCode.INVALID_REPLICATION_FACTOR,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.TOPIC_ALREADY_EXISTS,
    }
)
"""Answers that a change may have while brokers come and go, or because one before it was or was not made."""


class Wanted(Struct):
    """The outcomes that are right for a topic in the end; several where an answer did not come."""

    name: str
    is_there: set[bool]
    partitions: set[int]
    retention: set[str | None]
    replicas: set[tuple[int, ...]]
    """Replicas of the first partition; the empty tuple stands for those on which it was placed."""


class Changes:
    """Changes one after another, from `with` on: so many were acknowledged, and of so many nobody knows."""

    def __init__(self, cluster: BrokerCluster) -> None:
        self.acknowledged = 0
        self.unknown = 0
        self.errors: list[str] = []
        """Answers that nothing explains."""
        self._cluster = cluster
        self._zookeeper = KazooClient(cluster.zookeeper.bootstrap)
        self._topics: dict[str, Wanted] = {}
        self._epochs: dict[int, int] = {}
        self._written: set[tuple[int, int, str]] = set()
        self._ending = threading.Event()
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._zookeeper.start()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self._zookeeper.stop()
        self._zookeeper.close()

    def stop(self) -> None:
        """Ask for nothing more, and wait for what was asked."""
        self._ending.set()
        self._thread.join()

    def wait_for(self, more: int, timeout_s: float) -> None:
        """Until so many more changes are acknowledged. Raises TimeoutError."""
        with self._changed:
            enough = self.acknowledged + more
            if not self._changed.wait_for(lambda: self.acknowledged >= enough, timeout_s):
                raise TimeoutError(f"{enough - self.acknowledged} of {more} changes were not acknowledged")

    # -- what is asked -----------------------------------------------------------------------------------

    def _run(self) -> None:
        number = 0
        while not self._ending.is_set():
            wanted = self._topics[f"c{number}"] = Wanted(f"c{number}", {False}, set(), {None}, {()})
            for change in (self._create, self._configure, self._grow, self._move, self._elect):
                change(wanted)
                self._look(wanted.name)
            if number >= KEPT:
                self._delete(self._topics[f"c{number - KEPT}"])
            number += 1

    def _create(self, wanted: Wanted) -> None:
        topic = CreateTopicsRequest.CreatableTopic(name=wanted.name, num_partitions=2, replication_factor=3)
        request = CreateTopicsRequest(topics=[topic], timeout_ms=TIMEOUT_MS)
        self._ask(request, 5, lambda answer: answer.topics[0].error_code, wanted.is_there, True)
        wanted.partitions.add(2)

    def _configure(self, wanted: Wanted) -> None:
        kind = IncrementalAlterConfigsRequest
        change = kind.AlterConfigsResource(2, wanted.name, [kind.AlterableConfig(RETENTION, 0, "7654321")])
        self._ask(
            kind([change]), 1, lambda answer: answer.responses[0].error_code, wanted.retention, "7654321"
        )

    def _grow(self, wanted: Wanted) -> None:
        topic = CreatePartitionsRequest.CreatePartitionsTopic(wanted.name, 3, None)
        request = CreatePartitionsRequest([topic], TIMEOUT_MS)
        self._ask(request, 1, lambda answer: answer.results[0].error_code, wanted.partitions, 3)

    def _move(self, wanted: Wanted) -> None:
        """The first partition to two brokers, one of which led none of its copies first."""
        kind = AlterPartitionReassignmentsRequest
        row = kind.ReassignableTopic(wanted.name, [kind.ReassignablePartition(0, list(MOVED_TO))])
        self._ask(
            kind(TIMEOUT_MS, topics=[row]),
            0,
            lambda answer: answer.error_code or answer.responses[0].partitions[0].error_code,
            wanted.replicas,
            MOVED_TO,
        )

    def _elect(self, wanted: Wanted) -> None:
        rows = [ElectLeadersRequest.TopicPartitions(wanted.name, [0, 1])]
        request = ElectLeadersRequest(0, rows, TIMEOUT_MS)
        self._ask(request, 2, lambda answer: answer.error_code, set(), None)

    def _delete(self, wanted: Wanted) -> None:
        request = DeleteTopicsRequest(topic_names=[wanted.name], timeout_ms=TIMEOUT_MS)
        self._ask(request, 4, lambda answer: answer.responses[0].error_code, wanted.is_there, False)

    def _ask(
        self, request: Message, version: int, error: Callable[[Any], int], found: set[Any], value: Any
    ) -> None:
        """Ask the controller once; `found` holds afterwards what may be found."""
        try:
            with self._cluster.client(self._cluster.metadata().controller_id) as client:
                code = error(client.call(request, version))
        except (OSError, KeyError, RuntimeError):
            self.unknown += 1
            found.add(value)
            time.sleep(PAUSE_S)
            return
        if code == ErrorCode.NONE:
            found.clear()
            found.add(value)
            with self._changed:
                self.acknowledged += 1
                self._changed.notify_all()
        elif ErrorCode(code) in UNDECIDED:
            found.add(value)
        else:
            self.errors.append(f"{type(request).__name__} of {value} was answered {ErrorCode(code)!r}")

    # -- what is seen ------------------------------------------------------------------------------------

    def _look(self, topic: str) -> None:
        """Note who has decided what is stored of a topic, and when."""
        data, stat = self._zookeeper.get(znodes.CONTROLLER_EPOCH)
        self._epochs[int(data)] = stat.mzxid
        for index in self._names(f"{znodes.topic_path(topic)}/partitions"):
            try:
                data, stat = self._zookeeper.get(znodes.partition_state_path(topic, int(index)))
            except NoNodeError:
                continue
            self._written.add((stat.mzxid, json.loads(data)["controller_epoch"], f"{topic}-{index}"))

    def _names(self, path: str) -> list[str]:
        try:
            return list(self._zookeeper.get_children(path))
        except NoNodeError:
            return []

    # -- the judgement -----------------------------------------------------------------------------------

    def judge(self, timeout_s: float) -> None:
        """Assert that every promise was kept; all brokers run, and what was begun may take so long."""
        patience = Patience(timeout_s)
        while (found := self._problems()) and patience.lasts:
            time.sleep(PAUSE_S)
        assert not found, found

    def _problems(self) -> list[str]:
        """A sentence for each broken promise."""
        found = [*self.errors, *self._of_epochs()]
        for wanted in self._topics.values():
            found += self._of_topic(wanted)
        return found

    def _of_epochs(self) -> Iterator[str]:
        """Whether anything was written for a controller after another had begun."""
        for zxid, epoch, place in sorted(self._written):
            successors = [began for later, began in self._epochs.items() if later > epoch]
            if successors and zxid > min(successors):
                yield f"{place} was written for the controller of epoch {epoch} after a later one had begun"

    def _of_topic(self, wanted: Wanted) -> Iterator[str]:
        name = wanted.name
        is_there = self._zookeeper.exists(znodes.topic_path(name)) is not None
        if is_there not in wanted.is_there:
            yield f"{name} is {'there' if is_there else 'absent'}"
        if not is_there:
            yield from self._left_of(name)
            return
        shown = [
            {part.partition_index: tuple(part.replica_nodes) for part in row.partitions}
            for answer in self._cluster.answers()
            for row in answer.topics
            if row.name == name
        ]
        if len(shown) != len(self._cluster.brokers) or any(each != shown[0] for each in shown):
            yield f"{name} is shown as {shown}"
            return
        (partitions, *_) = shown
        states = self._names(f"{znodes.topic_path(name)}/partitions")
        if sorted(map(int, states)) != sorted(partitions) or len(partitions) not in wanted.partitions:
            yield f"{name} has partitions {sorted(partitions)}, stored are {states}, {wanted}"
        if wanted.replicas == {MOVED_TO} and partitions[0] != MOVED_TO:
            yield f"{name}-0 was moved to brokers {MOVED_TO}, and is on {partitions[0]}"
        config = json.loads(self._zookeeper.get(znodes.config_path("topics", name))[0])["config"]
        if config.get(RETENTION) not in wanted.retention:
            yield f"{name} has the configs {config}, {wanted}"
        for broker_id in self._cluster.brokers:
            held = {int(directory.rpartition("-")[2]) for directory in self._directories(broker_id, name)}
            moved = sorted(index for index in held if broker_id not in partitions.get(index, ()))
            if moved:
                yield f"broker {broker_id} holds partitions {moved} of {name}, which is on {partitions}"

    def _left_of(self, name: str) -> Iterator[str]:
        """Return the remains of a topic that does not exist. A broker that was away when a partition was
        moved off it, and until the topic was deleted, keeps the files.
        """
        for path in (znodes.config_path("topics", name), znodes.delete_topic_path(name)):
            if self._zookeeper.exists(path) is not None:
                yield f"{path} is left of {name}, which is not there"
        for broker_id in self._cluster.brokers:
            left = self._directories(broker_id, name)
            if broker_id not in MOVED_TO:
                left.discard(f"{name}-0")
            if left:
                yield f"{sorted(left)} are left of {name} on broker {broker_id}"

    def _directories(self, broker_id: int, topic: str) -> set[str]:
        """Return the names of the directories in which a broker holds partitions of a topic."""
        data = self._cluster.brokers[broker_id].home / "data"
        return {each.name for each in data.glob(f"{topic}-*") if "." not in each.name}
