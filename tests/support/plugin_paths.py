"""The paths of a run of pytest that has kcompat's plugin as a user has it."""

from __future__ import annotations

import os
import tomllib
from typing import TYPE_CHECKING

from support.places import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path


def paths_with_plugin(directory: Path) -> str:
    """Return a `PYTHONPATH` with kcompat, the support of the tests, and the entry points of pyproject.toml,
    whatever the environment has installed. `directory` gets the files for it.
    """
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    lines = [f"{name} = {module}" for name, module in project["entry-points"]["pytest11"].items()]
    information = directory / "declared-1.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: declared\nVersion: 1\n")
    (information / "entry_points.txt").write_text("\n".join(["[pytest11]", *lines, ""]))
    return os.pathsep.join([str(directory), str(REPOSITORY), str(REPOSITORY / "tests")])
