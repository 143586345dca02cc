"""The instruments that every broker of the command line has: the command `trace`, and the flight record if
the environment names a directory.

The modules of both are imported at their first use.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from kcompat.instrumentation.recording.live import Entries
    from kcompat.node.hooks import Hooks

RECORD_VARIABLE: Final = "KCOMPAT_RECORD"
"""Variable of the environment with the directory of the flight record."""


def instruments(variables: Mapping[str, str]) -> Callable[[Hooks], None]:
    """Return the function that attaches the instruments to a broker, see `Environment.instrument`."""
    directory = variables.get(RECORD_VARIABLE)

    def attach(broker: Hooks) -> None:
        broker.commands["trace"] = lambda argument: _trace(broker, argument)
        if directory:
            from kcompat.instrumentation.recording.flight import FlightRecord

            FlightRecord(broker, Path(directory).expanduser())

    return attach


def _trace(broker: Hooks, argument: str) -> AsyncGenerator[Entries, None]:
    from kcompat.instrumentation.recording.live import tracing

    return tracing(broker, argument)
