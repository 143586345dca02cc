from __future__ import annotations

import pytest

from support.transaction_coordinators import TransactionFixture


@pytest.fixture
def fixture() -> TransactionFixture:
    return TransactionFixture()
