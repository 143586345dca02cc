"""The HTTP port at which a broker shows its metrics and its health.

`/metrics` has the metrics in the text format of Prometheus. `/healthz` answers as long as the event loop
runs. `/readyz` answers 200 if the broker is ready, else 503 with the reasons.
"""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import TYPE_CHECKING

from kcompat.config.listeners import is_loopback
from kcompat.observe.http_port import LOOPBACK, listening, url_of
from kcompat.observe.loop_load import LoopLoad

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp

    from kcompat.node.hooks import Hooks
    from kcompat.observe.request_times import RequestTimes

logger = logging.getLogger(__name__)


class MetricsPorts:
    """The metrics ports of some brokers, one for each of them."""

    def __init__(self, port: int, host: str = LOOPBACK, *, is_in_a_row: bool = False) -> None:
        """Choose the address. With `is_in_a_row` it is the address of broker 0, and the ports of brokers 1, 2
        and so on follow. Port 0 stands for free ports.
        """
        self._host = host
        self._port = port
        self._is_in_a_row = is_in_a_row
        self.urls: dict[int, str] = {}
        """Base URL of each broker's metrics port, by the broker's id."""

    def attach(self, broker: Hooks) -> None:
        """Open the port of a broker, on the event loop that runs it, until the broker stops.

        Raises:
            UsageError: the libraries for HTTP are not installed.
            ListenerError: the port is in use.
        """
        port = self._port + broker.broker_id if self._port and self._is_in_a_row else self._port
        self.urls[broker.broker_id] = _open(broker, self._host, port)


def _open(broker: Hooks, host: str, port: int) -> str:
    """Open a port for a broker; return its base URL."""
    sock = listening("metrics port", host, port)
    from kcompat.observe.http_server import HttpServer
    from kcompat.observe.request_counts import RequestObserver
    from kcompat.observe.request_times import RequestTimes

    requests = RequestObserver(lambda: broker.metadata)
    broker.interception.add(requests)
    broker.observers.append(requests)
    load = LoopLoad()
    served = application(broker, RequestTimes(requests, load), load)
    server = HttpServer(_guarded(served) if is_loopback(host) else served, sock)
    server.start()
    load.start()

    async def stop() -> None:
        load.stop()
        await server.stop()

    def abandon() -> None:
        load.stop()
        server.abandon()

    broker.when_stopped(stop, abandon)
    url = url_of(host, sock)
    logger.info("Broker %d shows its metrics at %s/metrics", broker.broker_id, url)
    return url


def _guarded(served: ASGIApp) -> ASGIApp:
    """Return an application that serves no web pages: browsers reach a port of their own machine.

    Without the guard, at an address that other machines reach, collectors use any name of this machine.
    """
    from starlette.responses import PlainTextResponse

    from kcompat.observe.http_guard import Guarded

    def forbidden(reason: str) -> Response:
        return PlainTextResponse(f"{reason}\n", HTTPStatus.FORBIDDEN)

    return Guarded(served, "metrics port", forbidden, is_loopback=True)


def application(broker: Hooks, requests: RequestTimes, load: LoopLoad) -> ASGIApp:
    """Return the application that shows the metrics and the health of a broker."""
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    from kcompat.observe.exposition import MEDIA_TYPE
    from kcompat.observe.health import not_ready
    from kcompat.observe.page import page

    async def metrics(_: Request) -> Response:
        return Response(await page(broker, requests, load), headers={"content-type": MEDIA_TYPE})

    async def live(_: Request) -> Response:
        return JSONResponse({"status": "alive"})

    async def ready(_: Request) -> Response:
        reasons = not_ready(broker)
        if reasons:
            return JSONResponse({"status": "not ready", "reasons": reasons}, HTTPStatus.SERVICE_UNAVAILABLE)
        return JSONResponse({"status": "ready"})

    return Starlette(routes=[Route("/metrics", metrics), Route("/healthz", live), Route("/readyz", ready)])
