"""The parts of a broker that serve clients, started in order above its foundation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.config.broker import ConfigFeed
from kcompat.node.authorization import authorizer_of
from kcompat.node.chores import chores_of
from kcompat.node.housekeeping import Housekeeping
from kcompat.node.listeners import server_of
from kcompat.node.parts import Parts
from kcompat.node.storage_parts import StorageParts

if TYPE_CHECKING:
    from kcompat.net.interception import Interception
    from kcompat.net.server import Server
    from kcompat.node.environment import Environment
    from kcompat.node.foundation import Foundation
    from kcompat.node.lifetime import Lifetime
    from kcompat.security.authorizer import Authorizer
    from kcompat.store.interface import MetadataStore


async def start_parts(
    foundation: Foundation,
    session: MetadataStore,
    authorizer: Authorizer | None,
    interception: Interception,
    environment: Environment,
    lifetime: Lifetime,
) -> tuple[Parts, Server]:
    """Build the parts and start them, last of all the server; return the two.

    Without `authorizer` the configured one decides what clients may do. Raises as `BrokerNode.start` does.
    """
    feed = ConfigFeed(foundation.config)
    storage = StorageParts(feed, environment, foundation.cluster_id, foundation.logs)
    parts = Parts(
        storage,
        session,
        authorizer or authorizer_of(foundation.config),
        interception,
        lifetime,
        keeps_metadata=foundation.keeps_metadata,
    )
    server = server_of(parts, foundation.listeners)
    foundation.tls.follow(feed)
    await parts.load_acls()
    await parts.cluster.join(foundation.registration)
    parts.coordinators.start()
    lifetime.began(storage.cleaner.stop, storage.cleaner.stop)
    storage.cleaner.start()
    housekeeping = Housekeeping(environment.clock, [*chores_of(parts), *foundation.tls.chores(feed)])
    lifetime.began(housekeeping.stop, housekeeping.stop)
    housekeeping.start()
    server.start()
    lifetime.began(server.stop, server.abandon)
    return parts, server
