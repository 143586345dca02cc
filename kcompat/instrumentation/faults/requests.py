"""The faults of the requests of one broker: the table of their kinds, and the active faults."""

from __future__ import annotations

from collections import deque
from random import SystemRandom
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary, proxy

from msgspec import Struct

from kcompat.errors import UsageError
from kcompat.instrumentation.faults.delay import Delay
from kcompat.instrumentation.faults.disconnect import Disconnection
from kcompat.instrumentation.faults.drop import Drop
from kcompat.instrumentation.faults.fail import Fail
from kcompat.instrumentation.faults.request_fault import RequestFault, Surroundings
from kcompat.instrumentation.faults.selection import Chance, Selection
from kcompat.instrumentation.faults.throttle import Throttle
from kcompat.peer.client_ids import is_of_broker

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kcompat.clock import Clock
    from kcompat.node.broker import BrokerNode
    from kcompat.node.cluster import ClusterNodes
    from kcompat.node.hooks import Hooks
    from kcompat.protocol.api_keys import ApiKey

MOST_REMEMBERED: Final = 100
"""Maximum number of faults that one broker remembers."""
KINDS: Final[dict[str, type[RequestFault]]] = {
    "fail": Fail,
    "delay": Delay,
    "drop": Drop,
    "disconnect": Disconnection,
    "throttle": Throttle,
}
"""The kinds of faults of requests, by name."""

_SELECTING: Final = ("topic", "partition", "client_id")
_DECIDING: Final = ("times", "rate", "seed")


class RequestFaults:
    """The faults of the requests of one broker, used on its event loop."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        self._faults: list[RequestFault] = []
        self.history: deque[RequestFault] = deque(maxlen=MOST_REMEMBERED)
        """The last faults that were added, including those that have ended."""
        self.seed(SystemRandom().getrandbits(32))

    def seed(self, seed: int) -> None:
        """Set the seed for faults with a rate that are added from now on, so that they affect the same
        requests in a repeated run.
        """
        self.current_seed = _checked(seed)
        """Seed that repeats the rates of this broker's faults."""
        self._added = 0

    def add(
        self, kind: str, api: str | None, *, chance: Chance | None = None, **arguments: Any
    ) -> RequestFault:
        """Start a fault, and return it. `arguments` are those of its kind, and of every kind `topic`,
        `partition`, `client_id`, `times`, `rate` and `seed`; `chance` takes the place of the last three.

        Raises:
            UsageError: an argument is not valid.
        """
        self._added += 1
        selecting = {name: arguments.pop(name, None) for name in _SELECTING}
        times, rate, seed = (arguments.pop(name, None) for name in _DECIDING)
        if chance is None:
            seed = f"{self.current_seed} {self._added}" if seed is None else _checked(seed)
            chance = Chance(times, 1.0 if rate is None else rate, seed)
        fault = KINDS[kind](Selection(api, **selecting), chance, self._surroundings, **arguments)
        self._faults = [*self, fault]
        self.history.append(fault)
        fault.begin()
        return fault

    def clear(self) -> None:
        """End all faults."""
        for fault in self._faults:
            fault.end()
        self._faults = []

    def __iter__(self) -> Iterator[RequestFault]:
        """Return the active faults, in the order in which they were added."""
        return (fault for fault in self._faults if not fault.has_ended)


class Reach(Struct, frozen=True):
    """The brokers that a fault is for: the running ones and, in a cluster, those that start later."""

    nodes: Sequence[BrokerNode]
    cluster: ClusterNodes | None = None
    """The cluster that the brokers are part of; None for a broker alone."""
    broker_id: int | None = None
    """The only broker of the cluster that the fault is for; None for all of them."""

    def clear(self) -> None:
        """End all faults of these brokers."""
        for node in self.nodes:
            request_faults(node).clear()
        if self.cluster is not None and self.broker_id is None:
            for arrive in list(self.cluster.arrivals):
                if isinstance(arrive, FaultOfBrokers):
                    arrive.end()


class FaultOfBrokers:
    """A fault of several brokers, with common counts and decisions. As a function, it starts the fault at a
    broker that starts later.
    """

    def __init__(self, reach: Reach, kind: str, api: str | None, arguments: Mapping[str, Any]) -> None:
        """Start a fault at each broker, as `RequestFaults.add` does at one. Raises UsageError."""
        self._reach = reach
        self._kind, self._api = kind, api
        first, *others = reach.nodes
        self._first = request_faults(first).add(kind, api, **arguments)
        self._clock = self._first.surroundings.clock
        self._arguments = {name: each for name, each in arguments.items() if name not in _DECIDING}
        self._faults = {first.hooks.broker_id: self._first}
        for node in others:
            self._put(node.hooks)
        if reach.cluster is not None:
            reach.cluster.arrivals.append(self)

    def __call__(self, hooks: Hooks) -> None:
        """Start the fault at a broker that starts, unless the fault has ended."""
        former = self._faults.get(hooks.broker_id)
        is_meant = self._reach.broker_id in (None, hooks.broker_id)
        if is_meant and self.is_in_force and not (former is not None and former.has_ended):
            self._put(hooks)

    @property
    def is_in_force(self) -> bool:
        """Whether further requests may be affected."""
        return not self._first.chance.is_over and not all(each.has_ended for each in self._faults.values())

    @property
    def struck(self) -> int:
        """Number of requests affected at all the brokers."""
        return self._first.struck

    def end(self) -> None:
        """End the fault at each broker."""
        cluster = self._reach.cluster
        if cluster is not None and self in cluster.arrivals:
            cluster.arrivals.remove(self)
        for fault in self._faults.values():
            fault.end()

    def _put(self, hooks: Hooks) -> None:
        faults = faults_at(hooks, self._clock)
        self._faults[hooks.broker_id] = faults.add(
            self._kind, self._api, chance=self._first.chance, **self._arguments
        )

    def __str__(self) -> str:
        return str(self._first)


def _checked(seed: int) -> int:
    """Return a seed that a test has given. Raises UsageError if it is not an integer."""
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise UsageError(f"seed={seed!r} is not a seed: use an integer")
    return seed


_FAULTS: Final[WeakKeyDictionary[Hooks, RequestFaults]] = WeakKeyDictionary()


def request_faults(node: BrokerNode) -> RequestFaults:
    """Return the faults of a started broker, the same object for the same broker."""
    return faults_at(node.hooks, node.parts.environment.clock)


def faults_at(hooks: Hooks, clock: Clock) -> RequestFaults:
    """Return the faults of a broker that starts or has started, the same object for the same broker."""
    faults = _FAULTS.get(hooks)
    if faults is None:
        faults = _FAULTS[hooks] = RequestFaults(_surroundings(hooks, clock))
    return faults


def _surroundings(hooks: Hooks, clock: Clock) -> Surroundings:
    # The hooks have the metadata of the broker as it is now, which a restart in place replaces. Weakly, as
    # the faults of a broker end with it.
    this = proxy(hooks)

    def is_peer(key: ApiKey | None, client_id: str | None) -> bool:
        names = this.metadata.image.brokers.keys() - {this.broker_id}
        return is_of_broker(key, client_id, names)

    return Surroundings(
        interception=hooks.interception,
        clock=clock,
        topic_name=lambda topic_id: this.metadata.image.topic_names.get(topic_id),
        is_peer=is_peer,
    )
