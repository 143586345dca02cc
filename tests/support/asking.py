"""Asking one handler: a context as the dispatcher makes it, with the parts of a broker that a test has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from kcompat.api.context import (
    ClusterServices,
    Coordinators,
    RequestContext,
    RequestServices,
    Services,
    Storage,
)
from kcompat.config.broker import BrokerConfig, ConfigFeed
from kcompat.promise import Promise
from kcompat.protocol.api_keys import ApiKey
from kcompat.security.authorizer import AllowEverything, Purpose
from kcompat.security.principals import ANONYMOUS
from kcompat.security.quotas.clients import ClientQuotas
from kcompat.security.quotas.rates import QuotaWindow

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kcompat.api.charges import Charges
    from kcompat.net.answers import FrameHandler
    from kcompat.notices.cause import Cause
    from kcompat.protocol.message import Message
    from kcompat.security.authorizer import AllowedTopics, Resource
    from kcompat.security.operations import Operation, ResourceType
    from kcompat.security.principals import Principal

T = TypeVar("T", Storage, Coordinators, ClusterServices, RequestServices)

LOCAL_ADDRESS = ("10.0.0.1", 19092)
NOW_MS = 1_700_000_000_000


class Client:
    """A connection as handlers see it: the addresses of the client, and a place for their context."""

    def __init__(self, host: str = "10.0.0.7") -> None:
        self.peer_host = host
        self.peer_port = 40000
        self.listener_name = "PLAINTEXT"
        self.local_address = LOCAL_ADDRESS
        self.principal = ANONYMOUS
        self.context: object = None
        self.allowed_topics: AllowedTopics | None = None
        self.handler: FrameHandler | None = None
        """The handler that `serve_with` has been called with."""
        self.closes_behind = ""
        """The reason that `close_behind` has been called with."""
        self.complaints: list[str] = []
        self.reports: list[str] = []
        """Lines that say why requests fail."""
        self.placed: list[tuple[int, int]] = []
        """(size of the data, position of what follows it)"""
        self._told_of_end: list[Callable[[], object]] = []
        self._has_left = False

    def when_closed(self, callback: Callable[[], object]) -> None:
        """Remember whom to tell."""
        if self._has_left:
            callback()
        else:
            self._told_of_end.append(callback)

    def leave(self) -> None:
        """End the connection."""
        self._has_left = True
        told, self._told_of_end = self._told_of_end, []
        for callback in told:
            callback()

    def place_next(self, data: memoryview, position: int) -> None:
        """Remember what was placed."""
        self.placed.append((len(data), position))

    def serve_with(self, handler: FrameHandler) -> None:
        """Remember the handler."""
        self.handler = handler

    def close_behind(self, reason: str) -> None:
        """Remember the reason."""
        self.closes_behind = reason

    def complain(self, cause: Cause, **details: object) -> None:
        """Remember the reason."""
        self.complaints.append(cause.reason({"listener": self.listener_name, **details}))

    def report(self, cause: Cause, about: str, **details: object) -> None:
        """Remember the line of the log."""
        self.reports.append(cause.line(about, details))

    def mute(self, ms: float) -> None:
        """Fail the test: handlers leave that to the dispatcher."""
        raise AssertionError(f"muted for {ms} ms")

    def close(self, reason: str) -> None:
        """Fail the test: handlers close no connection."""
        raise AssertionError(f"closed: {reason}")


class _Absent:
    """In place of a part that the test does not have."""

    def __getattr__(self, name: str) -> object:
        raise AssertionError(f"the handler asks for {name} of a part that this test does not have")

    def __bool__(self) -> bool:
        raise AssertionError("the handler asks for something that this test does not say")


_ABSENT: Final[Any] = _Absent()


class Denying:
    """An authorizer that denies these operations on these resources, and on whole types of them."""

    allows_everything = False
    generation = None

    def __init__(self, *denied: tuple[Operation, Resource | ResourceType]) -> None:
        self._denied = denied

    def may(
        self,
        _principal: Principal,
        _host: str,
        operation: Operation,
        resource: Resource,
        _request: ApiKey,
        _purpose: Purpose = Purpose.ACCESS,
        /,
    ) -> bool:
        return not any((operation, of) in self._denied for of in (resource, resource.type))

    def may_on_any(
        self, _principal: Principal, _host: str, operation: Operation, resource_type: ResourceType, /
    ) -> bool:
        return (operation, resource_type) not in self._denied


class Finalized:
    """`Features` that are these."""

    def __init__(self, epoch: int = 0, **levels: int) -> None:
        """`levels` by the names of features with "_" for "."."""
        self.epoch = epoch
        self.levels: Mapping[str, int] = {name.replace("_", "."): each for name, each in levels.items()}

    def level(self, feature: str) -> int:
        return self.levels.get(feature, 0)

    def read_again(self) -> Promise[None]:
        return Promise.resolved(None)


def services_of(*, config: BrokerConfig | None = None, **parts: Any) -> Services:
    """Return a broker's services, sorted into their groups by name. A handler that uses a part which is not
    given fails the test. Everything is allowed unless `authorizer` is given, and nobody has a quota unless
    `quotas` are.
    """
    if config is not None:
        parts["config_feed"] = ConfigFeed(config)
    parts.setdefault("authorizer", AllowEverything())
    parts.setdefault("acls", None)
    parts.setdefault("quotas", ClientQuotas(QuotaWindow(), QuotaWindow()))

    def group(kind: type[T]) -> T:
        return kind(*(parts.pop(name, _ABSENT) for name in kind.__struct_fields__))

    services = Services(group(Storage), group(Coordinators), group(ClusterServices), group(RequestServices))
    assert not parts, f"no service is named {', '.join(parts)}"
    return services


def context_of(
    services: Services,
    version: int,
    *,
    client_id: str | None = "app",
    client: Client | None = None,
    now_ms: int = NOW_MS,
    key: ApiKey = ApiKey.METADATA,
    charges: Charges | None = None,
) -> RequestContext:
    """The surroundings of a request of this version; `key` is for the log of an authorizer."""
    return RequestContext(client or Client(), services, version, client_id, now_ms, key, charges)


def ask(module: Any, version: int, request: Message, services: Services, **surroundings: Any) -> Any:
    """Return the response of `module.handle`, or the promise of one that is not there yet.

    Both messages travel through the codec of this version.
    """
    response = module.handle(context_of(services, version, **surroundings), travelled(request, version))
    if isinstance(response, Promise):
        if not response.done:
            return response
        response = response.value
    return travelled(response, version)


def travelled(message: Any, version: int) -> Any:
    """A message as the other side reads it."""
    encoded = b"".join(bytes(part) for part in message.encode(version))
    return type(message).decode(memoryview(encoded), version)
