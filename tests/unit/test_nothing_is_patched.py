"""Tests give the product what it needs by ports and parameters. They patch nothing; fakes have types.

What they may replace is the system around it: environment variables, the current directory, streams, modules
of the standard library.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

TESTS = Path(__file__).parents[1]
FILES = sorted(TESTS.rglob("*.py"))
OF_THE_SYSTEM = {"fcntl", "os", "sys", "tempfile"}


def patches(tree: ast.AST) -> Iterator[str]:
    """Return the source text of each patch in a file."""
    for node in ast.walk(tree):
        match node:
            case (
                ast.ImportFrom(module="unittest" | "unittest.mock")
                | ast.Import(names=[ast.alias("unittest.mock")])
            ):
                yield ast.unparse(node)
            case ast.ImportFrom(module="types", names=names) if "SimpleNamespace" in {
                each.name for each in names
            }:
                yield ast.unparse(node)
            case ast.Call(ast.Attribute(attr="setattr" | "delattr" | "setitem" | "delitem"), [target, *_]):
                named = target.value if isinstance(target, ast.Constant) else ast.unparse(target)
                if str(named).partition(".")[0] not in OF_THE_SYSTEM:
                    yield ast.unparse(node)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(TESTS)))
def test_nothing_of_the_product_is_patched(path: Path) -> None:
    assert list(patches(ast.parse(path.read_text()))) == []


@pytest.mark.parametrize(
    "line",
    [
        "from unittest import mock",
        "from unittest.mock import patch",
        "import unittest.mock",
        "from types import SimpleNamespace",
        "monkeypatch.setattr('kcompat.cli.start.run', None)",
        "monkeypatch.setattr(files, 'sync', None)",
        "patch.setattr(fixture.store._journal, 'write', None)",
        "monkeypatch.setitem(message._DECODERS, 1, None)",
    ],
)
def test_a_patch_is_seen(line: str) -> None:
    assert list(patches(ast.parse(line)))


@pytest.mark.parametrize(
    "line",
    ["monkeypatch.setattr(os, 'sendfile', None)", "monkeypatch.setenv('KAFKA_X', '1')", "setattr(a, 'b', 1)"],
)
def test_the_system_may_be_replaced(line: str) -> None:
    assert not list(patches(ast.parse(line)))
