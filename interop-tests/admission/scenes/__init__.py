"""The requests of each persona, by area: about an allowed thing, a denied one, and some that do not exist."""

from __future__ import annotations

import importlib
import pkgutil


def load_all() -> None:
    """Import every module of scenes, which registers them."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
