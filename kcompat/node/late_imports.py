"""Import of the request handlers that no client has used yet, once the broker serves clients.

Importing all of them first would take a sixth of the time of a start. Importing each at its first request
would be too late for a broker that has no file descriptor left, or whose files an upgrade has replaced.
"""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING, Final

from kcompat.logger_names import SERVER
from kcompat.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcompat.api.context import Services
    from kcompat.api.registry import Served
    from kcompat.clock import Clock, Timer

logger = logging.getLogger(SERVER)

RETRY_MS: Final = 1000
"""Pause in ms after a file that could not be read."""

_OF_ACLS: Final = frozenset({ApiKey.CREATE_ACLS, ApiKey.DELETE_ACLS, ApiKey.DESCRIBE_ACLS})
_OF_TOKENS: Final = frozenset(
    {
        ApiKey.CREATE_DELEGATION_TOKEN,
        ApiKey.DESCRIBE_DELEGATION_TOKEN,
        ApiKey.EXPIRE_DELEGATION_TOKEN,
        ApiKey.RENEW_DELEGATION_TOKEN,
    }
)


def without_refused(served: Iterable[Served], services: Services) -> Iterator[Served]:
    """Yield the APIs without those for ACLs or tokens if this broker has no ACLs or tokens.

    Such requests are refused in any case, so the modules of their handlers need not be in memory.
    """
    for api in served:
        if api.key in _OF_ACLS and services.server.acls is None:
            continue
        if api.key in _OF_TOKENS and not services.cluster.tokens.are_enabled:
            continue
        yield api


class LateImports:
    """Importer of one handler per iteration of the event loop, so that requests are served in between."""

    def __init__(self, clock: Clock, served: Iterable[Served]) -> None:
        self._clock = clock
        self._left = deque(served)
        self._missing: set[ApiKey] = set()
        """APIs for which the log says that files of their handlers are missing."""
        self._timer: Timer | None = None

    def start(self) -> None:
        """Start to import one handler in each iteration of the event loop."""
        self._import_in(0)

    def stop(self) -> None:
        """Import no more handlers."""
        if self._timer is not None:
            self._timer.cancel()

    def _import_in(self, delay_ms: int) -> None:
        self._timer = self._clock.call_later(delay_ms, self._import_next) if self._left else None

    def _import_next(self) -> None:
        api = self._left.popleft()
        try:
            api.handler()
        except (OSError, ImportError) as error:
            if isinstance(error, ImportError) and api.key not in self._missing:
                self._missing.add(api.key)
                logger.warning("%s cannot be served until its files are there: %s", api.key.name, error)
            self._left.append(api)
            self._import_in(RETRY_MS)
        else:
            self._import_in(0)
