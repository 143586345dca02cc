"""The parts of a broker that serve clients, started in order above its foundation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.config.broker import ConfigFeed
from kcompat.node.authorization import authorizer_of
from kcompat.node.chores import chores_of
from kcompat.node.first_topics import make_first_topics
from kcompat.node.housekeeping import Housekeeping
from kcompat.node.listeners import server_of
from kcompat.node.parts import Parts
from kcompat.node.reachability import warn_of_loopback
from kcompat.node.storage_parts import StorageParts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.config.first_topics import FirstTopic
    from kcompat.node.environment import Environment
    from kcompat.node.foundation import Foundation
    from kcompat.node.hooks import Hooks
    from kcompat.node.lifetime import Lifetime
    from kcompat.security.authorizer import Authorizer
    from kcompat.store.interface import MetadataStore


async def start_parts(
    foundation: Foundation,
    session: MetadataStore,
    authorizer: Authorizer | None,
    hooks: Hooks,
    environment: Environment,
    lifetime: Lifetime,
    topics: Sequence[FirstTopic] = (),
) -> None:
    """Build the parts, note them in `hooks`, start them, last of all the server, and create `topics`.

    `authorizer`, if given, replaces the configured one. Raises as `BrokerNode.start` does.
    """
    feed = ConfigFeed(foundation.config)
    storage = StorageParts(feed, environment, foundation.cluster_id, foundation.logs)
    parts = Parts(
        storage,
        session,
        authorizer or authorizer_of(foundation.config),
        hooks.interception,
        lifetime,
        logins=foundation.logins,
        keeps_metadata=foundation.keeps_metadata,
    )
    server = server_of(parts, foundation.listeners)
    server.hub.observers = hooks.observers
    hooks.parts, hooks.server = parts, server
    warn_of_loopback(foundation.served, parts.notices, hooks.observers, lifetime)
    hooks.renew(parts.cluster.broker_id, storage.metadata, environment.instrument)
    foundation.tls.follow(feed)
    await parts.load_acls()
    await parts.cluster.join(foundation.registration)
    parts.coordinators.start()
    if foundation.keeps_metadata:  # clients that wait for this broker must not create the topics first
        await make_first_topics(parts, topics)
    lifetime.start(storage.cleaner)
    lifetime.start(Housekeeping(environment.clock, [*chores_of(parts), *foundation.tls.chores(feed)]))
    server.start()
    lifetime.began(server.stop, server.abandon)
    if not foundation.keeps_metadata:  # the controller may be another broker, which can reach this one now
        await make_first_topics(parts, topics)
