"""The scenarios, by area. Each is a function that asks and records through `differential.play.Play`."""

from __future__ import annotations

import importlib
import pkgutil


def load_all() -> None:
    """Import every module of scenarios, which registers them."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
