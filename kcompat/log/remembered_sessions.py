"""The sessions that the owner of a log directory had with the metadata store, for its next life.

A broker that was killed leaves an ephemeral node behind until its session ends. Who holds the lock of its
directory knows by this file that the node is its own.
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
    """A file of session ids, in the first of some directories that takes it; their locks are held."""

    def __init__(self, directories: Sequence[str], files: Files) -> None:
        self._paths = [f"{directory}/{REMEMBERED_SESSIONS}" for directory in directories]
        self._files = files

    def read(self) -> list[int]:
        """The ids that were written last, and older ones where a directory has not been used since; none
        where there is no such file, or a damaged one.
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
        """Keep these. Where no disk takes them, the broker serves all the same."""
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
