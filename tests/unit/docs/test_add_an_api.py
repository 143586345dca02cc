"""The newcomer's page, done from its first line to its last."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.walks import PROJECT, Block, copy_the_project, walks

if TYPE_CHECKING:
    from pathlib import Path

WALKS = walks((PROJECT / "docs" / "internals" / "add-an-api.md").read_text())


@pytest.mark.parametrize("number", range(1, len(WALKS) + 1))
def test_a_newcomer_gets_there(number: int, tmp_path: Path) -> None:
    """Each walk goes on where the one before it ends."""
    copy_the_project(tmp_path)
    *before, walk = WALKS[:number]
    for block in (block for earlier in before for block in earlier if block.kind != "sh"):
        block.do(tmp_path)
    for block in walk:
        block.do(tmp_path)


@pytest.mark.parametrize("walk", WALKS)
def test_a_walk_ends_with_its_tests(walk: list[Block]) -> None:
    assert walk[-1].kind == "sh"
    assert walk[-1].text.splitlines()[-1].startswith("pytest ")


def test_a_command_that_fails_is_found_out(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="no_such_module"):
        Block("sh", "no_such_module\n").do(tmp_path)


def test_a_change_of_lines_that_are_not_there_is_found_out(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one\ntwo\n")
    with pytest.raises(AssertionError, match="0 times"):
        Block("diff", "+++ a.py\n three\n+four\n").do(tmp_path)
