"""Writes the byte code of those of Python's own modules that the broker imports, below a directory.

Official images of Python come without any, and the user of this image may not write it beside the sources.
"""

from __future__ import annotations

import importlib
import pkgutil
import py_compile
import sys

import kcompat

FOR_TESTS = "kcompat.testing"


def main(root: str) -> None:
    """Import all of the broker, and compile what came along."""
    for module in pkgutil.walk_packages(kcompat.__path__, "kcompat."):
        if not module.name.startswith(FOR_TESTS) and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    specs = [getattr(module, "__spec__", None) for module in sys.modules.values()]
    for spec in filter(None, specs):
        if spec.origin is not None and spec.cached is not None and not spec.origin.startswith(sys.prefix):
            py_compile.compile(
                spec.origin,
                root + spec.cached,
                doraise=True,
                invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
            )


if __name__ == "__main__":
    main(sys.argv[1])
