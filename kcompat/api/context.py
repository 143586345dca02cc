"""The context of a request for its handler: the client, and the parts of the broker that handlers use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from msgspec import Struct

from kcompat.notices.cause import client
from kcompat.notices.causes import NOT_AUTHORIZED
from kcompat.security.authorizer import Purpose
from kcompat.security.operations import ALL_OPERATIONS, SUPPORTED_OPERATIONS, bit_field, camel_case

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from kcompat.api.charges import Charges
    from kcompat.api.coordinator_check import CoordinatorCheck
    from kcompat.api.first_metadata_update import FirstMetadataUpdate
    from kcompat.api.registry import Served
    from kcompat.clock import Clock
    from kcompat.cluster.config_entities import Entity
    from kcompat.cluster.control_requests import BrokerPort
    from kcompat.cluster.delegation_tokens import DelegationTokens
    from kcompat.cluster.image import ImageHolder
    from kcompat.cluster.quorum import MetadataQuorum
    from kcompat.cluster.scram_users import DecoyKey, ScramUsers
    from kcompat.config.broker import BrokerConfig, ConfigFeed
    from kcompat.controller.decisions import Decisions
    from kcompat.controller.producer_ids import ProducerIds
    from kcompat.coordinator.ports import Verifier
    from kcompat.group.coordinator import GroupCoordinator
    from kcompat.log.manager import LogManager
    from kcompat.net.answers import Close, Connection
    from kcompat.net.helpers import Helpers
    from kcompat.notices.cause import Cause
    from kcompat.promise import Promise
    from kcompat.protocol.api_keys import ApiKey
    from kcompat.protocol.errors import ErrorCode
    from kcompat.replication.moving.moves import Moves
    from kcompat.replication.replica_manager import ReplicaManager
    from kcompat.replication.waiting.fetch_session import FetchSessions
    from kcompat.security.acls import Acl, AclFilter
    from kcompat.security.authorizer import Authorizer, Resource
    from kcompat.security.operations import Operation, ResourceType
    from kcompat.security.principals import Principal
    from kcompat.security.quotas.clients import ClientQuotas
    from kcompat.share.partition_manager import SharePartitions
    from kcompat.share.persister import Persister
    from kcompat.share.sessions import ShareSessions
    from kcompat.transaction.coordinator import TransactionCoordinator
    from kcompat.transaction.marker_routes import MarkerWriter

Response = TypeVar("Response")

_ACCESS: Final = Purpose.ACCESS  # Python 3.11 takes 0.2 us to find a member of an enumeration


class ConfigChanges(Protocol):
    """Port that stores and reads dynamic configs: `kcompat.cluster.entity_configs.EntityConfigs`."""

    def replace(
        self, kind: str, name: str, configs: Mapping[str, str], basis: Mapping[str, str] | None = None
    ) -> Promise[ErrorCode]:
        """Replace all configs of an entity; return INVALID_UPDATE_VERSION if the current configs are not
        `basis`.
        """

    def refresh(self, entities: Collection[Entity]) -> Promise[None]:
        """Read the configs of these entities from the store."""

    def ensure(self, topics: Collection[str]) -> Promise[None]:
        """Read the configs of these topics from the store, unless this broker knows them already."""


class AclChanges(Protocol):
    """Port that stores and reads ACLs: `kcompat.security.acl_store.AclStore`."""

    escapes: bool
    """Whether ACLs for names with `/` can be stored."""

    def find(self, wanted: AclFilter) -> list[Acl]:
        """Return the ACLs in force on this broker that pass a filter, in order."""

    def create(self, acls: Iterable[Acl]) -> Promise[ErrorCode]:
        """Add ACLs; return NONE once they are in force on this broker."""

    def delete(self, filters: Sequence[AclFilter]) -> Promise[ErrorCode | list[list[Acl]]]:
        """Remove the ACLs that pass one of the filters; return those of each filter, in order."""


class Features(Protocol):
    """The finalized features: `kcompat.cluster.features.FinalizedFeatures`."""

    epoch: int
    """Epoch of the finalized features, which rises with each change; -1 if no features are finalized."""
    levels: Mapping[str, int]

    def level(self, feature: str) -> int:
        """Return the finalized level of a feature, or 0 if the feature is not finalized."""

    def read_again(self) -> Promise[None]:
        """Read the finalized features from the store; the promise is kept once they are in force here."""


class Storage(Struct):
    """The logs of this broker, the replicas that use them, moves between log directories, and fetch
    sessions.
    """

    logs: LogManager
    replicas: ReplicaManager
    moves: Moves
    fetch_sessions: FetchSessions


class Coordinators(Struct):
    """The coordinators of groups, transactions and share groups, and the services that only their handlers
    use.
    """

    groups: GroupCoordinator
    share_partitions: SharePartitions
    share_sessions: ShareSessions
    share_coordinator: Persister
    transactions: TransactionCoordinator
    verifier: Verifier
    markers: MarkerWriter
    producer_ids: ProducerIds
    coordinator_check: CoordinatorCheck


class ClusterServices(Struct):
    """The broker's id, its view of the cluster, and the ports to change the cluster."""

    broker_id: int
    broker_epoch: Callable[[], int]
    """The czxid of this broker's registration; -1 before there is one."""
    local: BrokerPort
    """Port that executes control requests on this broker."""
    metadata: ImageHolder
    first_metadata_update: FirstMetadataUpdate
    decisions: Decisions
    configs: ConfigChanges
    scram_users: ScramUsers
    decoy_key: DecoyKey
    tokens: DelegationTokens
    features: Features
    quorum: MetadataQuorum
    """The metadata store as DescribeQuorum describes it."""
    keeps_metadata: bool
    """Whether this broker hosts the metadata store itself."""


class RequestServices(Struct):
    """The parts that serve any request: APIs, configuration, clock, helper threads, authorizer, quotas."""

    served: tuple[Served, ...]
    config_feed: ConfigFeed
    clock: Clock
    helpers: Helpers
    authorizer: Authorizer
    acls: AclChanges | None
    """The stored ACLs; None if the authorizer decides by none."""
    quotas: ClientQuotas

    @property
    def config(self) -> BrokerConfig:
        """The effective configuration of the broker."""
        return self.config_feed.current


class Services(Struct):
    """The parts of the broker that handlers use, put together once by `kcompat.node.parts`."""

    storage: Storage
    coordinators: Coordinators
    cluster: ClusterServices
    server: RequestServices


class RequestContext(Struct):
    """The client, API version and arrival time of one request, and the services of the broker."""

    connection: Connection
    services: Services
    api_version: int
    client_id: str | None
    now_ms: int
    key: ApiKey
    """The API of the request."""
    charges: Charges | None = None
    """The costs of the request for its client's quotas; None if the client has none."""

    @property
    def principal(self) -> Principal:
        """The principal that the client's connection is authenticated as."""
        return self.connection.principal

    def may(self, operation: Operation, resource: Resource, purpose: Purpose = Purpose.ACCESS) -> bool:
        """Return whether the client is allowed this operation on this resource."""
        authorizer, connection = self.services.server.authorizer, self.connection
        if authorizer.allows_everything or authorizer.may(
            connection.principal, connection.peer_host, operation, resource, self.key, purpose
        ):
            return True
        if purpose is _ACCESS:
            self.report(
                NOT_AUTHORIZED,
                request=camel_case(self.key),
                principal=connection.principal,
                operation=camel_case(operation),
                resource=f"{camel_case(resource.type)} {resource.name}",
            )
        return False

    def report(self, cause: Cause, **details: object) -> None:
        """Log why the client fails, with the details of the line."""
        self.connection.report(cause, client(self.client_id, self.client_host), **details)

    def may_on_any(self, operation: Operation, resource_type: ResourceType) -> bool:
        """Return whether the client may be allowed this operation on any resource of this type."""
        return self.services.server.authorizer.may_on_any(
            self.principal, self.client_host, operation, resource_type
        )

    def operations_on(self, resource: Resource) -> int:
        """Return the operations that the client may perform on a resource, as a bit field (KIP-430)."""
        if self.services.server.authorizer.allows_everything:
            return ALL_OPERATIONS[resource.type]
        possible = SUPPORTED_OPERATIONS[resource.type]
        return bit_field(
            operation for operation in possible if self.may(operation, resource, Purpose.OPERATIONS)
        )

    @property
    def client_host(self) -> str:
        """Address of the client, without its port."""
        return self.connection.peer_host

    @property
    def listener(self) -> str:
        """Name of the listener that accepted the client's connection."""
        return self.connection.listener_name

    @property
    def local_address(self) -> tuple[str, int]:
        """Address and port of this broker at which the client is connected."""
        return self.connection.local_address


class Interruptible(Generic[Response]):
    """A later response that `interrupt()` forces with the data available at that time."""

    __slots__ = ("interrupt", "promise")

    def __init__(self, promise: Promise[Response], interrupt: Callable[[], object]) -> None:
        self.promise = promise
        self.interrupt = interrupt


class Busy(Generic[Response]):
    """A request that is processed outside the event loop; later frames of its connection stay unread.

    `outcome` becomes a value that a handler may return at once, or fails with the exception of the work.
    `holds` counts the bytes of the request that are kept for the work.
    """

    __slots__ = ("holds", "outcome")

    def __init__(self, outcome: Promise[Response | Promise[Response] | Close | None], holds: int) -> None:
        self.outcome = outcome
        self.holds = holds
