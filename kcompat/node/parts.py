"""The parts of a broker, built from its configuration and its environment. No part is started here, no file
opened.

The parts meet through small protocols, each declared by the part that needs something. Which part
serves which of them is decided here.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING
from uuid import UUID

from kcompat.api.alter_partition import event_of, response_of
from kcompat.api.briefing import Briefing
from kcompat.api.context import Cluster, Coordinators, Server, Services, Storage
from kcompat.api.coordinator_check import CoordinatorCheck
from kcompat.api.dispatcher import Dispatcher
from kcompat.api.registry import SERVED
from kcompat.cluster.config_watch import ConfigWatch
from kcompat.cluster.entity_configs import EntityConfigs
from kcompat.cluster.feature_levels import TRANSACTION_VERSION
from kcompat.cluster.features import FinalizedFeatures
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.cluster.missed_deletions import MissedDeletions
from kcompat.cluster.quorum import MetadataQuorum
from kcompat.cluster.registration import Forgetful, Registration
from kcompat.cluster.znodes import DEFAULT_ENTITY
from kcompat.config.feed import ConfigFeed
from kcompat.config.fixed_size import fit_to_size
from kcompat.controller.controller import Controller
from kcompat.controller.controller_election import ControllerElection
from kcompat.controller.decisions import Decisions
from kcompat.controller.log_dir_reports import LogDirReports
from kcompat.controller.producer_ids import ProducerIds
from kcompat.group.coordinator import GroupCoordinator
from kcompat.group.coordinator_config import GroupCoordinatorConfig
from kcompat.group.ports import GroupPorts
from kcompat.log.cleaner.cleaner import LogCleaner
from kcompat.log.manager import LogManager
from kcompat.log.remembered_sessions import RememberedSessions
from kcompat.net.helpers import Helpers
from kcompat.node.coordinator_topics import CoordinatorTopics
from kcompat.node.elsewhere import Elsewhere
from kcompat.node.marking import LocalMarkers
from kcompat.node.offline_directories import OfflineDirectories
from kcompat.node.peering import Peering
from kcompat.node.sharing import Sharing
from kcompat.protocol.api_keys import API_FACTS, ApiKey
from kcompat.replication.local_broker import LocalBroker
from kcompat.replication.moving.moves import Moves, moves_config
from kcompat.replication.replica_manager import ReplicaManager
from kcompat.replication.storage_config import cleaner_config
from kcompat.replication.strays import StrayReplicas
from kcompat.replication.topic_log import TopicLog
from kcompat.replication.waiting.fetch_session import FetchSessions
from kcompat.topics import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE
from kcompat.transaction.coordinator import TransactionCoordinator, TransactionCoordinatorConfig
from kcompat.transaction.marker_routes import MarkerRoutes
from kcompat.transaction.markers import Markers
from kcompat.transaction.verification import TransactionVerifier

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.cluster.control_requests import BrokerPort
    from kcompat.cluster.image import ClusterImage
    from kcompat.cluster.znodes import BrokerRegistration
    from kcompat.config.broker import BrokerConfig
    from kcompat.controller.state import RegisteredBroker
    from kcompat.coordinator.operation import Writer
    from kcompat.log.log import Log
    from kcompat.node.environment import Environment
    from kcompat.promise import Promise
    from kcompat.protocol.errors import ErrorCode
    from kcompat.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
    from kcompat.records.control import EndTransactionMarker
    from kcompat.security.authorizer import Authorizer
    from kcompat.store.interface import MetadataStore

logger = logging.getLogger(__name__)


class Parts:
    """The parts of one broker, for one life from start to stop."""

    def __init__(
        self,
        config: BrokerConfig,
        environment: Environment,
        session: MetadataStore,
        cluster_id: str,
        authorizer: Authorizer,
        *,
        keeps_metadata: bool,
    ) -> None:
        """`session` is the broker's own session with the metadata store, and `keeps_metadata` says whether
        the store is its own as well: no other broker can join then.
        """
        if keeps_metadata:
            config = fit_to_size(config, 1)
        clock = environment.clock
        self.environment = environment
        self.session = session
        self.config = ConfigFeed(config)
        self.logs = LogManager(
            config.log_dirs, clock, environment.files, environment.start_worker, environment.random
        )
        self.cluster = MetadataCache(cluster_id)
        self.replicas = ReplicaManager(
            config.broker_id,
            clock,
            self.cluster,
            max_lag_ms=config.replica_lag_time_max_ms,
            max_fetch_wait_ms=config.replica_fetch_wait_max_ms,
        )
        self.local = LocalBroker(self.config, self.cluster, self.logs, self.replicas)
        self.peering = Peering(self.config, environment, self.cluster, lambda: self.registration.epoch)
        failure_detector = self.peering.failure_detector(
            lambda gone: self.controller_election.failures_detected(gone)
        )
        controller = Controller(
            config.broker_id,
            session,
            self._port_of,
            clock,
            self.config,
            self.cluster,
            failure_detector.follow,
        )
        self.controller_election = ControllerElection(
            config.broker_id, session, controller, clock, failure_detector.follow
        )
        memory = (
            RememberedSessions(config.log_dirs, environment.files)
            if config.get("zookeeper.connect")
            else Forgetful()
        )
        self.registration = Registration(session, config.broker_id, memory, clock)
        self.missed_deletions = MissedDeletions(session, self.cluster, self.registration)
        self.strays = StrayReplicas(session, self.registration, self.logs, self.replicas)
        self.local.report_moved_to(self.strays.suspect)
        self.log_dir_reports = LogDirReports(config.broker_id, session, self.controller_election, clock)
        self.offline_directories = OfflineDirectories(self.logs, self.log_dir_reports.replicas_failed)
        self.configs = EntityConfigs(session, self.cluster)
        self.config_watch = ConfigWatch(session, self.configs, clock.now_ms)
        self.features = FinalizedFeatures(session)
        self.quorum = MetadataQuorum(session)
        elsewhere = Elsewhere(self.peering.controller, self.config)
        self.decisions = Decisions(
            self.controller_election.submit,
            config.broker_id,
            self.config,
            environment.random,
            lambda: None if self.controller_election.is_here else elsewhere,
        )
        self.proposals = self.peering.proposals(self)
        self.replicas.propose_to(self.proposals.submit)
        self.replicas.add_fetcher(self.peering.fetching)
        self.moves = Moves(config.broker_id, self.logs, self.replicas, clock, moves_config(config))
        self.replicas.add_fetcher(self.moves)
        self.config.subscribe(lambda changed: self.moves.configure(moves_config(changed)))
        self.producer_ids = ProducerIds(self.decisions.allocate_producer_ids)
        self.markers = LocalMarkers(self.replicas, self._end_in_groups, clock, self.config)
        self.coordinator_topics = CoordinatorTopics(self.cluster, self.replicas.has_topic, self.config)
        self.transactions = self._transactions()
        self.verification = TransactionVerifier(
            self.transactions, self.peering.peers, self.cluster, self.config
        )
        self.sharing = Sharing(
            config.broker_id,
            (self.config, self.cluster, self.replicas, self.peering.peers, environment),
            lambda: self.coordinator_topics.partitions(SHARE_GROUP_STATE),
            lambda: self.decisions.ensure_topics([SHARE_GROUP_STATE]),
        )
        self.groups = self._groups()
        self.cleaner = LogCleaner(
            self.logs,
            clock,
            lambda: cleaner_config(self.config.current),
            self._stable_offset,
            environment.start_cleaning,
        )
        self.helpers = Helpers(clock, environment.start_worker)
        self.services = Services(
            Storage(
                logs=self.logs,
                replicas=self.replicas,
                moves=self.moves,
                fetch_sessions=FetchSessions(
                    config.max_incremental_fetch_session_cache_slots, environment.random
                ),
            ),
            Coordinators(
                groups=self.groups,
                share_partitions=self.sharing.partitions,
                share_sessions=self.sharing.sessions,
                share_coordinator=self.sharing.coordinator,
                transactions=self.transactions,
                verifier=self.verification,
                markers=self.markers,
                producer_ids=self.producer_ids,
                coordinator_check=CoordinatorCheck(self.cluster, clock, self.peering.reachability),
            ),
            Cluster(
                broker_id=config.broker_id,
                broker_epoch=lambda: self.registration.epoch,
                local=self.local,
                metadata=self.cluster,
                briefing=Briefing(self.cluster, clock),
                decisions=self.decisions,
                configs=self.configs,
                features=self.features,
                quorum=self.quorum,
                keeps_metadata=keeps_metadata,
            ),
            Server(
                served=SERVED,
                config_feed=self.config,
                clock=clock,
                helpers=self.helpers,
                authorizer=authorizer,
            ),
        )
        self.dispatcher = Dispatcher(self.services)
        self.cluster.subscribe_to_configs(self._configs_changed)
        self.cluster.subscribe_to_deletions(self._topics_deleted)
        self.cluster.subscribe(self._image_changed)

    async def join(self, registration: BrokerRegistration) -> None:
        """Hear of features and configs, say in the metadata store that this broker is there, and stand for
        election. Raises `BrokerIdInUseError`, `AddressInUseError`, `NoCommonListenerError`.
        """
        await self.features.start()
        await self.config_watch.start()
        await self.registration.start(registration, self.config.current.inter_broker_listener)
        self.cluster.begin_with(registration.info(self.services.cluster.broker_id))
        await self.controller_election.start()
        self.offline_directories.start()

    async def leave(self) -> None:
        """End the term of office, if this broker is the controller, and register no more; then follow nobody,
        and hear of features and configs no more.
        """
        self.offline_directories.stop()
        await self.log_dir_reports.stop()
        await self.controller_election.stop()  # until then it gives this broker roles
        await self.registration.stop()
        await self.missed_deletions.stop()
        await self.strays.stop()
        self.proposals.close()
        self.peering.close()
        self.moves.close()
        await self.config_watch.stop()
        self.features.stop()
        self.quorum.stop()

    def abandon(self) -> None:
        """End as by kill -9: no peer is told, and nothing is written."""
        self.proposals.close()
        self.peering.close()
        self.moves.close()
        self.offline_directories.stop()
        self.log_dir_reports.abandon()
        self.controller_election.abandon()
        self.registration.abandon()
        self.missed_deletions.abandon()
        self.strays.abandon()
        self.config_watch.abandon()
        self.features.stop()
        self.quorum.stop()

    def _port_of(self, broker: RegisteredBroker) -> BrokerPort:
        """Return the port through which the controller of this process reaches a broker: this one by direct
        calls.
        """
        return self.local if broker.info.id == self.services.cluster.broker_id else self.peering.port(broker)

    def propose(self, request: AlterPartitionRequest) -> Promise[AlterPartitionResponse]:
        """Have the controller decide on ISRs, wherever it is (as `ControllerPort`)."""
        if self.controller_election.is_here:
            newest = API_FACTS[ApiKey.ALTER_PARTITION].latest_stable
            return self.decisions.alter_partition(event_of(request, newest)).map(response_of)
        return self.peering.controller.propose(request)

    def _groups(self) -> GroupCoordinator:
        """The groups; they follow the leaderships of their topic."""
        config = self.config.current
        log = TopicLog(self.replicas, CONSUMER_OFFSETS)
        groups = GroupCoordinator(
            log,
            self.environment.clock,
            GroupCoordinatorConfig.read(config.get),
            GroupPorts(
                lambda: self.coordinator_topics.partitions(CONSUMER_OFFSETS),
                lambda: str(UUID(int=self.environment.random.getrandbits(128), version=4)),
                self.verification,
                lambda: self.cluster.image,
                self.sharing.persister,
                self.sharing.ends,
                self.decisions.make_topics,
            ),
        )
        log.on_leadership(groups.load, groups.unload)
        return groups

    def _transactions(self) -> TransactionCoordinator:
        """The transactions; they follow the leaderships of their topic."""
        clock, log = self.environment.clock, TopicLog(self.replicas, TRANSACTION_STATE)
        routes = MarkerRoutes(self.markers, self.peering.peers, self.cluster, self.config)
        transactions = TransactionCoordinator(
            log,
            clock,
            TransactionCoordinatorConfig.read(self.config.current.get),
            lambda: self.coordinator_topics.partitions(TRANSACTION_STATE),
            self.producer_ids.next,
            Markers(routes, clock),
            lambda: self.features.level(TRANSACTION_VERSION),
        )
        log.on_leadership(transactions.load, transactions.unload)
        return transactions

    def _end_in_groups(
        self, partition: int, writer: Writer, marker: EndTransactionMarker
    ) -> Promise[ErrorCode]:
        return self.groups.runtime.end_transaction(partition, writer, marker)

    def start_coordinators(self) -> None:
        """Begin to look for what is overdue."""
        self.groups.start()
        self.transactions.start()
        self.sharing.start()

    def stop_coordinators(self) -> None:
        """Answer all who wait."""
        self.sharing.stop()
        self.transactions.stop()
        self.groups.stop()

    def _stable_offset(self, log: Log) -> int | None:
        partition = self.replicas.get(log.topic, log.partition)
        return None if partition is None or partition.log is not log else partition.last_stable_offset

    def _configs_changed(self, changed: Mapping[tuple[str, str], Mapping[str, str]]) -> None:
        """Put changed dynamic configs of this broker, or of all brokers, in force."""
        mine = ("brokers", str(self.services.cluster.broker_id))
        everyone = ("brokers", DEFAULT_ENTITY)
        if mine in changed or everyone in changed:
            configs = self.cluster.image.configs
            config = self.config.current.with_stored(configs(*mine), configs(*everyone))
            for sentence in config.unenforced:
                logger.warning("A stored dynamic configuration is not obeyed: %s", sentence)
            self.config.replace(config)
            self.local.reconfigure_all()
        else:
            self.local.reconfigure(name for kind, name in changed if kind == "topics")

    def _image_changed(self, old: ClusterImage, new: ClusterImage) -> None:
        """Have patterns looked up again where there are more topics than before, internal topics made that
        waited for brokers, and the share partitions of deleted topics forgotten.
        """
        if len(new.topics) > len(old.topics):
            self.groups.topics_made()
        if len(new.brokers) > len(old.brokers):
            self.decisions.brokers_joined()
        if old.topic_names is not new.topic_names and (
            gone := old.topic_names.keys() - new.topic_names.keys()
        ):
            self.sharing.coordinator.forget_topics(gone)
            self.groups.forget_share_partitions(gone)

    def _topics_deleted(self, deleted: frozenset[str]) -> None:
        """Forget the offsets of their partitions."""
        self.groups.forget_topics(lambda partition: partition[0] in deleted)
