"""Let Ctrl-C end the processes that tests start, also where a shell runs the tests in the background.

This is a plugin of pytest, made part of a run by the conftests of ``interop-tests/`` and ``tests/``. A shell
without job control ignores SIGINT in what it runs in the background, and child processes inherit that.
"""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """Receive SIGINT again; the workers of pytest-xdist inherit it from the process that starts them."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
