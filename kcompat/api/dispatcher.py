"""Serves the frame of a request: decodes header and body, calls the handler, encodes the response.

The dispatcher is the only caller of handlers, and handles their faults in one place. As in Kafka, a damaged
frame closes the connection, and so does an API or version that is not served, except ApiVersions, which
answers every version. A request that a handler refuses with `ProtocolViolation` closes it, too. Another
exception of a handler is logged and answered UNKNOWN_SERVER_ERROR if the response has an error code;
otherwise the connection is closed.
"""

from __future__ import annotations

import logging
import struct
from functools import partial
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from kcompat.api import api_versions
from kcompat.api.context import Busy, Interruptible, RequestContext
from kcompat.api.registry import BROKER_LISTENERS, served_at
from kcompat.api.route import MAX_VALUES, Route
from kcompat.api.throttling import limited
from kcompat.logger_names import KAFKA_APIS
from kcompat.net.answers import CLOSE, Mode, Waiting
from kcompat.notices.causes import REFUSED_REQUEST
from kcompat.promise import Promise
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.compiling import compile_framer, read_request_header
from kcompat.protocol.messages.api_versions import ApiVersionsResponse
from kcompat.protocol.schema import ProtocolViolation
from kcompat.replication.waiting.fetch_session import FINAL_EPOCH

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.api.context import Services
    from kcompat.api.registry import Shortcut
    from kcompat.net.answers import Answer, Connection, Settled

logger = logging.getLogger(KAFKA_APIS)

_FETCH = int(ApiKey.FETCH).to_bytes(2, "big")
_LARGEST_CLOSING_FETCH = 1024
"""Largest size in bytes of a fetch that may close its session: it names a session and no partitions."""

_KEY_AND_VERSION = struct.Struct(">hh").unpack_from
_CORRELATION_ID = struct.Struct(">i").unpack_from


class Dispatcher:
    """Handler of the frames of all connections, which calls the handler of each API (Kafka's `KafkaApis`)."""

    max_frame: int | None = None

    def __init__(self, services: Services, work_ns: Callable[[], int] = perf_counter_ns) -> None:
        """Serve with these services; `work_ns` is the clock in ns that measures the work on requests."""
        self._services = services
        self._work_ns = work_ns
        self._now_ms = services.server.clock.now_ms
        self._quotas = services.server.quotas
        self._routes: dict[tuple[int, int], Route] = {}
        self._served = {served.key: served for served in served_at(BROKER_LISTENERS, services.server.served)}

    def on_frame(self, connection: Connection, frame: memoryview) -> Answer:
        """Answer one request, at once or later."""
        try:
            route = self._routes.get(_KEY_AND_VERSION(frame)) or self._find_route(frame)
            if route is None:
                return _refuse_version(frame, self._services)
            if self._quotas.are_set:
                route = limited(route, self._quotas, connection, frame, self._now_ms, self._work_ns)
            if route.shortcut is not None:
                answer = _serve_unread(route, route.shortcut, connection, frame)
                if answer is not None:
                    return answer
            correlation_id, client_id, body = read_request_header(frame, route.header_version)
            request, _ = route.decode(frame, body, route.max_values)
        except (ProtocolViolation, struct.error) as damage:
            return _close(connection, damage)
        context = RequestContext(
            connection, self._services, route.version, client_id, self._now_ms(), route.key
        )
        try:
            response = route.handle(context, request)
            if type(response) is route.response_type:
                return route.frame(response, correlation_id, route.response_header_version)
            return _answer(route, correlation_id, response)
        except ProtocolViolation as damage:
            return _close(connection, damage)
        except Exception:
            logger.exception("%s v%d of client %s failed", route.key.name, route.version, client_id)
            return route.failure(correlation_id)

    def ends_wait(self, frame: memoryview) -> bool:
        """Return whether a request ends the wait of the Fetch that its connection sent before it.

        A second fetch does not end the wait: a client that pipelines two fetches would get only empty
        responses. A fetch that closes its session does end it, because its client leaves and waits for both
        responses.
        """
        if frame[:2] != _FETCH:
            return True
        if len(frame) > _LARGEST_CLOSING_FETCH:
            return False
        try:
            route = self._routes.get(_KEY_AND_VERSION(frame)) or self._find_route(frame)
            if route is None:
                return True
            _, _, body = read_request_header(frame, route.header_version)
            request, _ = route.decode(frame, body, MAX_VALUES)
        except (ProtocolViolation, struct.error):
            return True  # closing the connection ends the wait
        return bool(request.session_id and request.session_epoch == FINAL_EPOCH)

    def _find_route(self, frame: memoryview) -> Route | None:
        """Add and return the route of a version that is requested for the first time; return None for an
        unknown version of ApiVersions.
        """
        key, version = _KEY_AND_VERSION(frame)
        served = self._served.get(key)
        if served is None:
            raise ProtocolViolation(f"API key {key} is not served")
        if not served.min_version <= version <= served.max_version:
            if key == ApiKey.API_VERSIONS:
                return None
            known = f"{served.min_version} to {served.max_version}"
            raise ProtocolViolation(f"version {version} of {served.key.name} is not served, but {known}")
        route = self._routes[key, version] = Route(served, version, self._services)
        return route


def _close(connection: Connection, damage: Exception) -> Settled:
    """Log the reason and return CLOSE, which closes the connection."""
    connection.report(REFUSED_REQUEST, connection.peer_host, reason=damage)
    return CLOSE


def _serve_unread(route: Route, shortcut: Shortcut, connection: Connection, frame: memoryview) -> Answer:
    """Return the answer to a request that the shortcut serves, or None if the handler has to serve it."""
    (correlation_id,) = _CORRELATION_ID(frame, 4)
    try:
        response = shortcut.serve(connection, frame)
        if type(response) is route.response_type:
            return route.frame(response, correlation_id, route.response_header_version)
        return None if response is None else _answer(route, correlation_id, response)
    except Exception:
        logger.exception(
            "%s v%d of a client at %s failed", route.key.name, route.version, connection.peer_host
        )
        return route.failure(correlation_id)


def _answer(route: Route, correlation_id: int, response: Any) -> Answer:
    """Return the answer that carries a handler's response; if the response comes later, so does the answer.

    Raises the exception of a failed promise.
    """
    if isinstance(response, Promise) and response.done:
        response = response.value
    elif isinstance(response, (Promise, Interruptible, Busy)):
        return _wait(route, correlation_id, response)
    return route.settled(correlation_id, response)


def _wait(route: Route, correlation_id: int, later: Promise[Any] | Interruptible[Any] | Busy[Any]) -> Waiting:
    """Return an answer that waits for the response."""
    answered: Promise[Answer] = Promise()
    finish = partial(_finish, route, correlation_id, answered)
    fail = partial(_fail, route, correlation_id, answered)
    if isinstance(later, Busy):
        later.outcome.then(finish, fail)
        return Waiting(answered, Mode.BUSY, holds=later.holds)
    if isinstance(later, Interruptible):
        later.promise.then(finish, fail)
        return Waiting(answered, route.mode, later.interrupt)
    later.then(finish, fail)
    mode = Mode.BLOCKING if route.mode is Mode.INTERRUPTIBLE else route.mode
    return Waiting(answered, mode)


def _finish(route: Route, correlation_id: int, answered: Promise[Answer], response: Any) -> None:
    answered.complete(_answer(route, correlation_id, response))


def _fail(route: Route, correlation_id: int, answered: Promise[Answer], error: Exception) -> None:
    logger.error("Answering %s v%d later failed", route.key.name, route.version, exc_info=error)
    answered.complete(route.failure(correlation_id))


def _refuse_version(frame: memoryview, services: Services) -> Settled:
    """Answer an ApiVersions of an unknown version. Only the correlation id of its header is read
    (KIP-511).
    """
    correlation_id = int.from_bytes(frame[4:8], "big", signed=True)
    response = api_versions.unsupported(services.server.served)
    return compile_framer(ApiVersionsResponse, 0)(response, correlation_id, 0)
