"""`kcompat apis`: the served APIs and versions, from the registry that ApiVersions answers from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.registry import SERVED
from kcompat.protocol.api_keys import API_FACTS
from kcompat.security.operations import camel_case

if TYPE_CHECKING:
    import argparse
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


def run(options: argparse.Namespace) -> int:
    """Print one line per API, or the documentation page of the APIs."""
    if options.markdown:
        print(coverage_page(SERVED), end="")
        return 0
    print(f"{'KEY':>3}  {'API':<28}  VERSIONS")
    for served in sorted(SERVED, key=lambda served: served.key):
        print(f"{int(served.key):>3}  {camel_case(served.key):<28}  {versions_of(served)}")
    return 0
