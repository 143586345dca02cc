"""Our broker in a process of its own, started by its command."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from support.broker_process import NO_LISTENERS, BrokerProcess

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class KcompatBroker(BrokerProcess):
    """``python -m kcompat start``."""

    name = "kcompat"

    def __init__(
        self,
        properties: Mapping[str, str] | None = None,
        data_dir: Path | None = None,
        port: int | None = None,
        listeners: Mapping[str, str] = NO_LISTENERS,
    ) -> None:
        """HOME in a property stands for `data_dir`. Its logs are in HOME/data if they have no `log.dirs`."""
        super().__init__(data_dir, port, listeners)
        placed = self._listening() | self.placed(properties or {})
        self._has_directories = "log.dirs" in placed
        self._overrides = [item for pair in placed.items() for item in ("--override", "=".join(pair))]

    def _listening(self) -> dict[str, str]:
        if not self.listeners:
            return {}
        listeners = {"PLAINTEXT": ("PLAINTEXT", self.port)} | self.listeners
        return {
            "listeners": ",".join(f"{name}://{self.host}:{port}" for name, (_, port) in listeners.items()),
            "listener.security.protocol.map": ",".join(
                f"{name}:{protocol}" for name, (protocol, _) in listeners.items()
            ),
        }

    def command(self) -> list[str]:
        """The command line that runs the broker in the foreground."""
        start = [sys.executable, "-m", "kcompat", "start"]
        if not self.listeners:
            start += ["--port", str(self.port)]
        directory = [] if self._has_directories else ["--data-dir", str(self.home / "data")]
        return [*start, *directory, *self._overrides]
