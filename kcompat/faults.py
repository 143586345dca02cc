"""Where a fault ends: what is raised inside is logged and goes no further.

For those who call others in turn (listeners, timers, work of helper threads) and owe each of them the call,
whatever the one before did.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

logger = logging.getLogger(__name__)


@contextmanager
def contained(what: str) -> Iterator[None]:
    """Log what is raised inside, with its traceback, as a fault in `what`."""
    try:
        yield
    except Exception:
        logger.exception("A fault in %s", what)
