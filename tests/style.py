"""Find docstrings whose first sentence does not stand alone.

``python tests/style.py [PATH ...]`` (a part of ``make lint``) reads the Python files at or below each path,
by default all of `CHECKED`, and prints a line for each fault: a docstring of fewer than three words, one
that begins with a word of `OPENINGS`, or one that only names another place ("See X."). Strings below an
attribute count as docstrings. The exit code is 1 if there is a fault.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import Final

REPOSITORY: Final = Path(__file__).resolve().parent.parent
CHECKED: Final = ("kcompat", "tests", "interop-tests", "bench", "demo", "image", "release")
FEWEST_WORDS: Final = 3
OPENINGS: Final = (
    "All else",
    "It",
    "Of",
    "That of",
    "The same",
    "They",
    "Those",
    "What",
    "Who",
    "Whoever",
    "Yes",
)
"""First words of sentences that lack a subject, or whose subject stands in other lines."""

_OPENING: Final = re.compile(rf"({'|'.join(OPENINGS)})\b")
_ONLY_SEE: Final = re.compile(r"See (?:the )?[`A-Z](?!.*\. ).*")


def main(paths: list[str]) -> int:
    """Print the faults of the files at or below `paths`; return the exit code."""
    places = [Path(path) for path in paths] or [REPOSITORY / path for path in CHECKED]
    files = [
        file for place in places for file in ([place] if place.is_file() else sorted(place.rglob("*.py")))
    ]
    found = [f"{file}:{fault}" for file in files for fault in faults(file.read_text())]
    for fault in found:
        print(fault)
    return 1 if found else 0


def faults(source: str) -> list[str]:
    """Return a line for each faulty docstring of a module: its line number, the fault, and how it begins."""
    statements = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ]
    texts = [(node.lineno, " ".join(ast.literal_eval(node.value).split())) for node in statements]
    return [f"{line}: {fault}: {text[:60]}" for line, text in sorted(texts) if (fault := fault_of(text))]


def fault_of(text: str) -> str | None:
    """Return the rule that a docstring without line breaks violates, or None."""
    if len(text.split()) < FEWEST_WORDS:
        return f"fewer than {FEWEST_WORDS} words"
    if opening := _OPENING.match(text):
        return f"begins with {opening[1]!r}"
    if _ONLY_SEE.fullmatch(text):
        return "only names another place"
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
