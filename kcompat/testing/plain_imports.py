"""Import of kcompat itself without the rewriting of assertions.

pytest rewrites the `assert` statements of all modules of a distribution that has a plugin. Those of kcompat
are its own: rewriting them takes seconds in a first run, and makes a broker slower.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType


class PlainFinder:
    """Finder for the modules of kcompat that stands before pytest's own."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module of kcompat as Python finds it; None for any other."""
        return PathFinder.find_spec(name, path, target) if name.startswith("kcompat.") else None


def install() -> None:
    """Import modules of kcompat without rewriting from now on."""
    if PlainFinder not in sys.meta_path:
        sys.meta_path.insert(0, PlainFinder)
