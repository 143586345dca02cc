"""A page that teaches by doing: its code blocks, done to a copy of the project.

A `python` block is a new file, and a `diff` block changes one. The first line of either says which: `# path`,
`+++ path`. The lines that a change leaves are looked for in the file, so a page whose surroundings have
changed is found out. An `sh` block is run.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from msgspec import Struct

PROJECT = Path(__file__).parents[2]
_NEEDED = ("kcompat", "docs/reference", "tests/support", "tests/unit/api", "tests/unit/cli")
_BLOCK = re.compile(r"^```(python|diff|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_WALK = re.compile(r"^## Walk ", re.MULTILINE)


class Block(Struct, frozen=True):
    """One fenced block: what kind it is, and its lines."""

    kind: str
    text: str

    def do(self, root: Path) -> None:
        """Do what it says below `root`. AssertionError where that cannot be done, or a command fails."""
        if self.kind == "sh":
            for command in self.text.splitlines():
                _run(command, root)
            return
        mark = "+++ " if self.kind == "diff" else "# "
        head, _, body = self.text.partition("\n")
        assert head.startswith(mark), f"the block names no file: {head}"
        path = root / head.removeprefix(mark)
        if self.kind == "diff":
            for change in re.split(r"^@@.*\n", body, flags=re.MULTILINE):
                _change(path, change)
        else:
            assert not path.exists(), f"{path} is there already"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(body)


def walks(page: str) -> list[list[Block]]:
    """The blocks of a page, walk by walk."""
    return [[Block(*found) for found in _BLOCK.findall(section)] for section in _WALK.split(page)[1:]]


def copy_the_project(root: Path) -> None:
    """Copy what the walks change, and what their tests need."""
    for directory in _NEEDED:
        shutil.copytree(PROJECT / directory, root / directory, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(PROJECT / "pyproject.toml", root)


def _change(path: Path, change: str) -> None:
    lines = [line or " " for line in change.splitlines()]
    before = "".join(f"{line[1:]}\n" for line in lines if line[0] != "+")
    after = "".join(f"{line[1:]}\n" for line in lines if line[0] != "-")
    text = path.read_text()
    assert text.count(before) == 1, f"{path} has these lines {text.count(before)} times, not once:\n{before}"
    path.write_text(text.replace(before, after))


def _run(command: str, root: Path) -> None:
    """Run a Python program by its name, with the modules below `root`."""
    temporary = root / "temporary"
    temporary.mkdir(exist_ok=True)
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTEST_DEBUG_TEMPROOT": str(temporary)}
    done = subprocess.run(
        f"{sys.executable} -m {command}",
        shell=True,
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
