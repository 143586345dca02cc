"""The parts of a broker, built floor by floor: storage, cluster, coordinators, and the dispatcher above them.

Each part declares small protocols for what it needs of others; the floors decide which part implements which
of them. A part is registered with the broker's `Lifetime` where it is built.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kcompat.api.context import RequestServices, Services
from kcompat.api.dispatcher import Dispatcher
from kcompat.api.registry import SERVED
from kcompat.cluster.config_entities import DEFAULT_ENTITY
from kcompat.cluster.quota_entities import put_in_force
from kcompat.net.helpers import Helpers
from kcompat.node.cluster_parts import ClusterParts
from kcompat.node.coordinator_parts import CoordinatorParts
from kcompat.notices.notices import Notices
from kcompat.security.quotas.clients import ClientQuotas
from kcompat.security.quotas.rates import QuotaWindow

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.cluster.image import ClusterImage
    from kcompat.config.broker import BrokerConfig
    from kcompat.net.answers import FrameHandler
    from kcompat.net.interception import Interception
    from kcompat.node.lifetime import Lifetime
    from kcompat.node.logins import Logins
    from kcompat.node.storage_parts import StorageParts
    from kcompat.security.acl_store import AclStore
    from kcompat.security.authorizer import Authorizer
    from kcompat.store.interface import MetadataStore

logger = logging.getLogger(__name__)


class Parts:
    """The parts of one broker, from one start to its stop."""

    def __init__(
        self,
        storage: StorageParts,
        session: MetadataStore,
        authorizer: Authorizer,
        interception: Interception,
        lifetime: Lifetime,
        *,
        logins: Logins,
        keeps_metadata: bool,
    ) -> None:
        """Build the parts. `session` is the broker's session with the metadata store; with `keeps_metadata`
        the store belongs to this broker alone, so that no other broker can join. All frames pass through
        `interception`. `logins` are the logins that the listeners offer.
        """
        config, environment = storage.config, storage.environment
        self.config = config
        self.environment = environment
        self.session = session
        self.storage = storage
        lifetime.began(storage.moves.close, storage.moves.close)
        self.notices = Notices(environment.clock)
        lifetime.began(self.notices.close, self.notices.close)
        self.cluster = ClusterParts(storage, session, lifetime, logins=logins, keeps_metadata=keeps_metadata)
        self.coordinators = CoordinatorParts(storage, self.cluster, self.notices, lifetime)
        self.quotas = ClientQuotas(
            _window(config.current, "quota.window"), _window(config.current, "controller.quota.window")
        )
        self.acls: AclStore | None = None
        """The stored ACLs; None if the authorizer does not use them."""
        if not authorizer.allows_everything:
            self.acls = self._stored_acls(authorizer, lifetime, escapes=keeps_metadata)
        self.services = self._build_services(authorizer, lifetime)
        self.interception = interception
        self.dispatcher = interception.around(Dispatcher(self.services))
        self.gates = self._build_gates(logins, lifetime)
        """The handler of clients that have not logged in, by name of the listener."""
        storage.metadata.subscribe_to_configs(self._configs_changed)
        storage.metadata.subscribe(self._image_changed)

    def _build_services(self, authorizer: Authorizer, lifetime: Lifetime) -> Services:
        """Return the parts of all floors that handlers use, and start the threads beside the event loop."""
        config, clock = self.config, self.environment.clock
        helpers = Helpers(clock, self.environment.start_worker)
        lifetime.began(helpers.close, helpers.close)
        return Services(
            self.storage.services,
            self.coordinators.services,
            self.cluster.services,
            RequestServices(SERVED, config, clock, helpers, authorizer, self.acls, self.quotas),
        )

    def _build_gates(self, logins: Logins, lifetime: Lifetime) -> dict[str, FrameHandler]:
        """Return the handlers of clients that have not logged in, by name of the SASL listener."""
        if not logins:
            return {}
        from kcompat.node.logins import login_gates  # late: only SASL listeners need it

        gates = login_gates(self.config.current, logins, self.services, self.dispatcher, lifetime)
        return {name: self.interception.around(gate) for name, gate in gates.items()}

    def _stored_acls(self, authorizer: Authorizer, lifetime: Lifetime, *, escapes: bool) -> AclStore | None:
        """Return the stored ACLs if the authorizer decides by them."""
        from kcompat.security.acl_authorizer import AclAuthorizer  # late: most brokers have no ACLs
        from kcompat.security.acl_store import AclStore

        if not isinstance(authorizer, AclAuthorizer):
            return None
        acls = AclStore(self.session, authorizer, self.environment.clock.now_ms, escapes=escapes)
        lifetime.began(acls.stop, acls.abandon)
        return acls

    async def load_acls(self) -> None:
        """Put the stored ACLs in force, if the authorizer decides by ACLs."""
        if self.acls is not None:
            await self.acls.start()

    def _configs_changed(self, changed: Mapping[tuple[str, str], Mapping[str, str]]) -> None:
        """Apply changed quotas and changed configs of this broker, of all brokers, or of topics."""
        put_in_force(self.quotas, changed)
        mine = ("brokers", str(self.cluster.broker_id))
        everyone = ("brokers", DEFAULT_ENTITY)
        local = self.storage.local
        if mine in changed or everyone in changed:
            configs = self.storage.metadata.image.configs
            config = self.config.current.with_stored(configs(*mine), configs(*everyone))
            for sentence in config.unenforced:
                logger.warning("A stored dynamic configuration is not obeyed: %s", sentence)
            self.config.replace(config)
            local.reconfigure_all()
        else:
            local.reconfigure(name for kind, name in changed if kind == "topics")

    def _image_changed(self, old: ClusterImage, new: ClusterImage) -> None:
        """Try again to create internal topics for which too few brokers were live."""
        if len(new.brokers) > len(old.brokers):
            self.cluster.decisions.brokers_joined()


def _window(config: BrokerConfig, prefix: str) -> QuotaWindow:
    return QuotaWindow(config.integer(f"{prefix}.num"), config.integer(f"{prefix}.size.seconds") * 1000)
