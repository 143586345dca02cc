"""The port between the connection to another broker and the requests that it carries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kcompat.peer.errors import PeerFault
    from kcompat.protocol.api_keys import ApiKey
    from kcompat.protocol.message import Message


class Call(Protocol):
    """A request whose caller waits for the response."""

    @property
    def key(self) -> ApiKey:
        """The key of the request's API."""

    @property
    def newest(self) -> int:
        """The highest version that may be sent."""

    def make(self, version: int) -> Message:
        """Return the request in this version."""

    def settle(self, response: Message) -> None:
        """Give the caller the response."""

    def fail(self, error: Exception) -> None:
        """Fail the call with the exception raised when the request was made or encoded."""

    def miss(self, fault: PeerFault) -> None:
        """Fail the call for this reason: no response will come."""
