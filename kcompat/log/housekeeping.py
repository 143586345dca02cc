"""Work on many logs in slices, between which the event loop serves clients."""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING, Final

from kcompat.faults import contained
from kcompat.log.errors import StorageError
from kcompat.promise import Promise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kcompat.clock import Clock
    from kcompat.log.log import Log

logger = logging.getLogger(__name__)

_SLICE: Final = 16
"""Logs for each iteration of the event loop."""


def in_slices(clock: Clock, logs: Iterable[Log], task: Callable[[Log], object]) -> Promise[None]:
    """Do `task` on each log, a few for each iteration of the event loop; the promise is kept at the end.

    A log that has failed is left out. A fault in one log does not keep the task from the others.
    """
    pending = deque(logs)
    done: Promise[None] = Promise()

    def step() -> None:
        for _ in range(min(_SLICE, len(pending))):
            log = pending.popleft()
            if not log.is_failed:
                with contained(f"the care of the log {log.directory}"):
                    try:
                        task(log)
                    except StorageError as fault:
                        logger.warning("%s", fault)
        if pending:
            clock.call_later(0, step)
        else:
            done.complete(None)

    step()
    return done
