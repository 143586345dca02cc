"""The sentence of `kcompat --version`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from kcompat.capabilities import EXTENSIONS
from kcompat.cli.version import COMMIT_FILE, commit, commit_of_tree

if TYPE_CHECKING:
    from pathlib import Path

AUTHOR = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")


def said(hidden: str = "", native: str = "") -> str:
    """Return the sentence of a process in which an extension is missing."""
    hide = f"import sys; sys.modules[{hidden!r}] = None; " if hidden else ""
    code = f"{hide}from kcompat.cli.version import describe; print(describe())"
    environment = os.environ | {"KCOMPAT_NATIVE": native}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    ).stdout


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A git tree with a package in it, and nothing else."""
    root = tmp_path / "tree"
    (root / "kcompat").mkdir(parents=True)
    (root / "kcompat" / "file").write_text("1")
    for command in (("init", "-q"), ("add", "."), (*AUTHOR, "commit", "-q", "-m", "first")):
        subprocess.run(["git", "-C", root, *command], check=True)
    return root


def test_a_clone_has_the_commit_that_is_checked_out(tree: Path) -> None:
    said = commit(tree / "kcompat")
    assert re.fullmatch(r"commit [0-9a-f]{12}", said)
    (tree / "kcompat" / "file").write_text("2")
    assert commit(tree / "kcompat") == f"{said}+changes"


def test_a_build_has_the_commit_that_it_was_built_from(tree: Path) -> None:
    (tree / "kcompat" / COMMIT_FILE).write_text("0123456789ab\n")
    assert commit(tree / "kcompat") == "commit 0123456789ab"


def test_files_without_a_history_have_no_commit_nor_that_of_the_tree_around_them(tree: Path) -> None:
    assert commit_of_tree(tree / "kcompat") is None
    (tree / "kcompat" / "kcompat").mkdir()
    assert commit(tree / "kcompat" / "kcompat") == "commit unknown"


def test_where_git_is_not_there_the_commit_is_unknown(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tree))
    assert commit_of_tree(tree) is None


def test_the_use_of_extensions_is_said() -> None:
    assert ", no native extensions in use, " in said(native="0")
    missing = EXTENSIONS[0]
    assert f"KCOMPAT_NATIVE=1 but {missing} was not built" in said(missing, native="1")
    assert missing in said(missing) or "no native extensions in use" in said(missing)
