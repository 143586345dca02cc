"""For all tests: what they leave on the disk is judged at the end of the run by Kafka's own tool."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

INTEROP = Path(__file__).resolve().parent.parent / "interop-tests"


def pytest_configure(config: pytest.Config) -> None:
    sys.path.insert(0, str(INTEROP))
    config.pluginmanager.import_plugin("left_directories")
