"""The connection of a broker to its cluster: the second floor of `kcompat.node.parts`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.alter_partition import event_of, response_of
from kcompat.api.context import ClusterServices
from kcompat.api.first_metadata_update import FirstMetadataUpdate
from kcompat.cluster.config_watch import ConfigWatch
from kcompat.cluster.delegation_tokens import DelegationTokens
from kcompat.cluster.entity_configs import EntityConfigs
from kcompat.cluster.features import FinalizedFeatures
from kcompat.cluster.missed_deletions import MissedDeletions
from kcompat.cluster.quorum import MetadataQuorum
from kcompat.cluster.registration import Forgetful, Registration
from kcompat.cluster.scram_users import DecoyKey, ScramUsers
from kcompat.controller.controller import Controller
from kcompat.controller.controller_election import ControllerElection
from kcompat.controller.decisions import Decisions
from kcompat.controller.departure import Departure
from kcompat.controller.log_dir_reports import LogDirReports
from kcompat.controller.remote_decisions import RemoteDecisions
from kcompat.log.remembered_sessions import RememberedSessions
from kcompat.node.offline_directories import OfflineDirectories
from kcompat.node.peering import Peering
from kcompat.protocol.api_keys import API_FACTS, ApiKey
from kcompat.replication.strays import StrayReplicas

if TYPE_CHECKING:
    from kcompat.cluster.control_requests import BrokerPort
    from kcompat.cluster.znodes import BrokerRegistration
    from kcompat.controller.state import RegisteredBroker
    from kcompat.node.environment import Environment
    from kcompat.node.lifetime import Lifetime
    from kcompat.node.logins import Logins
    from kcompat.node.storage_parts import StorageParts
    from kcompat.promise import Promise
    from kcompat.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
    from kcompat.store.interface import MetadataStore


class ClusterParts:
    """The parts that use the metadata store, the controller and the other brokers."""

    def __init__(
        self,
        storage: StorageParts,
        session: MetadataStore,
        lifetime: Lifetime,
        *,
        logins: Logins,
        keeps_metadata: bool,
    ) -> None:
        """Build the parts. `session` is the broker's session with the metadata store; with `keeps_metadata`
        the store belongs to this broker alone. `logins` are the logins that the listeners offer.
        """
        self._logins = logins
        environment = storage.environment
        self._storage = storage
        self._config = storage.config
        self._session = session
        self.broker_id = storage.config.current.broker_id
        self._build_readers(environment, lifetime)
        self.registration = self._build_registration(environment, lifetime)
        self.peering = self._build_peering(environment, lifetime)
        self._build_cleaners_up(lifetime)
        self.controller_election = self._build_election(environment, lifetime)
        self._build_reports(environment, lifetime)
        self.decisions = self._build_decisions(environment)
        self.proposals = self.peering.proposals(self)
        lifetime.began(self.proposals.close, self.proposals.close)
        storage.replicas.propose_to(self.proposals.submit)
        self.services = self._build_services(storage, keeps_metadata=keeps_metadata)

    def _build_services(self, storage: StorageParts, *, keeps_metadata: bool) -> ClusterServices:
        """Return the parts of this floor that handlers use."""
        registration = self.registration
        return ClusterServices(
            broker_id=self.broker_id,
            broker_epoch=lambda: registration.epoch,
            local=storage.local,
            metadata=storage.metadata,
            first_metadata_update=FirstMetadataUpdate(storage.metadata, storage.environment.clock),
            decisions=self.decisions,
            configs=self._configs,
            scram_users=ScramUsers(storage.metadata),
            decoy_key=self._decoy_key,
            tokens=self.tokens,
            features=self.features,
            quorum=self._quorum,
            keeps_metadata=keeps_metadata,
        )

    def _build_readers(self, environment: Environment, lifetime: Lifetime) -> None:
        """Build the parts that read the metadata store: the controller's state, features, dynamic configs."""
        session, began = self._session, lifetime.began
        self._quorum = MetadataQuorum(session)
        began(self._quorum.stop, self._quorum.stop)
        self._build_secrets(environment, lifetime)
        self.features = FinalizedFeatures(session)
        began(self.features.stop, self.features.stop)
        self._configs = EntityConfigs(session, self._storage.metadata)
        self._config_watch = ConfigWatch(session, self._configs, environment.clock.now_ms)
        began(self._config_watch.stop, self._config_watch.abandon)

    def _build_secrets(self, environment: Environment, lifetime: Lifetime) -> None:
        """Build the parts by which clients log in with credentials that are stored or derived."""
        session, config = self._session, self._config.current
        self._decoy_key = decoy_key = DecoyKey(session, environment.random)
        keys = (config.get(f"delegation.token.{name}.key") for name in ("secret", "master"))
        self.tokens = DelegationTokens(
            session,
            next((key for key in keys if isinstance(key, str) and key), None),
            lambda: decoy_key.value,
            environment.clock.now_ms,
            environment.random,
        )
        lifetime.began(self.tokens.stop, self.tokens.abandon)

    def _build_registration(self, environment: Environment, lifetime: Lifetime) -> Registration:
        config = self._config.current
        memory = (
            RememberedSessions(config.log_dirs, environment.files)
            if config.string("zookeeper.connect")
            else Forgetful()
        )
        registration = Registration(self._session, self.broker_id, memory, environment.clock)
        lifetime.began(registration.stop, registration.abandon)
        return registration

    def _build_peering(self, environment: Environment, lifetime: Lifetime) -> Peering:
        storage, registration = self._storage, self.registration
        peering = Peering(self._config, environment, storage.metadata, lambda: registration.epoch)
        lifetime.began(peering.close, peering.close)
        storage.replicas.add_fetcher(peering.fetching)
        storage.replicas.add_fetcher(storage.moves)
        return peering

    def _build_cleaners_up(self, lifetime: Lifetime) -> None:
        """Build the part that removes stray replicas: those deleted while this broker was down, or moved
        away.
        """
        storage = self._storage
        strays = StrayReplicas(self._session, self.registration, storage.logs, storage.replicas)
        lifetime.began(strays.stop, strays.abandon)
        storage.local.report_moved_to(strays.suspect)
        missed_deletions = MissedDeletions(self._session, storage.metadata, self.registration)
        lifetime.began(missed_deletions.stop, missed_deletions.abandon)

    def _build_election(self, environment: Environment, lifetime: Lifetime) -> ControllerElection:
        """Build the controller of this process, and its part in the election."""
        session, clock, metadata = self._session, environment.clock, self._storage.metadata
        # The failure detector reports to the election, which tells it what brokers to observe.
        detector = self.peering.failure_detector(lambda gone: election.failures_detected(gone))
        controller = Controller(
            self.broker_id, session, self._port_of, clock, self._config, metadata, detector.follow
        )
        election = ControllerElection(self.broker_id, session, controller, clock, detector.follow)
        lifetime.began(election.stop, election.abandon)  # the controller gives this broker roles until then
        return election

    def _build_reports(self, environment: Environment, lifetime: Lifetime) -> None:
        """Build the part that reports failed log directories to the controller."""
        reports = LogDirReports(self.broker_id, self._session, self.controller_election, environment.clock)
        lifetime.began(reports.stop, reports.abandon)
        self._offline_directories = OfflineDirectories(self._storage.logs, reports.replicas_failed)
        lifetime.began(self._offline_directories.stop, self._offline_directories.stop)

    def _build_decisions(self, environment: Environment) -> Decisions:
        election, remote = self.controller_election, RemoteDecisions(self.peering.controller, self._config)
        return Decisions(
            election.submit,
            self.broker_id,
            self._config,
            environment.random,
            lambda: None if election.is_here else remote,
        )

    async def join(self, registration: BrokerRegistration) -> None:
        """Read features and configs, register this broker in the metadata store, and join the election.

        Raises `BrokerIdInUseError`, `AddressInUseError`, `NoCommonListenerError`.
        """
        await self.features.start()
        await self._config_watch.start()
        if self._logins:
            from kcompat.node.logins import offers_scram  # late: only SASL listeners need it

            if offers_scram(self._logins):
                await self._decoy_key.read()
        await self.tokens.start()
        await self.registration.start(registration, self._config.current.inter_broker_listener)
        self._storage.metadata.begin_with(registration.info(self.broker_id))
        await self.controller_election.start()
        self._offline_directories.start()

    async def hand_leaderships_over(self) -> None:
        """Have the controller move the leaderships of this broker to others, if `controlled.shutdown.enable`
        is set.
        """
        config = self._config.current
        if config.boolean("controlled.shutdown.enable"):
            departure = Departure(
                self.broker_id,
                lambda: self.decisions.move_leaderships_away(self.registration.epoch),
                self._storage.metadata,
                self._session,
                config,
            )
            await departure.hand_over()

    def propose(self, request: AlterPartitionRequest) -> Promise[AlterPartitionResponse]:
        """Send proposed ISRs to the current controller, in this process or another."""
        if self.controller_election.is_here:
            newest = API_FACTS[ApiKey.ALTER_PARTITION].latest_stable
            return self.decisions.alter_partition(event_of(request, newest)).map(response_of)
        return self.peering.controller.propose(request)

    def _port_of(self, broker: RegisteredBroker) -> BrokerPort:
        """Return the port from the controller here to a broker: direct calls to this one, or requests."""
        return self._storage.local if broker.info.id == self.broker_id else self.peering.port(broker)
