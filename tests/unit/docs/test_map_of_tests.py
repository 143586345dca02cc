"""The map in `tests/README.md`, and whether tests stand where it says that they do."""

from __future__ import annotations

import re

import pytest

from support.places import REPOSITORY

PAGE = (REPOSITORY / "tests" / "README.md").read_text().partition("## Shared tools")[2]
PRODUCT = REPOSITORY / "kcompat"
UNIT_TESTS = REPOSITORY / "tests" / "unit"

NO_PACKAGE = {
    "docs": "tests of what pages say",
    "protocol/tables": "Kafka's messages as tables, no tests",
    "support": "tests of tools in tests/support",
}
"""Folders of unit tests that mirror no package of kcompat, and the reason."""

FOLDERS = sorted(
    {
        str(path.parent.relative_to(UNIT_TESTS))
        for path in UNIT_TESTS.rglob("*")
        if "__pycache__" not in path.parts  # its files come and go while other processes collect tests
    }
    - {"."}
)


def test_the_map_names_every_shared_module_once() -> None:
    there = sorted(path.stem for path in (REPOSITORY / "tests" / "support").glob("[a-z]*.py"))
    rows = re.findall(r"^\| (`[^|]+) \|", PAGE, re.MULTILINE)
    assert sorted(name for row in rows for name in re.findall(r"`(\w+)`", row)) == there


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_of_unit_tests_mirrors_a_package(folder: str) -> None:
    is_package = (PRODUCT / folder / "__init__.py").exists()
    assert is_package != (folder in NO_PACKAGE)


@pytest.mark.parametrize("folder", [each for each in FOLDERS if each not in NO_PACKAGE])
def test_a_file_of_unit_tests_is_named_after_a_module(folder: str) -> None:
    """A name may go on behind the module's, and that of a package stands for all of its modules."""
    modules = {path.stem.strip("_") for path in (PRODUCT / folder).iterdir()} | {folder.rpartition("/")[2]}
    files = [path.stem.removeprefix("test_") for path in (UNIT_TESTS / folder).glob("test_*.py")]
    assert [name for name in files if not any(f"{name}_".startswith(f"{each}_") for each in modules)] == []
