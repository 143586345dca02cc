from __future__ import annotations

from pathlib import Path

from kcompat.api.registry import SERVED
from kcompat.cli.apis import coverage_page

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "apis.md"


def test_the_page_is_the_one_the_registry_gives() -> None:
    assert PAGE.read_text() == coverage_page(SERVED), (
        "write it again: kcompat apis --markdown > docs/reference/apis.md"
    )
