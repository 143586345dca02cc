"""The finder that keeps pytest from rewriting the assertions of kcompat."""

from __future__ import annotations

import sys
from importlib.machinery import SourceFileLoader

import pytest

import kcompat
from kcompat.testing.plain_imports import PlainFinder, import_plainly


def test_modules_of_kcompat_are_found_as_python_finds_them() -> None:
    spec = PlainFinder.find_spec("kcompat.errors", kcompat.__path__)
    assert spec is not None
    assert type(spec.loader) is SourceFileLoader


@pytest.mark.parametrize("name", ["kcompat", "kcompatible.errors", "json"])
def test_other_modules_are_left_to_other_finders(name: str) -> None:
    assert PlainFinder.find_spec(name) is None


def test_it_is_installed_once_and_before_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    import_plainly()
    import_plainly()
    assert sys.meta_path[0] is PlainFinder
    assert sys.meta_path.count(PlainFinder) == 1
