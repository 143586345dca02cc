from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from support.default_settings import log_settings
from support.log_harness import LogHarness

if TYPE_CHECKING:
    from pathlib import Path

    from kcompat.log.files import Files


@pytest.fixture
def harness(tmp_path: Path) -> LogHarness:
    return LogHarness(tmp_path, log_settings(segment_bytes=1 << 20))


@pytest.fixture
def make_harness(tmp_path: Path) -> Any:
    def make(files: Files | None = None, **config: Any) -> LogHarness:
        return LogHarness(tmp_path, log_settings(**config), files)

    return make
