"""Our broker in a process of its own, started by its command."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from support.broker_process import BrokerProcess

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_LISTENS = re.compile(r"(?:127\.0\.0\.1|localhost|0\.0\.0\.0|\[::\]|\*):(\d+)")


class KcompatBroker(BrokerProcess):
    """``python -m kcompat start`` on a port it chooses itself; when it starts again, on that same port."""

    name = "kcompat"

    def __init__(
        self, properties: Mapping[str, str] | None = None, data_dir: Path | None = None, port: int = 0
    ) -> None:
        """HOME in a property stands for `data_dir`. Its logs are in HOME/data if they have no `log.dirs`."""
        super().__init__(data_dir, port)
        placed = self.placed(properties or {})
        self._has_directories = "log.dirs" in placed
        self._overrides = [item for pair in placed.items() for item in ("--override", "=".join(pair))]

    def command(self) -> list[str]:
        """The command line that runs the broker in the foreground."""
        start = [sys.executable, "-m", "kcompat", "start", "--port", str(self.port)]
        directory = [] if self._has_directories else ["--data-dir", str(self.home / "data")]
        return [*start, *directory, *self._overrides]

    def is_ready(self) -> bool:
        """Whether the broker has said where it listens; from then on the port is known."""
        if self.port == 0:
            said = _LISTENS.search(self.log_path.read_text())
            if said is None:
                return False
            self.port = int(said[1])
        return super().is_ready()
