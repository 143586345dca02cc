"""The faults of the requests of one broker: the table of their kinds, and those that are in force."""

from __future__ import annotations

from collections import deque
from random import SystemRandom
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary, proxy

from kcompat.errors import UsageError
from kcompat.instrumentation.faults.delay import Delay
from kcompat.instrumentation.faults.disconnect import Disconnect
from kcompat.instrumentation.faults.drop import Drop
from kcompat.instrumentation.faults.fail import Fail
from kcompat.instrumentation.faults.request_fault import RequestFault, Surroundings
from kcompat.instrumentation.faults.selection import Chance, Selection
from kcompat.instrumentation.faults.throttle import Throttle

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kcompat.node.broker import BrokerNode

MOST_REMEMBERED: Final = 100
"""Most faults of one broker that are remembered."""
KINDS: Final[dict[str, type[RequestFault]]] = {
    "fail": Fail,
    "delay": Delay,
    "drop": Drop,
    "disconnect": Disconnect,
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
        """The last faults that were added, also those that are over."""
        self.seed(SystemRandom().getrandbits(32))

    def seed(self, seed: int) -> None:
        """Let faults with a rate that are added from now on strike as they did after this seed before."""
        self.current_seed = _checked(seed)
        """Seed that repeats the rates of this broker's faults."""
        self._added = 0

    def add(
        self, kind: str, api: str | None, *, chance: Chance | None = None, **arguments: Any
    ) -> RequestFault:
        """Put a fault in force, and return it. `arguments` are those of its kind, and of every kind `topic`,
        `partition`, `client_id`, `times`, `rate` and `seed`; `chance` takes the place of the last three.

        Raises:
            UsageError: an argument is not possible.
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
        """Return the faults in force, in the order in which they were added."""
        return (fault for fault in self._faults if not fault.has_ended)


class FaultOfBrokers:
    """A fault at several brokers, which count and decide together."""

    def __init__(self, faults: Sequence[RequestFault]) -> None:
        self._faults = faults

    @property
    def is_in_force(self) -> bool:
        """Whether requests may still be struck."""
        return any(fault.is_in_force for fault in self._faults) and not self._faults[0].chance.is_over

    @property
    def struck(self) -> int:
        """Number of requests struck, at all the brokers."""
        return self._faults[0].struck

    def end(self) -> None:
        """End the fault at each broker."""
        for fault in self._faults:
            fault.end()

    def __str__(self) -> str:
        return str(self._faults[0])


def add_to_all(nodes: Sequence[BrokerNode], kind: str, api: str | None, **arguments: Any) -> FaultOfBrokers:
    """Put a fault in force at these brokers, as `RequestFaults.add` does at one. Raises UsageError."""
    faults: list[RequestFault] = []
    for node in nodes:
        chance = faults[0].chance if faults else None
        faults.append(request_faults(node).add(kind, api, chance=chance, **arguments))
    return FaultOfBrokers(faults)


def _checked(seed: int) -> int:
    """Return a seed that was given by a test. Raises UsageError for what is none."""
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise UsageError(f"seed={seed!r} is not a seed: use an integer")
    return seed


_FAULTS: Final[WeakKeyDictionary[BrokerNode, RequestFaults]] = WeakKeyDictionary()


def request_faults(node: BrokerNode) -> RequestFaults:
    """Return the faults of a started broker, the same object for the same broker."""
    faults = _FAULTS.get(node)
    if faults is None:
        faults = _FAULTS[node] = RequestFaults(_surroundings(node))
    return faults


def _surroundings(node: BrokerNode) -> Surroundings:
    # Not the parts, which a restart in place replaces; and weakly, as the faults of a node end with it.
    this = proxy(node)

    def is_peer(client_id: str | None) -> bool:
        parts = this.parts
        names = parts.storage.metadata.image.brokers.keys() - {parts.cluster.broker_id}
        return client_id is not None and (
            client_id in map(str, names)
            or any(client_id.startswith(f"broker-{name}-fetcher-") for name in names)
        )

    return Surroundings(
        interception=node.hooks.interception,
        clock=node.parts.environment.clock,
        topic_name=lambda topic_id: this.parts.storage.metadata.image.topic_names.get(topic_id),
        is_peer=is_peer,
    )
