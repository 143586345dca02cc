"""Errors of requests to another broker that were not answered."""

from __future__ import annotations

from enum import Enum
from typing import Final

from kcompat.net.outbound import Ending


class PeerFault(Enum):
    """Distinguishable reasons why a broker did not answer."""

    REFUSED = "nobody listens there"
    RESET = "the connection was reset"
    CLOSED = "the connection was closed by the peer"
    TIMED_OUT = "no connection came about in time"
    UNREACHABLE = "the address cannot be reached"
    UNKNOWN = "the broker or its address is not known"
    NO_ANSWER = "the peer is connected and does not answer"
    GARBLED = "the answer is not what the protocol allows"
    UNSUPPORTED = "the peer serves no version of the request that may be sent"
    UNTRUSTED = "no TLS connection came about"
    NOT_LOGGED_IN = "the login is refused"
    ABANDONED = "the connection was given up here"

    @property
    def shows_death(self) -> bool:
        """Whether the fault indicates that the peer's process is gone while its host is up. This is no proof:
        a broker that is stopping refuses as well. A caller that acts on it must be safe if the process lives.
        """
        return self in (PeerFault.REFUSED, PeerFault.RESET)


FAULT_OF: Final = {
    Ending.REFUSED: PeerFault.REFUSED,
    Ending.RESET: PeerFault.RESET,
    Ending.CLOSED: PeerFault.CLOSED,
    Ending.TIMED_OUT: PeerFault.TIMED_OUT,
    Ending.UNREACHABLE: PeerFault.UNREACHABLE,
    Ending.BAD_FRAME: PeerFault.GARBLED,
    Ending.UNTRUSTED: PeerFault.UNTRUSTED,
}


class PeerError(Exception):
    """Error of a request to another broker that got no answer; the broker may have served it."""

    def __init__(self, fault: PeerFault, peer: str) -> None:
        super().__init__(f"{peer}: {fault.value}")
        self.fault = fault
