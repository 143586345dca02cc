from __future__ import annotations

from pathlib import Path

from kcompat.config.documentation import reference_page
from kcompat.config.group import GROUP_KEYS
from kcompat.config.table import BROKER_KEYS, DYNAMIC_ONLY_KEYS, TOPIC_KEYS

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "configuration.md"


def test_the_page_is_the_one_the_table_gives() -> None:
    assert PAGE.read_text() == reference_page(), (
        "write it again: kcompat config --markdown > docs/reference/configuration.md"
    )


def test_every_key_has_its_row() -> None:
    rows = {line.split("`")[1] for line in reference_page().splitlines() if line.startswith("| `")}
    assert rows == {*BROKER_KEYS, *TOPIC_KEYS, *DYNAMIC_ONLY_KEYS, *GROUP_KEYS}
