from __future__ import annotations

import pytest

from support.registers import RegisterFixture


@pytest.fixture
def fixture() -> RegisterFixture:
    return RegisterFixture()
