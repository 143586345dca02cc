"""A document that is fetched beside the event loop, again after a time, and sooner after failures."""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.clock import Clock, Timer

logger = logging.getLogger(__name__)

SHORTEST_PAUSE_MS: Final = 1


class Backoff(Struct, frozen=True):
    """Pauses in ms between attempts: the first pause, which doubles with each failure, up to the longest."""

    first_ms: int = 100
    longest_ms: int = 10_000

    def pause_ms(self, failures: int) -> int:
        """Return the pause after this number of failures in a row."""
        return max(SHORTEST_PAUSE_MS, min(self.first_ms << min(failures - 1, 40), self.longest_ms))


class DocumentError(Exception):
    """A document has not the expected content; the text contains no secret."""


def in_thread(work: Callable[[], object]) -> None:
    """Run work in a daemon thread of its own; a stop of the broker does not wait for it."""
    threading.Thread(target=work, name="identity-provider", daemon=True).start()


class Refreshing:
    """Fetches one document again and again. All methods are called on the thread of the clock."""

    def __init__(
        self,
        name: str,
        fetch: Callable[[], Any],
        take: Callable[[Any], float],
        backoff: Backoff,
        clock: Clock,
        beside: Callable[[Callable[[], object]], object] = in_thread,
    ) -> None:
        """Prepare to fetch. `name` stands for the document in the log.

        `beside(work)` runs work outside the event loop. There `fetch` returns the parsed document, or raises
        OSError or DocumentError. `take` receives the result, and returns the time in ms after which the
        document is fetched again.
        """
        self._name = name
        self._fetch = fetch
        self._take = take
        self._backoff = backoff
        self._clock = clock
        self._beside = beside
        self.is_fetching = False
        """Whether the document is being fetched now."""
        self._is_closed = False
        self._failures = 0  # in a row
        self._timer: Timer | None = None

    def refresh(self) -> None:
        """Fetch the document now, unless it is being fetched."""
        if self.is_fetching or self._is_closed:
            return
        self._stop_timer()
        self.is_fetching = True
        self._beside(self._work)

    def close(self) -> None:
        """Stop fetching, and ignore a document that is being fetched."""
        self._is_closed = True
        self._stop_timer()

    def _work(self) -> None:
        """Fetch the document, outside the event loop."""
        try:
            document, failure = self._fetch(), None
        except (OSError, DocumentError) as error:
            document, failure = None, f"{error}"
        except Exception as error:
            logger.exception("A fault in fetching %s", self._name)
            document, failure = None, type(error).__name__
        with suppress(RuntimeError):  # the event loop has ended meanwhile
            if not self._is_closed:
                self._clock.call_from_thread(lambda: self._fetched(document, failure))

    def _fetched(self, document: Any, failure: str | None) -> None:
        self.is_fetching = False
        if self._is_closed:
            return
        if failure is None:
            self._failures = 0
            wait_ms = self._take(document)
        else:
            self._failures += 1
            if self._failures == 1:
                logger.warning("%s cannot be fetched, which is tried again: %s", self._name, failure)
            wait_ms = self._backoff.pause_ms(self._failures)
        self._timer = self._clock.call_later(max(wait_ms, SHORTEST_PAUSE_MS), self.refresh)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
