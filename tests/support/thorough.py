"""The mark of tests that `make test` leaves to `make test-all`.

This is a plugin of pytest, made part of a run by the conftests of ``interop-tests/`` and ``tests/``.

``@pytest.mark.thorough("why")`` marks a test, or as ``pytestmark`` a file, whose subject `make test` shows
elsewhere with fewer versions, combinations or repetitions. The reason names what shows it there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pytest

MARK: Final = "thorough(why): `make test` leaves this test to `make test-all`"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARK)
