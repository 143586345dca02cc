from __future__ import annotations

import pytest

from support.transaction_world import TransactionWorld


@pytest.fixture
def world() -> TransactionWorld:
    return TransactionWorld()
