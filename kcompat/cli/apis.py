"""`kcompat apis`: what is served, from the registry that ApiVersions answers from."""

from __future__ import annotations

from kcompat.api.registry import SERVED


def run() -> int:
    """Print one line per API."""
    print(f"{'KEY':>3}  {'API':<28}  VERSIONS")
    for served in sorted(SERVED, key=lambda served: served.key):
        name = "".join(word.capitalize() for word in served.key.name.split("_"))
        print(f"{int(served.key):>3}  {name:<28}  {served.min_version}-{served.max_version}")
    return 0
