"""Containment of exceptions: what a block raises is logged and goes no further.

For callers that run several callbacks in turn (listeners, timers, work of helper threads): one that fails
must not keep the others from running.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

logger = logging.getLogger(__name__)


class contained:  # noqa: N801 - as it is read behind `with`
    """Log an exception of the `with` block, with its traceback, as a fault in `what`."""

    # A class, not a generator: most answers of other brokers pass through one.
    __slots__ = ("_what",)

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        logger.error("A fault in %s", self._what, exc_info=error)
        return True
