"""A broker puts away what it holds of partitions that have moved to others while it could not be told."""

from __future__ import annotations

import asyncio
import errno
from typing import TYPE_CHECKING

import pytest

from kcompat.cluster import znodes
from kcompat.cluster.control_requests import AssignedPartition, Role, UpdatedPartition, UpdateMetadata
from kcompat.cluster.image import PartitionInfo
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.cluster.registration import Forgetful, Registration
from kcompat.cluster.znodes import BrokerRegistration, TopicAssignment, encode_topic, topic_path
from kcompat.config.broker import BrokerConfig, ConfigFeed
from kcompat.log.files import Files
from kcompat.protocol.uuids import ZERO_UUID
from kcompat.records.batch import build_batch, read_header
from kcompat.records.record import Record
from kcompat.replication.local_broker import LocalBroker
from kcompat.replication.replica_manager import ReplicaManager
from kcompat.replication.strays import StrayReplicas
from kcompat.store.interface import StoreUnavailableError
from kcompat.store.process_store import ProcessStore
from support.default_settings import log_settings
from support.local_brokers import DONE, NEW, take, told
from support.log_manager import log_manager
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from pathlib import Path

    from kcompat.log.log import Log
    from kcompat.store.interface import Stat
    from kcompat.store.process_session import ProcessSession

OLD = b"o" * 16
BROKER = BrokerRegistration({"PLAINTEXT": ("h", 9092)}, {"PLAINTEXT": "PLAINTEXT"})
EPOCH = 3
"""The newest leader epoch in the log of t-0 of broker 1."""
OTHERS = (2, 3)


class FailingFiles(Files):
    """Files whose directories cannot be renamed once `fails` is set."""

    fails = False

    def rename(self, source: str, target: str) -> None:
        if self.fails:
            raise OSError(errno.EIO, "Input/output error")
        super().rename(source, target)


class Broker:
    """Broker 1, whose log of t-0 has a record, and its session with the store."""

    def __init__(self, home: Path, session: ProcessSession) -> None:
        clock, cluster = VirtualClock(), MetadataCache("cluster")
        self.session = session
        self.clock = clock
        self.files = FailingFiles()
        self.disks = [home / "a", home / "b"]
        self.logs = log_manager(self.disks, clock, self.files)
        self.logs.open(1, "cluster", log_settings())
        self.replicas = ReplicaManager(1, clock, cluster)
        self.local = LocalBroker(ConfigFeed(BrokerConfig()), cluster, self.logs, self.replicas)
        self.registration = Registration(session, 1, Forgetful(), clock)
        self.look_up_in(session)

    def look_up_in(self, nodes: ProcessSession | Interrupted) -> None:
        """Look for strays in this store from now on."""
        self.strays = StrayReplicas(nodes, self.registration, self.logs, self.replicas)
        self.local.report_moved_to(self.strays.suspect)

    def hold(self, topic_id: bytes) -> Log:
        """Have a log of t-0 with this topic id."""
        log = self.logs.create("t", 0, topic_id, log_settings())
        batch = memoryview(build_batch([Record(0, 1, None, b"v")]))
        assert not log.append_as_leader(batch, read_header(batch), EPOCH, 1).error
        return log

    def show(self, epoch: int = EPOCH + 1, replicas: tuple[int, ...] = OTHERS) -> None:
        """Have a controller show t-0 with these replicas."""
        info = PartitionInfo(replicas[0], epoch, replicas, replicas)
        assert told(self.local, UpdateMetadata(2, 1, {}, [UpdatedPartition("t", NEW, 0, info)])) == DONE

    async def checked(self) -> None:
        """Wait until nothing is looked up any more."""
        await asyncio.gather(*(each for each in asyncio.all_tasks() if each.get_name() == "stray-replicas"))

    @property
    def names(self) -> list[str]:
        """Return the directories of t-0 on both disks, without unique ids."""
        found = (path.name for disk in self.disks for path in disk.iterdir() if path.name.startswith("t-0"))
        return sorted(name.partition(".")[0] + name[36:] for name in found)


@pytest.fixture
async def session() -> AsyncIterator[ProcessSession]:
    store = ProcessStore.in_memory(lambda: 5)
    session = await store.session()
    for path in znodes.PERSISTENT_PATHS:
        await session.create(path)
    yield session
    await store.close()


@pytest.fixture
async def broker(tmp_path: Path, session: ProcessSession) -> AsyncIterator[Broker]:
    broker = Broker(tmp_path, session)
    yield broker
    await broker.strays.stop()
    await broker.registration.stop()
    broker.logs.close()


async def assign(session: ProcessSession, replicas: tuple[int, ...], topic_id: bytes = NEW) -> None:
    """Make a topic on broker 1 and move it to others."""
    await session.create(topic_path("t"), encode_topic(TopicAssignment(topic_id, ((1,),))))
    await session.set(topic_path("t"), encode_topic(TopicAssignment(topic_id, (replicas,))))


async def test_a_log_stays_where_its_partition_has_never_moved(
    broker: Broker, session: ProcessSession
) -> None:
    """The store was made anew from another broker's directories, which lacked this partition."""
    log = broker.hold(NEW)
    await session.create(topic_path("t"), encode_topic(TopicAssignment(NEW, (OTHERS,))))
    await broker.registration.start(BROKER)
    broker.show()
    await broker.checked()
    assert broker.logs.get("t", 0) is log


async def test_a_log_without_a_role_is_set_aside_and_the_copy_that_was_to_replace_it_is_deleted(
    broker: Broker, session: ProcessSession
) -> None:
    log = broker.hold(NEW)
    broker.logs.futures.create(log, broker.logs.directories[1])
    await assign(session, OTHERS)
    await broker.registration.start(BROKER)
    broker.show()
    await broker.checked()
    assert broker.names == ["t-0-delete", "t-0-stray"]
    assert broker.logs.get("t", 0) is broker.logs.futures.get("t", 0) is None


async def test_the_records_of_a_replica_that_is_set_aside_stay(
    broker: Broker, session: ProcessSession
) -> None:
    """The records may be the only copy: the store may come from a backup of before the partition moved."""
    broker.hold(NEW)
    await assign(session, OTHERS)
    await broker.registration.start(BROKER)
    broker.show()
    await broker.checked()
    broker.clock.advance(log_settings().file_delete_delay_ms + 1)
    (aside,) = broker.disks[0].glob("t-0.*-stray")
    assert (aside / "00000000000000000000.log").stat().st_size > 0


async def test_a_copy_whose_log_is_gone_is_set_aside(broker: Broker, session: ProcessSession) -> None:
    broker.logs.futures.create(broker.hold(NEW), broker.logs.directories[1])
    del broker.logs._logs["t", 0]
    await assign(session, OTHERS)
    await broker.registration.start(BROKER)
    broker.show()
    await broker.checked()
    assert broker.names == ["t-0", "t-0-stray"]


async def test_a_replica_that_followed_until_then_is_deleted(broker: Broker, session: ProcessSession) -> None:
    """A StopReplica that asks for that may be on its way."""
    broker.hold(NEW)
    told(broker.local, take(AssignedPartition("t", NEW, 0, Role(1, EPOCH, (1,), (1,)), is_new=False)))
    await assign(session, OTHERS)
    await broker.registration.start(BROKER)
    broker.show()
    await broker.checked()
    assert broker.replicas.get("t", 0) is None
    assert broker.logs.get("t", 0) is None
    assert broker.names == ["t-0-delete"]


@pytest.mark.parametrize(
    ("held", "shown_epoch", "shown_replicas", "stored_id", "stored_replicas"),
    [
        pytest.param(NEW, EPOCH + 1, OTHERS, None, (), id="unknown to the store"),
        pytest.param(NEW, EPOCH + 1, OTHERS, OLD, OTHERS, id="another topic in the store"),
        pytest.param(OLD, EPOCH + 1, OTHERS, NEW, OTHERS, id="another topic in the log"),
        pytest.param(ZERO_UUID, EPOCH + 1, OTHERS, NEW, OTHERS, id="no topic id in the log"),
        pytest.param(NEW, EPOCH, OTHERS, NEW, OTHERS, id="a log that is not older"),
        pytest.param(NEW, EPOCH + 1, (1, 2), NEW, OTHERS, id="shown as a replica"),
        pytest.param(NEW, EPOCH + 1, OTHERS, NEW, (3, 1), id="a controller that is behind"),
    ],
)
async def test_whatever_else_a_broker_holds_stays(
    broker: Broker,
    session: ProcessSession,
    held: bytes,
    shown_epoch: int,
    shown_replicas: tuple[int, ...],
    stored_id: bytes | None,
    stored_replicas: tuple[int, ...],
) -> None:
    log = broker.hold(held)
    if stored_id is not None:
        await assign(session, stored_replicas, stored_id)
    await broker.registration.start(BROKER)
    broker.show(shown_epoch, shown_replicas)
    await broker.checked()
    assert broker.logs.get("t", 0) is log
    assert broker.names == ["t-0"]


async def test_a_role_in_a_newer_epoch_keeps_the_replica(broker: Broker, session: ProcessSession) -> None:
    """The controller has assigned the partition here again; what it showed before comes late."""
    role = Role(2, EPOCH + 2, (2,), (2, 1))
    told(broker.local, take(AssignedPartition("t", NEW, 0, role, is_new=True)))
    await assign(session, OTHERS)
    await broker.registration.start(BROKER)
    broker.show()
    await broker.checked()
    assert broker.replicas.get("t", 0) is not None


async def test_a_broker_looks_into_the_store_once_it_is_registered(
    broker: Broker, session: ProcessSession
) -> None:
    broker.hold(NEW)
    await assign(session, OTHERS)
    broker.show()
    await broker.checked()
    assert broker.names == ["t-0"]
    await broker.registration.start(BROKER)
    await broker.checked()
    assert broker.names == ["t-0-stray"]


class Interrupted:
    """A store that has something happen before it answers."""

    def __init__(self, session: ProcessSession, happens: Callable[[], object]) -> None:
        self._session = session
        self._happens = happens

    async def get_many(self, paths: Sequence[str]) -> list[tuple[bytes, Stat] | None]:
        nodes = await self._session.get_many(paths)
        self._happens()
        return nodes


async def test_what_a_broker_hears_while_it_asks_counts(broker: Broker, session: ProcessSession) -> None:
    log = broker.hold(NEW)
    await broker.strays.stop()
    role = Role(2, EPOCH + 2, (2,), (2, 3, 1))
    again = take(AssignedPartition("t", NEW, 0, role, is_new=True))
    broker.look_up_in(Interrupted(session, lambda: told(broker.local, again)))
    await assign(session, OTHERS)
    await broker.registration.start(BROKER)
    broker.show()
    await broker.checked()
    assert broker.logs.get("t", 0) is log


async def test_an_answer_from_before_a_new_registration_is_dropped(
    broker: Broker, session: ProcessSession
) -> None:
    log = broker.hold(NEW)
    await broker.strays.stop()
    broker.look_up_in(Interrupted(session, lambda: broker.registration._become(-1)))
    await assign(session, OTHERS)
    await broker.registration.start(BROKER)
    broker.show()
    await broker.checked()
    assert broker.logs.get("t", 0) is log


def fail() -> None:
    raise StoreUnavailableError("no quorum")


async def test_a_store_that_cannot_be_read_is_asked_again_with_the_next_update(
    broker: Broker, session: ProcessSession, caplog: pytest.LogCaptureFixture
) -> None:
    broker.hold(NEW)
    await assign(session, OTHERS)
    await broker.strays.stop()
    broker.look_up_in(Interrupted(session, fail))
    await broker.registration.start(BROKER)
    broker.show()
    await broker.checked()
    assert broker.names == ["t-0"]
    assert "may keep replicas that have moved to others: no quorum" in caplog.text
    await broker.strays.stop()
    broker.look_up_in(session)
    broker.show()
    await broker.checked()
    assert broker.names == ["t-0-stray"]


async def test_a_disk_that_fails_keeps_what_cannot_be_put_away(
    broker: Broker, session: ProcessSession, caplog: pytest.LogCaptureFixture
) -> None:
    broker.hold(NEW)
    await assign(session, OTHERS)
    await broker.registration.start(BROKER)
    broker.files.fails = True
    broker.show()
    await broker.checked()
    assert broker.names == ["t-0"]
    assert "t-0 cannot be set aside" in caplog.text
