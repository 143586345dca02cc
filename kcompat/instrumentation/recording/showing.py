"""The fields of recorded messages as indented lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat.instrumentation.recording.entry import RecordedRequest

MOST_BYTES: Final = 200
"""Maximum number of bytes of one value that are shown."""


def shown_fields(request: RecordedRequest) -> Iterator[str]:
    """Yield the lines that show all fields of a request and of its answer."""
    for title, fields in (("request", request.request), ("response", request.response)):
        if fields is None:
            yield f"{title}: not recorded as a whole"
        else:
            yield f"{title}:"
            yield from _lines(fields, "  ")


def _lines(fields: dict[str, Any], indent: str) -> Iterator[str]:
    for name, value in fields.items():
        if isinstance(value, dict):
            yield f"{indent}{name}:"
            yield from _lines(value, indent + "  ")
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            yield f"{indent}{name}:"
            for item in value:
                first, *rest = _lines(item, indent + "  ")
                yield f"{indent}- {first.lstrip()}"
                yield from rest
        else:
            yield f"{indent}{name}: {_shown(value)}"


def _shown(value: Any) -> str:
    if isinstance(value, bytes):
        return _shown_bytes(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_shown, value)) + "]"
    if isinstance(value, str):
        return value if value and value.isprintable() and value.strip() == value else repr(value)
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _shown_bytes(value: bytes) -> str:
    head = value[:MOST_BYTES]
    more = f" and {len(value) - len(head)} bytes more" if len(value) > len(head) else ""
    try:
        text = head.decode()
    except UnicodeDecodeError:
        return f"0x{head.hex()}{more}"
    return repr(text) + more if text.isprintable() else f"{head!r}"[1:] + more
