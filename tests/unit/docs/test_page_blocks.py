"""Every code block of the pages is tested, or says why not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.page_blocks import Scene, blocks, pages
from support.places import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

TESTS = REPOSITORY / "interop-tests"


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_every_block_runs_or_says_why_not(page: Path) -> None:
    for block in blocks(page.read_text()):
        if "none" in block.marks:
            assert len(block.marks["none"]) > 10, f"line {block.line}: say why the block does not run"
        if "in" in block.marks and TESTS.is_dir():
            assert page.name in (REPOSITORY / block.marks["in"]).read_text(), f"line {block.line}"


CONSOLE = """\
<!-- hidden console
$ kcompat start
-->
```console
$ kcompat config retention \\
    --json
log.retention.ms
$ KAFKA_X=1 kafka-topics --list | jq '.a | .b'
```
"""


def test_commands_and_the_output_that_is_shown_for_them() -> None:
    hidden, shown = blocks(CONSOLE)
    assert hidden.is_hidden
    assert not shown.is_hidden
    first, second = shown.commands
    assert (first.text, first.output) == ("kcompat config retention --json", "log.retention.ms")
    assert second.output is None
    assert shown.needs == {"kcompat", "kafka-topics", "jq"}


def test_what_a_scene_needs() -> None:
    page = REPOSITORY / "README.md"
    own = blocks("```python\nimport os\nfrom kcompat import Broker\n```\n")
    client = blocks("```python\nfrom kafka import KafkaProducer\n```\n")
    assert not Scene(page, own).needs_clients
    assert Scene(page, own + client).needs_clients


@pytest.mark.parametrize(
    ("page", "complaint"),
    [
        ("Text:\n\n    kcompat start\n", "line 3: an indented block"),
        ("```\nkcompat start\n```\n", "line 1: a block whose language is not said"),
        ("```bash\nkcompat start\n```\n", "line 1: a block whose language is bash"),
        ("<!-- test: skip -->\n", "line 1: unknown mark"),
        ("<!-- test: none, for a reason -->\nText.\n", "line 2: text between a mark and its block"),
    ],
)
def test_a_block_that_no_test_would_see_is_noticed(page: str, complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        blocks(page)
