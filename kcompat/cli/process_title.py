"""The command line of this process as other programs of the machine see it, such as `ps`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from kcompat.config.table import broker_key

if TYPE_CHECKING:
    from collections.abc import Iterable

_STAT: Final = Path("/proc/self/stat")
_ARG_START: Final = 45
"""Index of `arg_start` among the fields after the name of the program, see proc(5); `arg_end` follows."""


def hide_settings(settings: Iterable[tuple[str, str]]) -> None:
    """Hide the values of those settings whose keys hold secrets."""
    hide(value for name, value in settings if (key := broker_key(name)) and key.type.is_sensitive)


def hide(secrets: Iterable[str]) -> None:
    """Overwrite secrets in the command line with asterisks. Programs that looked before have seen them.

    Has no effect on systems other than Linux, which do not tell where the command line is.
    """
    found = [secret for secret in secrets if secret]
    if not found:
        return
    import ctypes  # most command lines have no secrets

    try:
        fields = _STAT.read_text().rpartition(")")[2].split()
        start, end = (int(field) for field in fields[_ARG_START : _ARG_START + 2])
    except (OSError, ValueError):
        return
    if not 0 < start < end:
        return
    line = ctypes.string_at(start, end - start)
    for secret in found:
        written = secret.encode(errors="surrogateescape")
        line = line.replace(written, b"*" * len(written))
    ctypes.memmove(start, line, len(line))
