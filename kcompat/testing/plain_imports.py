"""Imports of kcompat's modules without pytest's rewriting of assertions.

pytest rewrites the `assert` statements of all modules of a distribution that has a plugin. For the modules of
kcompat that would take seconds in a first run, and make a broker slower.
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
    """Import finder for the modules of kcompat that Python asks before pytest's finder."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module of kcompat as Python finds it; None for any other module."""
        return PathFinder.find_spec(name, path, target) if name.startswith("kcompat.") else None


def import_plainly() -> None:
    """Let all later imports of kcompat's modules in this process go without rewriting."""
    if PlainFinder not in sys.meta_path:
        sys.meta_path.insert(0, PlainFinder)
