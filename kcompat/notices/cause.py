"""A reason why clients fail."""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from kcompat.wording import printable

WINDOW_MS: Final = 10_000
"""Time in ms after a log line during which the same cause and client is counted instead of logged."""
LONGEST: Final = 300
"""Maximum number of characters of each name or detail in a line: clients choose names of up to 32,767 bytes.
"""


class Cause(Struct, frozen=True):
    """A reason why clients fail, and the text that is logged for it at WARNING."""

    logger: str
    """Name of the logger."""
    text: str
    """The line after the name of the client or group, with the names of details in braces."""
    after: int = 1
    """Number of occurrences within `window_ms` from which on the cause is logged."""
    window_ms: int = WINDOW_MS

    def line(self, about: str, details: dict[str, Any]) -> str:
        """Return the line about a client or group, safe to print: clients choose names."""
        return printable(f"{about}: {self.reason(details)}")

    def reason(self, details: dict[str, Any]) -> str:
        """Return the line without its beginning. A detail that is missing is `unknown`: no request fails for
        its line.
        """
        return self.text.format_map(_Shown((name, shortened(str(each))) for name, each in details.items()))


class _Shown(dict[str, str]):
    """The details of a line by name."""

    def __missing__(self, name: str) -> str:
        return "unknown"


def shortened(text: str) -> str:
    """Return the beginning of a text that is too long for a line, else all of it."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def client(client_id: str | None, host: str) -> str:
    """Return the name of a client in lines: its client id, if it has one, and its address."""
    return f"{client_id} at {host}" if client_id else host
