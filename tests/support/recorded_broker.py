"""The places of a broker at which recorders attach, without a broker, and requests that are served there."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from kcompat.cluster.image import ClusterImage, TopicImage
from kcompat.node.hooks import Hooks
from kcompat.security.principals import ANONYMOUS

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.net.answers import Answer, Connection, FrameHandler


class Metadata:
    """A holder of the cluster image whose topics a test names."""

    def __init__(self, **topic_ids: bytes) -> None:
        self.image = ClusterImage("cluster")
        self.name(**topic_ids)

    def name(self, **topic_ids: bytes) -> None:
        """Add topics to the image."""
        self.image = self.image.with_topics([TopicImage(name, key, {}) for name, key in topic_ids.items()])


class Peer:
    """A connection of the broker."""

    listener_name = "PLAINTEXT"
    principal = ANONYMOUS
    local_address = ("127.0.0.1", 9092)
    context: object = None

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self.peer_host, self.peer_port = host, port


class RecordedBroker:
    """A broker that answers each frame as `answer` says, and has the hooks of a real one."""

    max_frame: int | None = None

    def __init__(self, broker_id: int = 1, **topic_ids: bytes) -> None:
        self.metadata = Metadata(**topic_ids)
        self.answer: Answer = [b"\0\0\0\4\0\0\0\1"]
        self.stops: list[Callable[[], object]] = []
        self.hooks = Hooks(lambda stop, _: self.stops.append(stop), {})
        self.handler = self.hooks.interception.around(cast("FrameHandler", self))
        self.hooks.renew(broker_id, self.metadata, lambda _: None)

    def on_frame(self, _connection: Connection, _frame: memoryview) -> Answer:
        return self.answer

    def ends_wait(self, _frame: memoryview) -> bool:
        return True

    def open(self, port: int) -> Peer:
        """Accept a connection."""
        peer = Peer(port)
        for observer in self.hooks.observers:
            observer.opened(peer)
        return peer

    def close(self, peer: Peer, reason: str) -> None:
        """End a connection."""
        for observer in self.hooks.observers:
            observer.closed(peer, reason)

    def complain(self, host: str, message: str) -> None:
        """Log a message about a peer."""
        for observer in self.hooks.observers:
            observer.complained(host, message)

    def ask(self, peer: Peer, frame: bytes, answer: Answer = None) -> None:
        """Serve a request, which is answered by `answer`."""
        self.answer = answer
        self.handler.on_frame(cast("Connection", peer), memoryview(bytearray(frame)))

    def stop(self) -> None:
        """Stop what was attached."""
        for stop in self.stops:
            stop()
