"""Runs of pytest that have kcompat's plugin as a user has it: by the entry point of the distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.plugin_paths import paths_with_plugin

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def run_pytest(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[..., pytest.RunResult]:
    """A function that runs pytest on the files of `pytester`, in a process of its own and in their order."""
    monkeypatch.setenv("PYTHONPATH", paths_with_plugin(pytester.path / "installed"))

    def run(*arguments: str) -> pytest.RunResult:
        return pytester.runpytest_subprocess("-p", "no:randomly", "--timeout=100", *arguments)

    return run
