"""The metadata store sessions of a log directory's owner, remembered for its next start.

A killed broker leaves an ephemeral node behind until its session ends. The broker that holds the lock of the
directory learns from this file that the node is its own.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from kcompat.log.checkpoints import CheckpointDamaged, format_properties, parse_properties, read_optional
from kcompat.log.names import REMEMBERED_SESSIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kcompat.log.files import Files

logger = logging.getLogger(__name__)


class RememberedSessions:
    """A file of session ids, in the first of some locked directories that can be written to."""

    def __init__(self, directories: Sequence[str], files: Files) -> None:
        self._paths = [f"{directory}/{REMEMBERED_SESSIONS}" for directory in directories]
        self._files = files

    def read(self) -> list[int]:
        """Return the ids of all directories' files, which may include ids older than the last write.

        Missing and damaged files have no ids.
        """
        found: set[int] = set()
        for path in self._paths:
            with suppress(OSError, CheckpointDamaged, ValueError):
                data = read_optional(self._files, path)
                if data is not None:
                    text = parse_properties(data).get("sessions", "")
                    found.update([int(number) for number in text.split()])
        return sorted(found)

    def write(self, session_ids: Iterable[int]) -> None:
        """Store these ids in place of earlier ones. If no directory can be written to, log a warning."""
        text = " ".join(str(number) for number in sorted(session_ids))
        data = format_properties({"version": "0", "sessions": text})
        faults: list[OSError] = []
        for path in self._paths:
            try:
                self._files.replace_file(path, data, sync=True)
            except OSError as fault:
                faults.append(fault)
            else:
                return
        logger.warning(
            "a new start will have to wait for the end of this session: %s", "; ".join(map(str, faults))
        )
