"""The code blocks of the pages that need nothing but kcompat; interop-tests/test_pages.py runs the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.page_blocks import Scene, blocks, pages, scenes
from support.page_sandbox import Sandbox
from support.places import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

SCENES = [scene for page in pages() for scene in scenes(page) if not scene.needs_clients]


@pytest.mark.parametrize("scene", SCENES, ids=str)
def test_blocks_do_what_the_page_says(scene: Scene, tmp_path: Path) -> None:
    with Sandbox(tmp_path) as sandbox:
        sandbox.play(scene)


def scene_of(text: str) -> Scene:
    return Scene(REPOSITORY / "README.md", blocks(text))


@pytest.mark.parametrize(
    "page",
    [
        "```python\nraise SystemExit(1)\n```\n",
        "<!-- test: exit 1 -->\n```python\npass\n```\n",
        "<!-- test: until ready -->\n```python\nprint('done')\n```\n",
        "```console\n$ kcompat no-such-command\n```\n",
        "```console\n$ python -c 'print(1)'\n2\n```\n",
        "```console\n$ kcompat start --override log.retention.ms=soon\n```\n",
        "```console\n$ kcompat start --memory\nkcompat is ready\n```\n",
    ],
)
def test_a_block_that_does_not_do_what_it_says_is_noticed(page: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError), Sandbox(tmp_path, start_s=2) as sandbox:
        sandbox.play(scene_of(page))


def test_output_may_be_shortened_and_wrapped_and_ids_differ(tmp_path: Path) -> None:
    page = '```console\n$ python -c \'print("cluster", 22 * "a", "has", *range(9))\'\n'
    page += "cluster w4n7L3nqQ3Gf7OkHRhk1aA\nhas 0 1 ... 8\n```\n"
    with Sandbox(tmp_path) as sandbox:
        sandbox.play(scene_of(page))
