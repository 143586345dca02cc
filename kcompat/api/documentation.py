"""The page of the documentation that lists the served APIs, generated from the registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.api_keys import API_FACTS
from kcompat.security.operations import camel_case

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcompat.api.registry import Served

_HEAD = """# APIs and versions

What the broker serves; ApiVersions is answered from the same list. `kcompat apis` prints it, and
`kcompat apis --markdown` writes this page.

| key | API | served | exist |
| ---: | --- | --- | --- |
"""


def versions_of(served: Served) -> str:
    """Return the range of served versions, such as "0-9"."""
    return f"{served.min_version}-{served.max_version}"


def coverage_page(served: Iterable[Served]) -> str:
    """Return the whole page in Markdown."""
    rows = [
        f"| {int(api.key)} | {camel_case(api.key)} | {versions_of(api)} | 0-{API_FACTS[api.key].last} |"
        for api in sorted(served, key=lambda api: api.key)
    ]
    return _HEAD + "\n".join(rows) + "\n"
