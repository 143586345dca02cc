"""A receiver that records the calls of its connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kcompat.net.outbound import Ending


class Heard:
    """A `kcompat.net.outbound.Receiver` that remembers everything, in order."""

    def __init__(self) -> None:
        self.events: list[str | bytes | Ending] = []

    def connected(self) -> None:
        self.events.append("connected")

    def received(self, frame: memoryview) -> None:
        self.events.append(bytes(frame))

    def ended(self, ending: Ending) -> None:
        self.events.append(ending)

    @property
    def frames(self) -> list[bytes]:
        """The frames among them."""
        return [event for event in self.events if isinstance(event, bytes)]
