"""How modules import each other: never in a circle, but for a few of types alone. And what a program
imports that may never start a broker, and how long files are.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 400
"""Lines of a source file."""
OURS = ("kcompat", "tests", "interop-tests", "bench")
SOURCES = {".c", ".go", ".h", ".java", ".js", ".py", ".pyi"}
CIRCLES_OF_TYPES = {
    ("kcompat.log.log", "kcompat.log.cutting"),
    ("kcompat.log.log", "kcompat.log.following"),
    ("kcompat.records.batch", "kcompat.records.scanning"),
}
"""Pairs of which the second names types of the first alone. May only become fewer."""


@cache
def trees() -> dict[str, ast.Module]:
    """Every module of the package."""
    found = {}
    for path in (ROOT / "kcompat").rglob("*.py"):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        found[name] = ast.parse(path.read_text())
    return found


def imports(node: ast.AST, *, of_types: bool) -> Iterator[str]:
    """The modules that are imported anywhere below a node; with `of_types` also those for types alone."""
    for child in ast.iter_child_nodes(node):
        if (
            isinstance(child, ast.If)
            and isinstance(child.test, ast.Name)
            and child.test.id == "TYPE_CHECKING"
        ):
            if not of_types:
                continue
        elif isinstance(child, ast.ImportFrom) and child.module:
            for alias in child.names:
                name = f"{child.module}.{alias.name}"
                yield name if name in trees() else child.module
        elif isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        yield from imports(child, of_types=of_types)


def circle(*, of_types: bool) -> list[str]:
    """One circle of imports, if there is any."""
    graph = {
        name: {
            other
            for other in imports(tree, of_types=of_types)
            if other in trees() and other != name and (other, name) not in CIRCLES_OF_TYPES
        }
        for name, tree in trees().items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


@pytest.mark.parametrize("of_types", [False, True])
def test_no_module_needs_itself(of_types: bool) -> None:
    assert circle(of_types=of_types) == []


def test_the_composition_of_a_broker_is_seen_at_a_glance() -> None:
    assert len((ROOT / "kcompat/node/broker.py").read_text().splitlines()) < 150


def test_no_file_is_too_long() -> None:
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text().splitlines())
        for directory in OURS
        for path in (ROOT / directory).rglob("*")
        if path.suffix in SOURCES
    }
    assert {name: length for name, length in lengths.items() if length > LONGEST} == {}


NOT_FOR_A_BROKER_THAT_IS_NOT_STARTED = {
    "asyncio",
    "kcompat.controller",
    "kcompat.instrumentation",
    "kcompat.log",
    "kcompat.node",
    "kcompat.protocol.schema",
    "ssl",
}


@pytest.mark.parametrize("name", ["Broker", "Cluster"])
def test_a_program_that_may_never_start_a_broker_imports_little(name: str) -> None:
    program = f"import sys; from kcompat import {name}; print(*sys.modules)"
    imported = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert NOT_FOR_A_BROKER_THAT_IS_NOT_STARTED.isdisjoint(imported.stdout.split())
