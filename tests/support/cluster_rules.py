"""Rules that hold in a cluster at any moment, checked over the states of all its brokers.

- I1: an epoch of a partition has one leader.
- I2: a replica never goes back to an older one.
- I3: two replicas that have a batch of one offset and epoch have the same.
- I4: what was committed never changes, and is on every member of the ISR; a leader's high watermark does not
  fall.
- I5: it waits for all who are in the ISR as stored.
- I6: what was acknowledged with acks=all is wherever a leader may be elected, and is so only while enough are
  in sync.
- I13, I17, I18: see `CoordinatorRules`.

In the end `unlike` and `strays` find what is left of trouble: replicas that differ, and directories of
replicas that brokers no longer have.

The rest of what the names I1 to I9 stand for is looked at where states are written, in `GuardedStore`: epochs
do not fall there either (I2), leaders come from the ISR (I7), and writes are conditional (I9). A follower
that took a high watermark before it cut its log (I8) would break I4.
"""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kcompat.log.checkpoints import CheckpointDamaged, parse_partition_metadata
from kcompat.log.names import PARTITION_METADATA, parse_future_directory, parse_partition_directory
from kcompat.protocol.constants import NO_EPOCH
from kcompat.protocol.uuids import ZERO_UUID
from kcompat.records.batch import iter_headers
from kcompat.replication.leading.leader import Leader
from kcompat.topics import TRANSACTION_STATE
from support.coordinator_rules import CoordinatorRules, Stability
from support.guarded_store import ViolationError
from support.virtual_cluster import SETTINGS

if TYPE_CHECKING:
    from kcompat.cluster.image import ClusterImage
    from kcompat.cluster.znodes import StoredPartitionState
    from kcompat.log.log import Log
    from kcompat.node.broker import BrokerNode
    from kcompat.records.batch import BatchHeader
    from kcompat.replication.partition import Partition
    from support.history import Place
    from support.virtual_cluster import VirtualCluster

MIN_IN_SYNC: Final = int(SETTINGS["min.insync.replicas"])
"""`min.insync.replicas` of every topic with enough replicas."""


class Batch(Struct, frozen=True):
    """One batch of a log; the checksum covers all but its base offset and epoch."""

    base_offset: int
    last_offset: int
    epoch: int
    checksum: int
    is_control: bool


class _Known(Struct):
    """A replica's log as it was when it was looked at."""

    log: Log
    end: int
    epochs: list[tuple[int, int]]
    batches: dict[int, Batch]
    uncommitted: deque[Batch]
    """Batches that were not below the high watermark yet."""
    stability: Stability
    promises: int = 0
    """So many, of those made for the partition, were found in it."""


class ClusterRules:
    """Looks at a cluster; `check` raises `ViolationError`."""

    def __init__(self, cluster: VirtualCluster) -> None:
        self._cluster = cluster
        self._leaders: dict[tuple[bytes, int, int], int] = {}
        self._high_watermarks: dict[tuple[int, bytes, int, int], tuple[BrokerNode, int]] = {}
        self._written: dict[tuple[bytes, int, int, int], tuple[int, int]] = {}
        self._committed: dict[tuple[bytes, int, int], tuple[Batch, int]] = {}
        self._known: dict[tuple[int, bytes, int], _Known] = {}
        self._images: dict[int, ClusterImage] = {}
        self._epochs: dict[Partition, int] = {}
        self._seen: dict[Partition, tuple[object, ...]] = {}
        self._compared: dict[Place, StoredPartitionState] = {}
        """Stored states that were checked and have not changed since; `_seen` and `_images` hold the like."""
        self._changed: set[Place] = set()
        """Where a replica is another than when the stored state was looked at, or more was promised."""
        self._promised: dict[Place, list[tuple[int, int]]] = {}
        self._alone_since: dict[tuple[int, Place], float] = {}
        """Leaders with fewer in sync than acks=all asks for, since when (seconds)."""
        self.coordinators = CoordinatorRules(cluster)

    def promised(self, place: Place, base_offset: int, checksum: int, leader: int, asked_s: float) -> None:
        """A producer that asked this broker at that time was told that its batch is there, with acks=all.
        Raises `ViolationError`.
        """
        since = self._alone_since.get((leader, place))
        if since is not None and since < asked_s:
            raise ViolationError(
                f"I6: broker {leader} acknowledges what was sent to {place} at {asked_s:.3f} s, and since "
                f"{since:.3f} s it has too few in sync"
            )
        self._promised.setdefault(place, []).append((base_offset, checksum))
        self._changed.add(place)

    def leads(self, broker_id: int, place: Place) -> bool:
        """Whether a broker is the leader that is stored."""
        state = self._cluster.store.states.get(place)
        return state is not None and state.leader == broker_id

    def check(self, *, thoroughly: bool = False) -> None:
        """Assert all that must hold now; `thoroughly` has each log look at itself, and all of it be seen
        again. Raises `ViolationError`.
        """
        if thoroughly:
            self._images.clear()
            self._seen.clear()
            self._compared.clear()
            for known in self._known.values():
                known.promises = 0
        if self._cluster.store.broken:
            raise ViolationError("; ".join(self._cluster.store.broken))
        with self._cluster.disks_without_trouble():
            self._look(thoroughly=thoroughly)

    def _look(self, *, thoroughly: bool) -> None:
        for broker_id, node in self._cluster.running.items():
            self._check_image(broker_id, node.parts.storage.metadata.image)
            for partition in node.parts.storage.replicas:
                seen = _what_is_seen(partition)
                if self._seen.get(partition) != seen:
                    self._seen[partition] = seen
                    self._changed.add((partition.topic, partition.index))
                    self._check_replica(broker_id, node, partition, thoroughly=thoroughly)
        self._check_states()
        if thoroughly:
            self.coordinators.check_replay()

    def _check_image(self, broker_id: int, image: ClusterImage) -> None:
        if self._images.get(broker_id) is image:
            return
        self._images[broker_id] = image
        try:
            image.check_invariants()
        except AssertionError as error:
            raise ViolationError(f"the image of broker {broker_id}: {error!r}") from error

    def _check_replica(
        self, broker_id: int, node: BrokerNode, partition: Partition, *, thoroughly: bool
    ) -> None:
        log = partition.log
        name = f"{partition.topic}-{partition.index} of broker {broker_id}"
        try:
            partition.check_invariants()
            if thoroughly:
                log.check_invariants()
        except AssertionError as error:
            raise ViolationError(f"{name}: {error!r}") from error
        where = (partition.topic_id, partition.index)
        epoch, known = partition.role.leader_epoch, self._epochs.get(partition, NO_EPOCH)
        if epoch < known:
            raise ViolationError(f"I2: {name} went back from epoch {known} to {epoch}")
        self._epochs[partition] = epoch
        self._check_committed(broker_id, partition, name)
        leader = partition.state
        lead = (broker_id, (partition.topic, partition.index))
        if isinstance(leader, Leader) and len(leader.state.maximal) < MIN_IN_SYNC:
            self._alone_since.setdefault(lead, self._cluster.now_s)
        else:
            self._alone_since.pop(lead, None)
        if not isinstance(leader, Leader):
            return
        first = self._leaders.setdefault((*where, leader.epoch), broker_id)
        if first != broker_id:
            raise ViolationError(f"I1: {name} leads in epoch {leader.epoch}, as broker {first} did")
        life, before = self._high_watermarks.get((broker_id, *where, leader.epoch), (node, 0))
        if life is node and leader.high_watermark < before:
            raise ViolationError(
                f"I4: the high watermark of {name} fell from {before} to {leader.high_watermark}"
            )
        self._high_watermarks[broker_id, *where, leader.epoch] = (node, leader.high_watermark)

    def _check_committed(self, broker_id: int, partition: Partition, name: str) -> None:
        """Check the batches of a replica below its high watermark, and its last stable offset."""
        where = (partition.topic_id, partition.index)
        replica = self._read(broker_id, partition)
        uncommitted = replica.uncommitted
        while uncommitted and uncommitted[0].last_offset < partition.high_watermark:
            batch = uncommitted.popleft()
            is_new = (*where, batch.base_offset) not in self._committed
            known, witness = self._committed.setdefault((*where, batch.base_offset), (batch, broker_id))
            if is_new and (batch.is_control or partition.topic == TRANSACTION_STATE):
                self.coordinators.committed(partition, batch.base_offset)
            if known != batch:
                raise ViolationError(
                    f"I4: {name} has {batch} below its high watermark {partition.high_watermark}, in "
                    f"{partition.role}; {known} was committed as far as broker {witness} knew"
                )
        start, high_watermark = partition.log.log_start_offset, partition.high_watermark
        least, most = replica.stability.last_stable_offsets(start, high_watermark)
        if not least <= partition.last_stable_offset <= most:
            raise ViolationError(
                f"I13: the last stable offset of {name} is {partition.last_stable_offset}, not {least}"
            )

    def _read(self, broker_id: int, partition: Partition) -> _Known:
        """Read the log of a replica, and check I3 on the way."""
        log = partition.log
        where = (partition.topic_id, partition.index)
        epochs, end = log.epochs.cache.entries, log.log_end_offset
        known = self._known.get((broker_id, *where))
        if known is None or known.log is not log or not _goes_on(known, epochs, end):
            start = log.log_start_offset
            known = _Known(log, start, [], {}, deque(), Stability(is_new=known is None and end == start))
        if end > known.end:
            for header in headers_of(log, known.end):
                known.stability.note(header)
                batch = _batch(header)
                known.batches[batch.base_offset] = batch
                known.uncommitted.append(batch)
                content = (batch.last_offset, batch.checksum)
                first = self._written.setdefault((*where, batch.base_offset, batch.epoch), content)
                if first != content:
                    raise ViolationError(
                        f"I3: {log.topic}-{log.partition} of broker {broker_id} has {batch}, where another "
                        f"has {first}"
                    )
        known.end, known.epochs = end, epochs
        self._known[broker_id, *where] = known
        return known

    def _check_states(self) -> None:
        """The members of each stored ISR, beside the leader and what was promised."""
        changed, self._changed = self._changed, set()
        for place, state in self._cluster.store.states.items():
            if self._compared.get(place) is state and place not in changed:
                continue
            self._compared[place] = state
            leader = self._replica(state.leader, place)
            machine = None if leader is None else leader.state
            leads = isinstance(machine, Leader) and machine.epoch == state.leader_epoch
            if leads and isinstance(machine, Leader) and not set(machine.state.maximal) >= set(state.isr):
                raise ViolationError(f"I5: {place} is led with {machine.state}, stored is {state}")
            for member in state.isr:
                replica = self._replica(member, place)
                if replica is None:
                    continue
                end = replica.log.log_end_offset
                if leads and isinstance(machine, Leader) and end < machine.high_watermark:
                    raise ViolationError(
                        f"I4: broker {member} is in the ISR of {place} and ends at {end}, below the high "
                        f"watermark {machine.high_watermark} of {state}"
                    )
                known = self._known[member, replica.topic_id, replica.index]
                promised = self._promised.get(place, ())
                for offset, checksum in promised[known.promises :]:
                    found = known.batches.get(offset)
                    if found is None or found.checksum != checksum:
                        raise ViolationError(
                            f"I6: what was acknowledged at {offset} of {place} is not on broker {member}, "
                            f"which is in the ISR of {state}: {found}"
                        )
                known.promises = len(promised)

    def _replica(self, broker_id: int, place: Place) -> Partition | None:
        node = self._cluster.running.get(broker_id)
        found = None if node is None else node.parts.storage.replicas.get(*place)
        known = None if found is None else self._known.get((broker_id, found.topic_id, found.index))
        return None if known is None else found

    def unlike(self) -> list[str]:
        """Partitions whose replicas are not alike to the last byte. In the end there are none, once followers
        have what a leader wrote a moment ago of its own accord, as when a member's session ended.
        """
        found = []
        for place, state in self._cluster.store.states.items():
            contents = {
                broker_id: log_bytes(partition.log)
                for broker_id in state.isr
                if (partition := self._replica(broker_id, place)) is not None
            }
            if len(set(contents.values())) != 1 or len(contents) < len(state.isr):
                sizes = {broker_id: len(content) for broker_id, content in contents.items()}
                found.append(f"the replicas of {place} have bytes by broker {sizes}, {state}")
        return found

    def strays(self) -> list[str]:
        """Return the directories of brokers that hold a partition of which they are no replica. A directory
        counts if it has the topic id that the store has for this name.
        """
        topics = self._cluster.store.topics()
        found = []
        for broker_id, node in self._cluster.running.items():
            for directory in node.parts.storage.logs.directories:
                for path in sorted(Path(directory.path).iterdir()):
                    place = parse_partition_directory(path.name) or parse_future_directory(path.name)
                    topic = None if place is None else topics.get(place[0])
                    if place is None or topic is None or broker_id in topic.replicas[place[1]]:
                        continue
                    if _topic_id(path) == topic.topic_id:
                        found.append(f"broker {broker_id} holds {path.name} of {topic.replicas[place[1]]}")
        return found


def _topic_id(partition_directory: Path) -> bytes:
    """Return the topic id in a partition's directory, or the zero id where there is none."""
    try:
        return parse_partition_metadata((partition_directory / PARTITION_METADATA).read_bytes())
    except (FileNotFoundError, CheckpointDamaged):
        return ZERO_UUID


def _what_is_seen(partition: Partition) -> tuple[object, ...]:
    """Return the facts on which a replica's rules depend; while they are the same it is not checked again."""
    log, state = partition.log, partition.state
    waits_for = state.state if isinstance(state, Leader) else None
    ends = log.log_end_offset, state.high_watermark, partition.last_stable_offset
    return log, ends, log.epochs.latest, partition.role, state, waits_for


def _goes_on(known: _Known, epochs: list[tuple[int, int]], end: int) -> bool:
    """Whether nothing was cut since; what is written after a cut is of a later epoch."""
    count = len(known.epochs)
    is_later = all(start >= known.end for _, start in epochs[count:])
    return epochs[:count] == known.epochs and is_later and end >= known.end


def log_bytes(log: Log, start: int | None = None) -> bytes:
    """The batches of a log from an offset on."""
    begin = log.log_start_offset if start is None else start
    found = bytearray()
    while begin < log.log_end_offset:
        data = log.read(begin, 1 << 30, log.log_end_offset, min_one_batch=True)
        part = b"" if data is None else data.read()
        if not part:
            break
        found += part
        begin = max(header.last_offset for _, header in iter_headers(memoryview(part))) + 1
    return bytes(found)


def headers_of(log: Log, start: int) -> list[BatchHeader]:
    """Return the headers of a log's batches from an offset on."""
    return [header for _, header in iter_headers(memoryview(log_bytes(log, start)))]


def _batch(header: BatchHeader) -> Batch:
    return Batch(header.base_offset, header.last_offset, header.leader_epoch, header.crc, header.is_control)
