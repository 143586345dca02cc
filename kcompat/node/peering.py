"""The parts of one broker that connect to the others: clients, fetchers, and proposals of ISRs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.node.peer_security import peer_security
from kcompat.peer.failure_detector import FailureDetector
from kcompat.peer.peers import Peers
from kcompat.peer.reachability import Reachability
from kcompat.peer.remote_broker import RemoteBroker
from kcompat.peer.remote_controller import RemoteController
from kcompat.replication.following.fetcher_manager import FetcherManager, fetcher_manager_config
from kcompat.replication.leading.isr_proposals import IsrProposals

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kcompat.cluster.control_requests import BrokerPort
    from kcompat.cluster.metadata_cache import MetadataCache
    from kcompat.config.broker import ConfigFeed
    from kcompat.controller.state import RegisteredBroker
    from kcompat.node.environment import Environment
    from kcompat.replication.leading.isr_proposals import ControllerPort


class Peering:
    """The connections of one broker to the others, and the parts that use them."""

    def __init__(
        self,
        config: ConfigFeed,
        environment: Environment,
        cluster: MetadataCache,
        broker_epoch: Callable[[], int],
    ) -> None:
        """Build the parts. `broker_epoch` returns the current epoch of this broker's registration."""
        self._config = config
        self._clock = environment.clock
        self._broker_id = config.current.broker_id
        self._broker_epoch = broker_epoch
        security = peer_security(lambda: config.current, environment.clock.now_ms)
        ports = (environment.connect, environment.clock, environment.random)
        self.peers = Peers(self._broker_id, config, cluster, ports, security)
        self.fetching = FetcherManager(
            self._broker_id,
            broker_epoch,
            self.peers.fetcher,
            environment.clock,
            fetcher_manager_config(config.current),
        )
        self.controller = RemoteController(
            self._broker_id, broker_epoch, self.peers, cluster, config, environment.clock
        )
        config.subscribe(lambda changed: self.fetching.configure(fetcher_manager_config(changed)))

    def proposals(self, controller: ControllerPort) -> IsrProposals:
        """Return the part that collects ISR changes wanted by the leaders of this broker, and sends them to
        `controller`.
        """
        return IsrProposals(self._broker_id, self._broker_epoch, controller, self._clock)

    def port(self, broker: RegisteredBroker) -> BrokerPort:
        """Return the port through which the controller of this process reaches another broker."""
        return RemoteBroker(broker.info, broker.epoch, self.peers, self._config, self._clock)

    def failure_detector(self, seen: Callable[[Mapping[int, int]], object]) -> FailureDetector:
        """Return a failure detector, which calls `seen` with the brokers whose processes have ended."""
        return FailureDetector(self.peers, seen)

    def reachability(self, changed: Callable[[], object]) -> Reachability:
        """Return the reachability of other brokers; `changed` is called when a connection to one is made."""
        return Reachability(self.peers, self._clock, changed)

    def close(self) -> None:
        """Stop all fetchers, and end the connections."""
        self.fetching.close()
        self.controller.close()
        self.peers.close()
