"""The sentence of `kcompat --version`: the release, its commit, the use of the C extensions, the Python."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path
from typing import Final

COMMIT_FILE: Final = "commit.txt"
"""Name of the file in the package that holds its commit. A build writes it into wheels and source
distributions (`hatch_build.py`, which takes the name and `commit_of_tree` from here); a clone has none."""

PACKAGE: Final = Path(__file__).resolve().parents[1]


def describe() -> str:
    """Return one sentence that tells two builds of kcompat apart."""
    from importlib.metadata import version

    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"kcompat {version('kcompat')} ({commit(PACKAGE)}, {_extensions()}, {python})"


def commit(package: Path) -> str:
    """Return the commit that the package at this path is from, or that it is unknown."""
    try:
        return f"commit {(package / COMMIT_FILE).read_text().strip()}"
    except OSError:  # a clone, or a build from files without a history
        return f"commit {commit_of_tree(package.parent) or 'unknown'}"


def commit_of_tree(root: Path) -> str | None:
    """Return the commit that is checked out at `root`, with `+changes` if files differ from it.

    None if `root` is not the top of a git tree, or git is not there.
    """
    if not (root / ".git").exists():  # the tree around an unpacked archive is another project's
        return None
    command = ("git", "-C", root, "describe", "--always", "--abbrev=12", "--dirty=+changes", "--exclude=*")
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - a constant
    except OSError:
        return None
    return answer.stdout.strip() or None


def _extensions() -> str:
    """Return which of the C extensions a broker of this process would use."""
    from kcompat import capabilities

    try:
        missing = [name for name in capabilities.EXTENSIONS if not capabilities.native(name)]
    except ImportError as error:
        return f"KCOMPAT_NATIVE=1 but {error.name} was not built"
    if not missing:
        return "native extensions in use"
    if len(missing) == len(capabilities.EXTENSIONS):
        return "no native extensions in use"
    return f"native extensions in use but for {', '.join(missing)}"
