"""The code blocks of the documentation, and the scenes in which tests run them.

Every `python` and `console` block runs, unless an HTML comment before it says otherwise. The comments, which
stand between the text and the block and are not shown to readers:

- ``<!-- test: none, REASON -->``: the block does not run.
- ``<!-- test: in PATH -->``: the test file at this path runs the block.
- ``<!-- test: continues -->``: the block runs in the scene of the block before it, with its files and
  broker.
- ``<!-- test: file NAME -->``: the block is the content of this file of its scene, and is not run.
- ``<!-- test: exit CODE -->``: each command, or the program, ends with this exit code instead of 0.
- ``<!-- test: until TEXT -->``: the program runs until it prints this text, and then gets Ctrl-C.
- ``<!-- hidden python`` or ``<!-- hidden console``, lines, ``-->``: a block that readers do not see. The
  block after it is in its scene.
"""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from support.places import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RUN: Final = frozenset({"python", "console"})
SHOWN: Final = frozenset(
    {"diff", "go", "java", "javascript", "json", "mermaid", "properties", "text", "yaml"}
)
"""Languages of blocks that are run only as the files of others."""
MARKS: Final = frozenset({"none", "in", "continues", "file", "exit", "until"})
OURS: Final = frozenset({"kcompat", "python", "cat", "cp", "ls", "mkdir"})
"""Programs that need neither a client library nor Java."""
WALKS: Final = "add-an-api.md"
"""A page with a test of its own, tests/unit/docs/test_add_an_api.py, and other rules."""

_MARK = re.compile(r"<!-- test: (.+) -->")
_HIDDEN = re.compile(r"<!-- hidden (\w+)")
_FENCE = re.compile(r"```(\w*)")
_IMPORT = re.compile(r"^\s*(?:from|import) (\w+)", re.MULTILINE)
_VARIABLE = re.compile(r"[A-Z_0-9]+=")


@dataclass(frozen=True)
class Command:
    """One command of a `console` block, and the output that the page shows for it: None for no output."""

    text: str
    output: str | None

    @property
    def programs(self) -> list[str]:
        """The names of the programs that it runs."""
        words = shlex.shlex(self.text, posix=True, punctuation_chars="|;&")
        words.whitespace_split = True
        found = []
        is_first = True
        for word in words:
            if is_first and not _VARIABLE.match(word):
                found.append(word)
                is_first = False
            is_first |= set(word) <= set("|;&")
        return found


@dataclass(frozen=True)
class Block:
    """One block of a page: its language, its lines, and the marks before it."""

    line: int
    language: str
    text: str
    marks: dict[str, str]
    is_hidden: bool = False

    @property
    def runs(self) -> bool:
        """Whether the block is part of a scene."""
        return not self.marks.keys() & {"none", "in"} and (self.language in RUN or "file" in self.marks)

    @property
    def commands(self) -> list[Command]:
        """The commands of a `console` block."""
        text = self.text.replace("\\\n", "")
        found = []
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append(Command(re.sub(r"\s+", " ", command), output.strip() or None))
        return found

    @property
    def needs(self) -> set[str]:
        """The programs and Python packages that the block needs."""
        if "file" in self.marks and self.language != "python":
            return set()
        if self.language == "console":
            return {program for command in self.commands for program in command.programs}
        return set(_IMPORT.findall(self.text)) - sys.stdlib_module_names


@dataclass(frozen=True)
class Scene:
    """Blocks that run one after the other in one directory."""

    page: Path
    blocks: list[Block] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.page.relative_to(REPOSITORY)}:{self.blocks[0].line}"

    @property
    def needs(self) -> set[str]:
        """The programs and Python packages that its blocks need, without the modules among its own files."""
        own = {block.marks["file"].removesuffix(".py") for block in self.blocks if "file" in block.marks}
        return set().union(*(block.needs for block in self.blocks)) - own

    @property
    def needs_clients(self) -> bool:
        """Whether the scene needs more than Python and kcompat."""
        return not self.needs <= OURS


def pages() -> list[Path]:
    """Return the pages whose blocks are tested."""
    found = [*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/**/*.md")]
    found += [*REPOSITORY.glob("spark-examples/README.md"), *REPOSITORY.glob("tests/README.md")]
    return sorted(page for page in found if page.name != WALKS)


def blocks(text: str) -> list[Block]:
    """Return the blocks of a page. AssertionError for a mark that is unknown or belongs to no block, a block
    without a language, and an indented block.
    """
    return list(_blocks(enumerate(text.splitlines(), 1)))


def _blocks(lines: Iterator[tuple[int, str]]) -> Iterator[Block]:
    marks: dict[str, str] = {}
    before = ""
    for number, line in lines:
        if mark := _MARK.fullmatch(line):
            kind, _, argument = mark[1].partition(" ")
            marks[kind.rstrip(",")] = argument
            assert marks.keys() <= MARKS, f"line {number}: unknown mark {line}"
        elif hidden := _HIDDEN.fullmatch(line):
            yield Block(number, hidden[1], _until("-->", lines), marks, is_hidden=True)
            marks = {}
        elif fence := _FENCE.fullmatch(line):
            language = fence[1] or "not said"
            assert language in RUN | SHOWN, f"line {number}: a block whose language is {language}"
            yield Block(number, fence[1], _until("```", lines), marks)
            marks = {}
        else:
            assert before or not line.startswith("    "), f"line {number}: an indented block; fence it"
            assert not marks or not line, f"line {number}: text between a mark and its block"
        before = line


def _until(end: str, lines: Iterator[tuple[int, str]]) -> str:
    found = []
    for _, line in lines:
        if line == end:
            break
        found.append(f"{line}\n")
    return "".join(found)


def scenes(page: Path) -> list[Scene]:
    """Return the scenes of a page, in its order."""
    found: list[Scene] = []
    goes_on = False
    for block in blocks(page.read_text()):
        if block.runs:
            if not (goes_on or "continues" in block.marks):
                found.append(Scene(page))
            assert found, f"{page}:{block.line}: continues nothing"
            found[-1].blocks.append(block)
        goes_on = block.is_hidden
    return found
