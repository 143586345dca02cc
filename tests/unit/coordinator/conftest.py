from __future__ import annotations

import pytest

from support.registers import RegisterWorld


@pytest.fixture
def world() -> RegisterWorld:
    return RegisterWorld()
