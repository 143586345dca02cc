"""Requests to a broker from inside its process: its handlers are called without a connection.

The caller needs no authorization, and has no quota.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, TypeVar

from msgspec.structs import replace

from kcompat.api.context import Busy, Interruptible, RequestContext
from kcompat.promise import Promise
from kcompat.protocol.api_keys import ApiKey
from kcompat.security.authorizer import AllowEverything
from kcompat.security.principals import ANONYMOUS

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.net.answers import FrameHandler
    from kcompat.node.parts import Parts
    from kcompat.notices.cause import Cause
    from kcompat.protocol.message import Message
    from kcompat.security.authorizer import AllowedTopics

T = TypeVar("T")

CLIENT_ID: Final = "kcompat"
TIMEOUT_S: Final = 40.0
"""Longest time in seconds that a request may take; it is longer than the timeouts within requests."""


async def ask(parts: Parts, request: Message, version: int, timeout_s: float = TIMEOUT_S) -> Any:
    """Return the response of a broker to a request of a version that it serves. Call this on its loop.

    `records` in the request have to be memoryviews, as the decoder makes them.

    Raises:
        TimeoutError: there is no response after `timeout_s`, for instance because the broker was killed.
    """
    services = parts.services
    services = replace(services, server=replace(services.server, authorizer=AllowEverything()))
    key = ApiKey(request.api_key)
    handle = next(served.handler for served in services.server.served if served.key is key)()
    listener = parts.config.current.listeners[0].name
    context = RequestContext(
        _NoConnection(listener), services, version, CLIENT_ID, services.server.clock.now_ms(), key
    )
    response = handle(context, request)
    try:
        async with asyncio.timeout(timeout_s):
            while isinstance(response, (Promise, Interruptible, Busy)):
                response = await kept(_promise_in(response))
    except TimeoutError as error:
        raise TimeoutError(f"the broker did not answer {key.name} within {timeout_s:g} s") from error
    return response


def _promise_in(response: Promise[Any] | Interruptible[Any] | Busy[Any]) -> Promise[Any]:
    if isinstance(response, Interruptible):
        return response.promise
    return response.outcome if isinstance(response, Busy) else response


async def kept(promise: Promise[T]) -> T:
    """Return the value of a promise when it is completed, or raise the exception that it failed with."""
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    def settle(value: T) -> None:
        if not future.done():
            future.set_result(value)

    def fail(error: Exception) -> None:
        if not future.done():
            future.set_exception(error)

    promise.then(settle, fail)
    return await future


class _NoConnection:
    """The `context.connection` of a request that is sent from inside the process of the broker."""

    peer_host = "127.0.0.1"
    peer_port = 0
    local_address = ("127.0.0.1", 0)
    principal = ANONYMOUS

    def __init__(self, listener_name: str) -> None:
        self.listener_name = listener_name
        self.context: object = None
        self.allowed_topics: AllowedTopics | None = None

    def serve_with(self, handler: FrameHandler) -> None:
        pass

    def place_next(self, data: memoryview, position: int) -> None:
        pass

    def mute(self, ms: float) -> None:
        pass

    def when_closed(self, callback: Callable[[], object]) -> None:
        pass

    def close(self, reason: str) -> None:
        pass

    def close_behind(self, reason: str) -> None:
        pass

    def complain(self, cause: Cause, **details: object) -> None:
        pass

    def report(self, cause: Cause, about: str, **details: object) -> None:
        pass
