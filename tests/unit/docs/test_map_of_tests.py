"""`tests/README.md` names every module of `tests/support`, and no other."""

from __future__ import annotations

import re

from support.places import REPOSITORY

PAGE = (REPOSITORY / "tests" / "README.md").read_text().partition("## Shared tools")[2]


def test_the_map_names_every_shared_module_once() -> None:
    there = sorted(path.stem for path in (REPOSITORY / "tests" / "support").glob("[a-z]*.py"))
    rows = re.findall(r"^\| (`[^|]+) \|", PAGE, re.MULTILINE)
    assert sorted(name for row in rows for name in re.findall(r"`(\w+)`", row)) == there
