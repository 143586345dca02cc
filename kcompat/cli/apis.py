"""`kcompat apis`: the served APIs and versions, from the registry that ApiVersions answers from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.documentation import coverage_page, versions_of
from kcompat.api.registry import SERVED
from kcompat.security.operations import camel_case

if TYPE_CHECKING:
    import argparse


def run(options: argparse.Namespace) -> int:
    """Print one line per API, or the documentation page of the APIs."""
    if options.markdown:
        print(coverage_page(SERVED), end="")
        return 0
    print(f"{'KEY':>3}  {'API':<28}  VERSIONS")
    for served in sorted(SERVED, key=lambda served: served.key):
        print(f"{int(served.key):>3}  {camel_case(served.key):<28}  {versions_of(served)}")
    return 0
