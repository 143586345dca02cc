"""Runs of pytest that have kcompat's plugin as a user has it: by the entry point of the distribution."""

from __future__ import annotations

import os
import tomllib
from typing import TYPE_CHECKING

import pytest

from support.places import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def run_pytest(pytester: pytest.Pytester) -> Callable[..., pytest.RunResult]:
    """A function that runs pytest on the files of `pytester`, in a process of its own, in the order of the
    files. The entry points are those of pyproject.toml, whatever the environment has installed.
    """
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    lines = [f"{name} = {module}" for name, module in project["entry-points"]["pytest11"].items()]
    information = pytester.mkdir("installed") / "declared-1.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: declared\nVersion: 1\n")
    (information / "entry_points.txt").write_text("\n".join(["[pytest11]", *lines, ""]))
    paths = [str(information.parent), str(REPOSITORY), str(REPOSITORY / "tests")]
    pytester._monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))

    def run(*arguments: str) -> pytest.RunResult:
        return pytester.runpytest_subprocess("-p", "no:randomly", "--timeout=100", *arguments)

    return run
