"""Old client releases, each in a virtual environment of its own."""

from __future__ import annotations

import pytest

from drivers.remote import Remote, in_its_own_process
from support.places import VENVS


def open_in_venv(
    venv: str, module: str, driver: str, bootstrap: str, null_header_values: bool = True
) -> Remote:
    """A driver that runs in ``.venvs/VENV``; the test is skipped where that was not fetched."""
    python = VENVS / venv / "bin" / "python"
    if not python.exists():
        pytest.skip(f"{venv} is not there: run python interop-tests/fetch.py venv-{venv}")
    return in_its_own_process(module, driver, bootstrap, python, null_header_values)
