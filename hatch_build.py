"""Builds the native scanner `kcompat.records._native` into wheels and editable installs, where that works.

Without one the package installs all the same: the scanner's Python twin does the work. The environment
variable KCOMPAT_NATIVE=0 leaves the extension out, KCOMPAT_NATIVE=1 makes a failed build an error.
"""

from __future__ import annotations

import os
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import sys_tags

NAME = "kcompat.records._native"
SOURCE = "kcompat/records/_native.c"
OLDEST_ABI = "0x030b0000"
"""CPython 3.11, the first with buffers in its stable ABI: one wheel serves it and all later versions."""


class NativeBuildHook(BuildHookInterface):
    """Adds the compiled extension to a wheel, or puts it beside its source for an editable install."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile; on failure say so in one sentence and leave the package pure."""
        wanted = os.environ.get("KCOMPAT_NATIVE", "")
        if wanted == "0":
            return
        stable = not sysconfig.get_config_var("Py_GIL_DISABLED")  # free-threaded Pythons have no stable ABI
        self._scratch = tempfile.TemporaryDirectory()
        try:
            built = compile_extension(Path(self.root, SOURCE), self._scratch.name, stable)
        except Exception as error:  # whatever a missing or broken compiler leads to
            if wanted == "1":
                raise
            self.app.display_warning(f"kcompat goes without its native record scanner: {error}")
            return
        target = Path(SOURCE).with_name(built.name)
        if version == "editable":
            place(built, Path(self.root, target))
            return
        build_data["force_include"][str(built)] = str(target)
        build_data["pure_python"] = False
        if stable:
            build_data["tag"] = f"cp311-abi3-{platform()}"
        else:
            build_data["infer_tag"] = True


def compile_extension(source: Path, scratch: str, stable: bool) -> Path:
    """The extension, compiled under `scratch`; any exception when that cannot be done."""
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    macros = [("Py_LIMITED_API", OLDEST_ABI)] if stable else []
    extension = Extension(NAME, [str(source)], define_macros=macros, py_limited_api=stable)
    command = build_ext(Distribution({"name": "kcompat", "ext_modules": [extension]}))
    command.build_lib = command.build_temp = scratch
    command.ensure_finalized()
    command.run()
    return Path(command.get_ext_fullpath(NAME))


def place(built: Path, target: Path) -> None:
    """Rename a copy into place: a process that has loaded the old file keeps it."""
    fresh = target.with_suffix(".new")
    fresh.write_bytes(built.read_bytes())
    fresh.replace(target)


def platform() -> str:
    """The platform of a wheel that was built here and nowhere else."""
    tags = (tag.platform for tag in sys_tags())
    return next(name for name in tags if "manylinux" not in name and "musllinux" not in name)
