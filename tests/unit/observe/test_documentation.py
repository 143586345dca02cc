"""The reference page of the metrics is the one that the code makes."""

from __future__ import annotations

import re

from kcompat.observe.documentation import markdown
from kcompat.observe.page import FAMILIES
from support.places import REPOSITORY


def test_the_page_is_up_to_date() -> None:
    page = (REPOSITORY / "docs/reference/metrics.md").read_text()
    assert page == markdown(), "run: python -m kcompat.observe.documentation > docs/reference/metrics.md"


def test_the_page_has_each_metric_once() -> None:
    named = re.findall(r"^\| `(\w+)` \|", markdown(), re.MULTILINE)
    assert sorted(named) == sorted(family.name for family in FAMILIES)
    assert len(set(named)) == len(named)


def test_meanings_are_sentences() -> None:
    for family in FAMILIES:
        assert family.meaning.endswith("."), family.name
        assert "\n" not in family.meaning
