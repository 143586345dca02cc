"""The control port of one broker or one cluster, on the event loop that runs the brokers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.config.listeners import is_loopback
from kcompat.instrumentation.control.control import Control
from kcompat.instrumentation.snapshots import Snapshots
from kcompat.node.broker import BrokerNode
from kcompat.observe.http_port import LOOPBACK, listening, url_of

if TYPE_CHECKING:
    from kcompat.instrumentation.manual_time import ManualTime
    from kcompat.instrumentation.recording.recorder import Recorder
    from kcompat.node.cluster import ClusterNodes
    from kcompat.observe.http_server import HttpServer


class ControlPort:
    """An HTTP port by which programs control running brokers; bound from the constructor to `close`."""

    def __init__(self, port: int, host: str = LOOPBACK) -> None:
        """Bind to an address; port 0 stands for a free one. Clients that connect before `start` wait.

        Raises:
            UsageError: the libraries for HTTP are not installed.
            ListenerError: the port is in use.
        """
        self._socket = listening("control port", host, port)
        self._is_loopback = is_loopback(host)
        self._server: HttpServer | None = None
        self._snapshots: Snapshots | None = None
        self.url = url_of(host, self._socket)
        """Base URL of all requests, for programs on this machine."""

    def start(
        self,
        served: BrokerNode | ClusterNodes,
        recorder: Recorder,
        time: ManualTime | None = None,
        snapshots: Snapshots | None = None,
    ) -> None:
        """Serve requests about a running broker or cluster, on its event loop.

        `recorder` records the requests of its clients. `time` is the brokers' movable clock, None for that of
        the machine. `snapshots` are the snapshots of a single broker; by default a new object is made.
        """
        from kcompat.instrumentation.control.application import application
        from kcompat.instrumentation.control.operations import OPERATIONS
        from kcompat.observe.http_server import HttpServer

        if snapshots is None and isinstance(served, BrokerNode):
            snapshots = self._snapshots = Snapshots(served)
        control = Control(served, recorder, time, snapshots)
        self._server = HttpServer(
            application(control, OPERATIONS, is_loopback=self._is_loopback), self._socket
        )
        self._server.start()

    async def stop(self) -> None:
        """Wait for running requests, and close the port."""
        if self._server is not None:
            await self._server.stop()
        if self._snapshots is not None:
            self._snapshots.close()
        self.close()

    def close(self) -> None:
        """Close the port at once."""
        self._socket.close()
