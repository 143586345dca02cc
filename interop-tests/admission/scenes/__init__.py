"""What each persona asks, by area: about an open thing, a secret one, and some that are not there."""

from __future__ import annotations

import importlib
import pkgutil


def load_all() -> None:
    """Import every module of scenes, which registers them."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
