"""Builds the native extensions, each C file of the package, into wheels and editable installs where it can,
and writes the commit into wheels and source distributions.

Without a compiler the package installs all the same: each extension has a pure-Python implementation. The
environment variable KCOMPAT_NATIVE=0 leaves them out. KCOMPAT_NATIVE=1 makes a failed build an error, and a
warning of the compiler too; nobody else's installation fails for the new warning of a new compiler.
KCOMPAT_COMMIT names the commit where the build does not see the history, as in a container.
"""

from __future__ import annotations

import os
import re
import runpy
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import sys_tags

if TYPE_CHECKING:
    from collections.abc import Sequence

PACKAGE = "kcompat"
OLDEST_ABI = "0x030b0000"
"""CPython 3.11, the first with buffers in its stable ABI: one wheel serves it and all later versions."""
WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wstrict-prototypes", "-Wvla", "-Werror")
"""For gcc and clang. Python's own headers are not judged: see `compile_extensions`."""


class BuildHook(BuildHookInterface):
    """Adds the compiled extensions to a wheel, or puts each beside its source for an editable install."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files; where compiling fails, say so in one sentence and leave the package pure."""
        self._scratch = tempfile.TemporaryDirectory()
        if version != "editable":
            build_data["force_include"] |= commit_file(Path(self.root), Path(self._scratch.name))
        if self.target_name == "wheel":
            self._add_extensions(version, build_data)

    def _add_extensions(self, version: str, build_data: dict[str, Any]) -> None:
        wanted = os.environ.get("KCOMPAT_NATIVE", "")
        if wanted == "0":
            return
        stable = not sysconfig.get_config_var("Py_GIL_DISABLED")  # free-threaded Pythons have no stable ABI
        try:
            flags = WARNINGS if wanted == "1" else ()
            built = compile_extensions(Path(self.root), self._scratch.name, stable, flags)
        except Exception as error:  # whatever a missing or broken compiler leads to
            if wanted == "1":
                raise
            self.app.display_warning(f"kcompat goes without its native extensions: {error}")
            return
        for target, file in built.items():
            if version == "editable":
                place(file, Path(self.root, target))
            else:
                build_data["force_include"][str(file)] = target
        if version == "editable":
            return
        build_data["pure_python"] = False
        if stable:
            build_data["tag"] = f"cp311-abi3-{platform()}"
        else:
            build_data["infer_tag"] = True


def commit_file(root: Path, scratch: Path) -> dict[str, str]:
    """Return the path of a file that names the commit, made in `scratch`, and its path in the package.

    Empty if the commit is unknown, or if the tree has the file already, as a source distribution has.
    """
    ours = runpy.run_path(str(root / PACKAGE / "cli" / "version.py"))
    target = f"{PACKAGE}/{ours['COMMIT_FILE']}"
    commit = os.environ.get("KCOMPAT_COMMIT") or ours["commit_of_tree"](root)
    if commit is None or (root / target).exists():
        return {}
    file = scratch / ours["COMMIT_FILE"]
    file.write_text(f"{commit}\n")
    return {str(file): target}


def compile_extensions(root: Path, scratch: str, stable: bool, flags: Sequence[str] = ()) -> dict[str, Path]:
    """Where in the package each extension belongs: the file, compiled under `scratch` with further flags.

    Any exception when that cannot be done.
    """
    if sys.implementation.name != "cpython":
        raise RuntimeError(f"they are for CPython, and this is {sys.implementation.name}")
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    sources = sorted(path.relative_to(root) for path in Path(root, PACKAGE).rglob("*.c"))
    names = [".".join(source.with_suffix("").parts) for source in sources]
    macros = [("Py_LIMITED_API", OLDEST_ABI)] if stable else []
    if flags:
        flags = [*flags, "-isystem", sysconfig.get_path("include")]
    extensions = [
        Extension(
            name,
            [str(root / source)],
            [str(root)],
            define_macros=macros,
            py_limited_api=stable,
            extra_compile_args=list(flags),
            extra_link_args=[flag for flag in flags if flag.startswith("-fsanitize")],
        )
        for name, source in zip(names, sources, strict=True)
    ]
    command = build_ext(Distribution({"name": PACKAGE, "ext_modules": extensions}))
    command.build_lib = command.build_temp = scratch
    command.ensure_finalized()
    command.run()
    built = [Path(command.get_ext_fullpath(name)) for name in names]
    return {str(source.with_name(file.name)): file for source, file in zip(sources, built, strict=True)}


def place(built: Path, target: Path) -> None:
    """Rename a copy into place: a process that has loaded the old file keeps it."""
    fresh = target.with_suffix(".new")
    fresh.write_bytes(built.read_bytes())
    fresh.replace(target)


def platform() -> str:
    """Return the platform in the tag of a wheel built here: of Linux, that of this machine alone, which
    auditwheel widens; of macOS, the oldest release and the processors that the compiler was told.
    """
    if sys.platform == "darwin":
        return re.sub(r"\W", "_", sysconfig.get_platform())
    tags = (tag.platform for tag in sys_tags())
    return next(name for name in tags if "manylinux" not in name and "musllinux" not in name)
