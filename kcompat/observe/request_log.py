"""The request log: one line for each request, at DEBUG of the logger `kafka.request.logger`.

The line has the fields of Kafka's `RequestConvertToJson`, without the bodies of request and response.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from msgspec.json import encode

from kcompat.config.loggers import level_listeners
from kcompat.logger_names import REQUESTS
from kcompat.observe.request_stages import StageTimer, milliseconds
from kcompat.observe.slow_requests import SlowRequests
from kcompat.security.operations import camel_case

if TYPE_CHECKING:
    from kcompat.node.hooks import Hooks
    from kcompat.observe.request_stages import Described, StageLog, Stages

logger = logging.getLogger(REQUESTS)


class RequestLog:
    """A `StageLog` of all requests, while its logger is enabled for DEBUG."""

    def is_wanted(self, _stages: Stages) -> bool:
        return logger.isEnabledFor(logging.DEBUG)

    def write(self, stages: Stages, described: Described) -> None:
        logger.debug("Completed request:%s", encode(fields(stages, described)).decode())


class RequestLogs:
    """The request log and the log of slow requests of one broker. While neither has a line to write, requests
    are not measured.
    """

    def __init__(self, broker: Hooks, slow_ms: float | None) -> None:
        """Attach the logs to a broker, on its event loop. `slow_ms` is the time from which on a request
        counts as slow; None for no log of slow requests.
        """
        logs: list[StageLog] = [RequestLog()]
        if slow_ms is not None:
            logs.append(SlowRequests(slow_ms, lambda: broker.server.hub.notices))
        self._measures_always = slow_ms is not None
        self._interception = broker.interception
        self._timer = StageTimer(asyncio.get_running_loop(), logs)
        self._follow_levels()
        level_listeners.append(self._follow_levels)
        broker.when_stopped(self._close, self._close)

    def _follow_levels(self) -> None:
        """Measure requests while one of the logs is enabled."""
        if self._measures_always or logger.isEnabledFor(logging.DEBUG):
            self._interception.add(self._timer)
        else:
            self._interception.remove(self._timer)

    def _close(self) -> None:
        level_listeners.remove(self._follow_levels)


def fields(stages: Stages, described: Described) -> dict[str, object]:
    """Return the fields of a line, under Kafka's names."""
    connection = stages.connection
    local_host, local_port = connection.local_address
    return {
        "requestHeader": {
            "requestApiKey": int(described.key),
            "requestApiVersion": described.version,
            "correlationId": described.correlation_id,
            "clientId": described.client_id,
            "requestApiKeyName": described.key.name,
        },
        "requestName": camel_case(described.key),
        "connection": f"{local_host}:{local_port}-{connection.peer_host}:{connection.peer_port}",
        "totalTimeMs": milliseconds(stages.total_ns),
        "requestQueueTimeMs": milliseconds(stages.queue_ns),
        "localTimeMs": milliseconds(stages.local_ns),
        "remoteTimeMs": milliseconds(stages.remote_ns),
        "throttleTimeMs": described.throttle_ms,
        "responseSendTimeMs": milliseconds(stages.send_ns),
        "principal": str(connection.principal),
        "listener": connection.listener_name,
    }
