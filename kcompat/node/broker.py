"""The composition root: builds a broker's parts, starts and stops them in order. Nothing else knows them all.

Start: see that the ports are free, lock the data directories, open the metadata store, load the logs, bind
the listeners, win the election and take the leaderships (which loads the groups), and only then accept
clients. Stop goes the other way round.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING
from uuid import uuid4

from kcompat.api.context import Services
from kcompat.api.dispatcher import Dispatcher
from kcompat.api.registry import SERVED
from kcompat.cluster.embedded import EmbeddedStore
from kcompat.cluster.feed import MetadataCache
from kcompat.cluster.sqlite_journal import SqliteJournal
from kcompat.cluster.znodes import DEFAULT_ENTITY, BrokerRegistration
from kcompat.config.errors import ConfigError
from kcompat.config.listeners import check_supported
from kcompat.config.topic import topic_config
from kcompat.controller import loading
from kcompat.controller.controller import Controller
from kcompat.controller.decisions import Decisions
from kcompat.controller.producer_ids import ProducerIds
from kcompat.group.coordinator import GroupCoordinator
from kcompat.group.coordinator_config import GroupCoordinatorConfig
from kcompat.log.cleaner import runners
from kcompat.log.cleaner.cleaner import Compacted, LogCleaner
from kcompat.log.cleaner.watch import compact_now
from kcompat.log.identity import stored_identity
from kcompat.log.manager import LogManager
from kcompat.migration.adoption import adopt
from kcompat.net.admin_socket import AdminSocket
from kcompat.net.helpers import Helpers
from kcompat.net.limits import Limits
from kcompat.net.loop_clock import LoopClock
from kcompat.net.plain_listener import bind
from kcompat.net.server import Server
from kcompat.protocol.uuids import random_uuid, uuid_to_text
from kcompat.replication.fetch_session import FetchSessions
from kcompat.replication.local_broker import LocalBroker
from kcompat.replication.replicas import ReplicaManager
from kcompat.replication.settings import cleaner_settings, log_config
from kcompat.replication.topic_log import TopicLog
from kcompat.topics import CONSUMER_OFFSETS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from kcompat.clock import Timer
    from kcompat.cluster.image import ClusterImage
    from kcompat.cluster.store import MetadataStore
    from kcompat.config.broker import BrokerConfig
    from kcompat.log.cleaner.watch import Progress
    from kcompat.log.log import Log
    from kcompat.net.listener import Listener
    from kcompat.replication.partition import Partition

logger = logging.getLogger(__name__)

METADATA_FILE = "metadata.db"
LONGEST_INTERVAL_MS = 2**40
DEFAULT_BROKER_ID = 1
"""The id of a broker that was given none and whose log directories are new."""


class BrokerNode:
    """One broker on the event loop that runs `start`."""

    def __init__(self, config: BrokerConfig) -> None:
        if config.broker_id < 0:
            known = stored_identity(config.log_dirs).broker_id
            broker_id = DEFAULT_BROKER_ID if known is None else known
            config = config.with_static({"broker.id": str(broker_id)})
        check_supported(config.listeners)
        self.config = config
        self._stops: list[Callable[[], object]] = []
        self._timers: dict[str, Timer] = {}
        self._offline: set[str] = set()

    # -- life --------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start everything, in order; what was started is stopped again if a later part fails.

        Raises ConfigError, LogDirectoryError, StorageError, StoreUnavailableError, ListenerError, each with
        one sentence.
        """
        try:
            await self._start()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Answer what is in flight, then stop the parts, last started first; the data directories are left
        clean.
        """
        for timer in self._timers.values():
            timer.cancel()
        while self._stops:
            stopped = self._stops.pop()()
            if asyncio.iscoroutine(stopped):
                await stopped

    async def _start(self) -> None:
        config, broker_id = self.config, self.config.broker_id
        for listener in self._open_listeners():  # a taken port is refused before anything is made
            listener.close()
        self._clock = LoopClock(asyncio.get_running_loop())
        store = await self._open_store()
        session = await store.session()
        await loading.prepare(session)
        cluster_id = await self._cluster_id(session)
        self.logs = LogManager(config.log_dirs, self._clock)
        defaults = log_config(topic_config(config, {}))
        # The topics' own settings come with their roles.
        self.logs.open(broker_id, cluster_id, defaults)
        self._stops.append(self.logs.close)
        await adopt(session, self.logs, cluster_id, config)

        self.cluster = MetadataCache(cluster_id)
        self.replicas = ReplicaManager(broker_id, self._clock, self.cluster)
        self._local = LocalBroker(config, self.cluster, self.logs, self.replicas)
        self.controller = Controller(broker_id, session, self._local, self._clock)
        self.decisions = Decisions(self.controller.submit, broker_id, lambda: self.config, SystemRandom())
        self.groups = self._make_groups()
        helpers = Helpers(self._clock)
        self.services = Services(
            broker_id=broker_id,
            served=SERVED,
            config=config,
            cluster=self.cluster,
            decisions=self.decisions,
            producer_ids=ProducerIds(self.decisions.allocate_producer_ids),
            replicas=self.replicas,
            logs=self.logs,
            groups=self.groups,
            fetch_sessions=FetchSessions(config.max_incremental_fetch_session_cache_slots),
            clock=self._clock,
            helpers=helpers,
        )
        listeners = self._open_listeners()
        self.server = Server(listeners, Dispatcher(self.services), limits_of(config))
        self.cluster.subscribe(self._image_changed)
        self._stops.append(self.controller.stop)
        await self.controller.start(self._registration(listeners))
        self.groups.start()
        self._stops.append(self.groups.stop)
        self.cleaner = LogCleaner(
            self.logs, self._clock, lambda: cleaner_settings(self.config), self._stable_offset, runners.start
        )
        self._stops.append(self.cleaner.stop)
        self.cleaner.start()
        self._schedule_housekeeping()
        self._stops.append(helpers.close)
        self.server.start()
        self._stops.append(self.server.stop)
        admin = AdminSocket(self.config.log_dirs[0], {"compact": self.compacting})
        await admin.open()
        self._stops.append(admin.close)

    async def _cluster_id(self, session: MetadataStore) -> str:
        """The id the store knows, else that of the log directories, else a new one."""
        stored = await loading.cluster_id(session)
        return stored or stored_identity(self.config.log_dirs).cluster_id or uuid_to_text(random_uuid())

    async def _open_store(self) -> EmbeddedStore:
        store = EmbeddedStore(
            SqliteJournal(_made_directory(self.config.log_dirs[0]) / METADATA_FILE), self._clock.now_ms
        )
        self._stops.append(store.close)
        return store

    def _open_listeners(self) -> list[Listener]:
        listeners: list[Listener] = []
        for endpoint in self.config.listeners:
            listener = bind(
                endpoint.name,
                endpoint.host,
                endpoint.port,
                backlog=self.config.socket_listen_backlog_size,
                buffers=self.config.socket_buffers,
                protected=endpoint.name == self.config.inter_broker_listener
                and len(self.config.listeners) > 1,
            )
            listeners.append(listener)
            self._stops.append(listener.close)
        return listeners

    def _registration(self, listeners: list[Listener]) -> BrokerRegistration:
        """What the cluster is told of this broker: its advertised addresses, or those it listens on."""
        endpoints: dict[str, tuple[str, int]] = {}
        protocols: dict[str, str] = {}
        for endpoint, listener in zip(self.config.listeners, listeners, strict=True):
            advertised = self.config.advertised.get(endpoint.name)
            if advertised is None:
                endpoints[endpoint.name] = (reachable_host(listener.host), listener.port)
            else:
                endpoints[endpoint.name] = (advertised.host, advertised.port or listener.port)
            protocols[endpoint.name] = endpoint.protocol
        return BrokerRegistration(endpoints, protocols, self.config.rack)

    @property
    def bootstrap_servers(self) -> str:
        """Host and port of the first listener, as clients take it."""
        listener = self.server.listeners[0]
        host = reachable_host(listener.host)
        return f"[{host}]:{listener.port}" if ":" in host else f"{host}:{listener.port}"

    # -- groups ------------------------------------------------------------------------------------------

    def _make_groups(self) -> GroupCoordinator:
        config = self.config
        log = TopicLog(self.replicas, CONSUMER_OFFSETS)
        groups = GroupCoordinator(
            log,
            self._clock,
            GroupCoordinatorConfig.read(config.get),
            self._count_offsets_partitions,
            lambda: str(uuid4()),
        )

        def follow(partition: Partition) -> None:
            if partition.is_leader:
                groups.load(partition.index, partition.role.leader_epoch)
            else:
                # A partition without replicas is deleted; one of the same name may begin at epoch 0 again.
                epoch = partition.role.leader_epoch if partition.role.replicas else None
                groups.unload(partition.index, epoch)

        self.replicas.on_leadership(CONSUMER_OFFSETS, follow)
        return groups

    def _count_offsets_partitions(self) -> int:
        topic = self.cluster.image.topics.get(CONSUMER_OFFSETS)
        return self.config.integer("offsets.topic.num.partitions") if topic is None else len(topic.partitions)

    # -- changes -----------------------------------------------------------------------------------------

    def _image_changed(self, old: ClusterImage, new: ClusterImage) -> None:
        """Obey changed configurations; forget the offsets of deleted topics."""
        mine = ("brokers", str(self.config.broker_id))
        everyone = ("brokers", DEFAULT_ENTITY)
        own_changed = any(old.configs(*entity) != new.configs(*entity) for entity in (mine, everyone))
        if own_changed:
            self.config = self.config.with_stored(new.configs(*mine), new.configs(*everyone))
            self.services.config = self._local.config = self.config
            self.server.hub.limits = limits_of(self.config)
        self._local.reconfigure(old, new, everything=own_changed)
        gone = old.topics.keys() - new.topics.keys()
        if gone:
            self.groups.forget_topics(lambda partition: partition[0] in gone)

    # -- housekeeping ------------------------------------------------------------------------------------

    def _schedule_housekeeping(self) -> None:
        config, logs = self.config, self.logs
        first = config.log_initial_task_delay_ms
        self._every("retention", config.log_retention_check_interval_ms, self._enforce_retention, first)
        self._every(
            "recovery points",
            config.log_flush_offset_checkpoint_interval_ms,
            logs.checkpoint_recovery_points,
            first,
        )
        self._every(
            "log starts",
            config.log_flush_start_offset_checkpoint_interval_ms,
            logs.checkpoint_log_starts,
            first,
        )
        self._every(
            "high watermarks",
            config.replica_high_watermark_checkpoint_interval_ms,
            self._checkpoint_high_watermarks,
        )
        self._every(
            "offline directories",
            config.replica_high_watermark_checkpoint_interval_ms,
            self._report_offline_directories,
        )
        self._every("producers", config.producer_id_expiration_check_interval_ms, self._expire_producers)
        self._every(
            "flush", config.log_flush_scheduler_interval_ms, lambda: logs.flush_due(self._clock.now_ms())
        )

    def _every(
        self, name: str, interval_ms: int, task: Callable[[], object], first_ms: int | None = None
    ) -> None:
        """Run `task` every `interval_ms`; an interval of years (Kafka's "never") schedules nothing."""
        if interval_ms >= LONGEST_INTERVAL_MS:
            return

        def run() -> None:
            self._every(name, interval_ms, task)
            task()

        self._timers[name] = self._clock.call_later(interval_ms if first_ms is None else first_ms, run)

    def _enforce_retention(self) -> None:
        def high_watermark(log: Log) -> int:
            partition = self.replicas.get(log.topic, log.partition)
            return 0 if partition is None else partition.high_watermark

        self.logs.enforce_retention(self._clock.now_ms(), high_watermark)

    def _stable_offset(self, log: Log) -> int | None:
        partition = self.replicas.get(log.topic, log.partition)
        return None if partition is None or partition.log is not log else partition.last_stable_offset

    async def compact(self, topic: str) -> list[Compacted]:
        """Compact the partitions of a topic that are here, now; what became of each."""
        return [result async for result in self.compacting(topic) if isinstance(result, Compacted)]

    def compacting(self, topic: str) -> AsyncIterator[Compacted | Progress]:
        """As `compact`, with what is known in between."""
        return compact_now(self.cleaner, [log for log in self.logs if log.topic == topic])

    def _checkpoint_high_watermarks(self) -> None:
        self.logs.checkpoint_high_watermarks(self.replicas.high_watermarks())

    def _report_offline_directories(self) -> None:
        """Tell the controller of the partitions that a failed disk took with it; the others serve on."""
        failed = [
            (log.topic, log.partition)
            for directory in self.logs.directories
            if directory.offline is not None and directory.path not in self._offline
            for log in directory.logs
        ]
        self._offline.update(
            directory.path for directory in self.logs.directories if directory.offline is not None
        )
        if failed:
            self.decisions.replicas_failed(failed)

    def _expire_producers(self) -> None:
        self.logs.expire_producers(self._clock.now_ms(), self.config.producer_id_expiration_ms)


def _made_directory(path: str) -> Path:
    directory = Path(path)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise ConfigError(f"The data directory {directory} is a file, not a directory.") from error
    except OSError as error:
        raise ConfigError(f"The data directory {directory} cannot be made: {error.strerror}.") from error
    return directory


def limits_of(config: BrokerConfig) -> Limits:
    """What peers may cost, from the broker's configuration."""
    return Limits(
        max_frame=config.socket_request_max_bytes,
        max_idle_s=config.connections_max_idle_ms / 1000,
        max_connections=config.max_connections,
        max_connections_per_ip=config.max_connections_per_ip,
        per_ip_overrides=config.ip_overrides,
    )


def reachable_host(host: str) -> str:
    """An address clients of this machine can use for one that was bound to: a wildcard stands for every
    interface.
    """
    return "localhost" if host in ("", "0.0.0.0", "::") else host  # noqa: S104 - compared, not bound
