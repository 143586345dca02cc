"""The foundation of a broker: what it opens first and has until its stop, below the parts that serve clients.

Its metadata store and its logs keep the data, and its listeners keep the ports. A restart in place replaces
only the parts above it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.config.fixed_size import fit_to_size
from kcompat.config.kraft import insist_on_one_node
from kcompat.migration.adoption import adopt
from kcompat.node.authorization import authorizer_of
from kcompat.node.identity import find_identity
from kcompat.node.layout import insist_on_one
from kcompat.node.listeners import advertise, insist_on_free_ports, keep_open
from kcompat.node.peer_security import insist_on_peer_security
from kcompat.node.storage_parts import open_logs
from kcompat.node.tls import TlsListeners

if TYPE_CHECKING:
    from kcompat.cluster.znodes import BrokerRegistration
    from kcompat.config.broker import BrokerConfig
    from kcompat.log.files import Files
    from kcompat.log.identity import Identity
    from kcompat.log.manager import LogManager
    from kcompat.net.listener import BoundListener
    from kcompat.node.environment import Environment
    from kcompat.node.lifetime import Lifetime
    from kcompat.node.listeners import ServedListener
    from kcompat.node.logins import Logins
    from kcompat.store.interface import MetadataStore


class Foundation(Struct, frozen=True):
    """The configuration, the logs and the listeners of a broker from its start to its stop."""

    config: BrokerConfig
    """The static configuration, with the broker's final id."""
    cluster_id: str
    keeps_metadata: bool
    """Whether the metadata store is the broker's own, so that no other broker can join."""
    logs: LogManager
    listeners: list[BoundListener]
    registration: BrokerRegistration
    """Registration of the broker in the cluster, with the addresses that it advertises."""
    served: list[ServedListener]
    tls: TlsListeners
    logins: Logins
    """The logins that the SASL listeners offer."""


def check(config: BrokerConfig, files: Files) -> Logins:
    """Check what can be checked before anything is opened; return the logins that the listeners offer.

    Raises ConfigError, LogDirectoryError.
    """
    logins: Logins = {}
    if any(endpoint.uses_sasl for endpoint in config.listeners):
        from kcompat.node.logins import prepare_logins  # late: only SASL listeners need it

        logins = prepare_logins(config)
    if config.string("zookeeper.connect"):
        insist_on_peer_security(config)
    insist_on_one_node(config.given)
    insist_on_one(config.log_dirs, files)
    authorizer_of(config)
    return logins


async def lay_foundation(
    config: BrokerConfig, logins: Logins, identity: Identity, environment: Environment, lifetime: Lifetime
) -> tuple[Foundation, MetadataStore]:
    """Open the store, the logs and the listeners; return them, and the broker's session with the store.

    `logins` is what `check` returned, and `identity` that in the log directories. Raises what
    `BrokerNode.start` raises.
    """
    tls = TlsListeners(config)
    insist_on_free_ports(environment.bind, config)  # before any directory is created
    store = environment.open_store(config, environment.clock)
    lifetime.began(store.close)
    session = await store.session()
    config, cluster_id = await find_identity(
        config, identity, session, environment.random, is_alone=store.is_own
    )
    if store.is_own:
        config = fit_to_size(config, 1)
    logs = open_logs(config, environment, cluster_id, lifetime)
    if store.is_own:
        await adopt(session, logs, cluster_id, config, environment.random)

    listeners = keep_open(environment.bind, config, tls.servers, lifetime)
    told, served = await advertise(config, listeners, environment.host_name, is_alone=store.is_own)
    foundation = Foundation(config, cluster_id, store.is_own, logs, listeners, told, served, tls, logins)
    return foundation, session
