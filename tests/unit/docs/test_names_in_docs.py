"""Names in the pages exist: files, packages and modules in backticks, and linked pages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from support.places import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

PAGES = sorted([*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/**/*.md"), *REPOSITORY.glob("tests/*.md")])
TREES = [
    name
    for name in ("kcompat", "tests", "docs", "interop-tests", "bench", "deploy", "release")
    if (REPOSITORY / name).is_dir()
]
FILES = {*TREES} | {
    path.relative_to(REPOSITORY).as_posix() for tree in TREES for path in (REPOSITORY / tree).rglob("*")
}

BACKTICKED = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)#\s:]+)[)#]")
PLACE = re.compile(rf"(?:{'|'.join(TREES)})/[\w./-]*")
MODULE = re.compile(r"kcompat(?:\.\w+)+")
PYTHON_FILE = re.compile(r"`(?:\.\.\./)?([\w/]+\.py)`")


def is_there(name: str) -> bool:
    """Whether what the name stands for exists; True for what names no place in the repository."""
    if MODULE.fullmatch(name):
        parent, _, last = name.replace(".", "/").rpartition("/")
        if f"{parent}/{last}" in FILES or f"{parent}/{last}.py" in FILES:
            return True
        owner = next((path for path in (f"{parent}.py", f"{parent}/__init__.py") if path in FILES), None)
        return owner is not None and re.search(rf"\b{last}\b", (REPOSITORY / owner).read_text()) is not None
    return PLACE.fullmatch(name) is None or name.rstrip("/") in FILES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_names_and_links(page: Path) -> None:
    text = page.read_text()
    assert [name for name in BACKTICKED.findall(text) if not is_there(name)] == []
    assert [link for link in LINK.findall(text) if not (page.parent / link).exists()] == []


@pytest.mark.skipif("interop-tests" not in TREES, reason="some of the files are not in this distribution")
@pytest.mark.parametrize("page", sorted(REPOSITORY.glob("docs/internals/*.md")), ids=lambda page: page.name)
def test_files_in_tables_of_modules(page: Path) -> None:
    names = PYTHON_FILE.findall(page.read_text())
    there = [f"/{path}" for path in (*FILES, *(path.name for path in REPOSITORY.glob("*.py")))]
    assert [name for name in names if not any(path.endswith(f"/{name}") for path in there)] == []


@pytest.mark.parametrize("name", ["kcompat/gone.py", "kcompat.gone", "kcompat.promise.Gone", "docs/gone/"])
def test_a_name_of_nothing_is_noticed(name: str) -> None:
    assert not is_there(name)
