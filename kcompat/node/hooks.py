"""The points of one broker at which instruments attach, such as recorders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.net.interception import Interception
from kcompat.node.garbage import free_abandoned

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.cluster.image import ImageHolder
    from kcompat.net.admin_socket import Command
    from kcompat.net.interception import ConnectionObserver
    from kcompat.net.server import Server

    WhenStopped = Callable[[Callable[[], object], Callable[[], object] | None], None]
    """A function that registers how an instrument is stopped and abandoned, see `Lifetime.began`."""


class Hooks:
    """The points of one broker at which instruments attach. They are kept when the broker restarts in
    place.
    """

    broker_id: int
    metadata: ImageHolder
    """Holder of the current metadata image of the broker."""
    parts: object
    """The current `kcompat.node.parts.Parts` of the broker. The type is `Any`, since that module imports the
    environment, which imports this module.
    """
    server: Server

    def __init__(self, when_stopped: WhenStopped, commands: dict[str, Command]) -> None:
        """Begin without instruments. `commands` are the commands that every broker has."""
        self.when_stopped = when_stopped
        self.interception = Interception()
        self.observers: list[ConnectionObserver] = []
        """Observers of the connections to the broker."""
        self.commands = commands
        """Commands of the administration socket, by name; instruments may add some."""
        self.is_serving = False
        """Whether the broker has started and is not stopping."""
        self._is_attached = False

    def forget_parts(self) -> None:
        """Free the parts of a broker that was abandoned. New ones must take their place before the event loop
        goes on.
        """
        del self.parts, self.server, self.metadata
        free_abandoned()

    def renew(self, broker_id: int, metadata: ImageHolder, instrument: Callable[[Hooks], object]) -> None:
        """Set the parts of a broker that is about to serve clients; call `instrument` the first time."""
        self.broker_id, self.metadata = broker_id, metadata
        if not self._is_attached:
            self._is_attached = True
            instrument(self)
