"""The page about failing clients has each line that the log may have about them, and no other."""

from __future__ import annotations

import re
from typing import Final

from kcompat.notices.causes import CAUSES
from support.places import REPOSITORY

PAGE: Final = (REPOSITORY / "docs" / "how-to" / "troubleshoot.md").read_text()
LINES: Final = dict(
    re.findall(r"<!-- cause: (\w+) -->\n```text\n(.*)\n```\n\n[^\n]+\n\n\*\*What to do", PAGE)
)
"""The line of each cause, if it is followed by its meaning and by what to do."""


def test_the_page_has_each_cause_and_no_other() -> None:
    assert LINES.keys() == CAUSES.keys()
    assert PAGE.count("<!-- cause:") == len(CAUSES)


def test_each_line_of_the_page_is_one_of_the_log() -> None:
    wrong = {}
    for name, line in LINES.items():
        pieces = re.split(r"\{\w+\}", CAUSES[name].text)
        if not re.fullmatch("[^:]+: " + ".+".join(map(re.escape, pieces)), line):
            wrong[name] = line, CAUSES[name].text
    assert not wrong
