"""The sessions that the owner of a log directory had with the metadata store, for its next life.

A broker that was killed leaves an ephemeral node behind until its session ends. Who holds the lock of its
directory knows by this file that the node is its own.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from kcompat.log.checkpoints import CheckpointDamaged, format_properties, parse_properties, read_optional
from kcompat.log.names import REMEMBERED_SESSIONS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcompat.log.files import Files


class RememberedSessions:
    """A file of session ids, in a directory whose lock is held."""

    def __init__(self, directory: str, files: Files) -> None:
        self._path = f"{directory}/{REMEMBERED_SESSIONS}"
        self._files = files

    def read(self) -> list[int]:
        """The ids that were written last; none where there is no such file, or a damaged one."""
        with suppress(OSError, CheckpointDamaged, ValueError):
            data = read_optional(self._files, self._path)
            if data is not None:
                return [int(number) for number in parse_properties(data).get("sessions", "").split()]
        return []

    def write(self, session_ids: Iterable[int]) -> None:
        """Keep these. May raise OSError."""
        text = " ".join(str(number) for number in sorted(session_ids))
        properties = {"version": "0", "sessions": text}
        self._files.replace_file(self._path, format_properties(properties), sync=True)
