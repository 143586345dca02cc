"""`broker.faults`: errors, delays and lost answers for chosen requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from kcompat.embedded.fault import Fault
from kcompat.embedded.tracebacks import short_tracebacks
from kcompat.errors import UsageError
from kcompat.instrumentation.faults.requests import FaultOfBrokers, request_faults

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Unpack

    from kcompat.embedded.thread import LoopThread
    from kcompat.instrumentation.faults.requests import Reach


class Struck(TypedDict, total=False):
    """The requests that a fault affects, by keyword. Without keywords, a fault affects all requests."""

    topic: str | None
    """Name of a topic that the request is about."""
    partition: int | None
    """Partition of that topic."""
    client_id: str | None
    """Client id of the request."""
    times: int | None
    """Number of affected requests after which the fault has no further effect."""
    rate: float
    """Probability that a request is affected, above 0 and up to 1."""
    seed: int | None
    """Seed that makes `rate` repeatable, instead of the one that `Faults.seed` sets."""


@short_tracebacks
class Faults:
    """The faults of the requests of a running broker, or of all brokers of a cluster. A fault also affects
    brokers of a cluster that start, or start again, while it is active.

    Each method starts a fault at once and returns it; `remove`, or the end of a `with` block, ends it.

    with broker.faults.fail("Produce", "NOT_LEADER_OR_FOLLOWER", topic="orders", times=3) as fault:
            producer.send("orders", b"order").get()
        assert fault.struck == 3

    `api` and `error` are Kafka's names; an API of None means requests of every API. The keyword arguments of
    all methods are those of `Struck`. The methods raise UsageError for invalid arguments.
    """

    def __init__(self, reach: Callable[[], tuple[LoopThread, Reach]]) -> None:
        self._reach = reach

    def fail(self, api: str, error: str, *, served: bool = False, **struck: Unpack[Struck]) -> Fault:
        """Answer requests with an error. With `topic`, other topics in the request are served. With `served`
        the whole request is served, but answered with the error.
        """
        return self._add("fail", api, error=error, served=served, **struck)

    def delay(self, api: str | None = None, *, ms: float, **struck: Unpack[Struck]) -> Fault:
        """Serve requests `ms` milliseconds late; later requests on the same connection wait for them."""
        return self._add("delay", api, ms=ms, **struck)

    def drop(self, api: str | None = None, *, served: bool = True, **struck: Unpack[Struck]) -> Fault:
        """Never answer requests, which are served nevertheless unless `served` is False."""
        return self._add("drop", api, served=served, **struck)

    def disconnect(self, api: str | None = None, *, served: bool = False, **struck: Unpack[Struck]) -> Fault:
        """Close the connection instead of answering, before the request is served or, with `served`, after
        it.
        """
        return self._add("disconnect", api, served=served, **struck)

    def throttle(self, api: str | None = None, *, ms: float, **struck: Unpack[Struck]) -> Fault:
        """Throttle clients as a quota does: each answer has a throttle time of `ms` milliseconds, for which
        the broker serves nothing more on the connection.
        """
        return self._add("throttle", api, ms=ms, **struck)

    def seed(self, seed: int) -> None:
        """Make the rates of later faults repeatable."""
        thread, reach = self._brokers()

        def act() -> None:
            for node in reach.nodes:
                request_faults(node).seed(seed)

        thread.do(act)

    def clear(self) -> None:
        """End all faults of requests."""
        thread, reach = self._brokers()
        thread.do(reach.clear)

    def _add(self, kind: str, api: str | None, **arguments: Any) -> Fault:
        thread, reach = self._brokers()
        return Fault(thread, thread.do(lambda: FaultOfBrokers(reach, kind, api, arguments)))

    def _brokers(self) -> tuple[LoopThread, Reach]:
        thread, reach = self._reach()
        if not reach.nodes:
            raise UsageError("no broker of the cluster is running: start one first")
        return thread, reach

    def __repr__(self) -> str:
        try:
            thread, reach = self._brokers()
            faults = thread.do(lambda: request_faults(reach.nodes[0]))
        except UsageError:
            return "<faults of a broker that is not running>"
        return f"<faults with seed {faults.current_seed}: {'; '.join(map(str, faults)) or 'none'}>"
