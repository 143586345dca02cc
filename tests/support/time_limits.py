"""Let the time limit of each test grow with the load of the machine.

This is a plugin of pytest, made part of a run by the conftests of ``interop-tests/`` and ``tests/``. The
limit of `pytest.mark.timeout` and that of the configuration are for a machine that has nothing else to do.
"""

from __future__ import annotations

import pytest
import pytest_timeout

from support.eventually import limit_s


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: pytest_timeout.Settings) -> bool:
    """Start the timer with a limit that is longer by the slowness at the start of the test."""
    pytest_timeout.pytest_timeout_set_timer(item, settings._replace(timeout=limit_s(settings.timeout)))
    return True
