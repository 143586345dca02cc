"""The current key set of an identity provider, which is fetched beside the event loop and kept.

A key set is fetched when the broker starts, every `refresh_ms`, and when a token names an unknown key. While
it cannot be fetched, the last one stays in use; before the first one, every token is refused. Kafka's
counterpart: `RefreshingHttpsJwks`.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from kcompat.security.bearer.key_set import KeySet
from kcompat.security.bearer.refreshing import Backoff, Refreshing, in_thread

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.clock import Clock

logger = logging.getLogger(__name__)

SAME_KEY_AGAIN_MS: Final = 60_000
"""Time in ms within which one unknown key makes the set be fetched at most once."""
UNKNOWN_KEYS: Final = 16
"""Maximum number of unknown keys that are remembered for `SAME_KEY_AGAIN_MS`."""
SHORTEST_INTERVAL_MS: Final = 1000
"""Shortest time in ms between two fetches that unknown keys cause, so that clients with made-up keys cannot
make a broker flood the identity provider.
"""


class KeySource:
    """The key set of one address, the `Keys` of `SignedTokens`."""

    def __init__(
        self,
        name: str,
        fetch: Callable[[], bytes],
        refresh_ms: int,
        backoff: Backoff,
        clock: Clock,
        beside: Callable[[Callable[[], object]], object] = in_thread,
    ) -> None:
        """Begin without keys. `fetch` returns the document at the address `name`, or raises OSError; `beside`
        runs it outside the event loop.
        """
        self.current = KeySet()
        self._name = name
        self._refresh_ms = refresh_ms
        self._clock = clock
        self._begun_at_ms = 0
        self._asked_for: OrderedDict[str, int] = OrderedDict()  # unknown keys, and when they were asked for
        self._refreshing = Refreshing(
            f"The key set of {name}", lambda: KeySet.parse(fetch()), self._take, backoff, clock, beside
        )

    def open(self) -> None:
        """Start to fetch the key set."""
        self._refresh()

    def close(self) -> None:
        """Stop fetching the key set."""
        self._refreshing.close()

    def key_missing(self, key_id: str) -> None:
        """Fetch the set because a token names a key that is not in it, unless it was fetched for that key a
        short time ago.
        """
        now_ms = self._clock.now_ms()
        if self._refreshing.is_fetching or now_ms - self._begun_at_ms < SHORTEST_INTERVAL_MS:
            return
        if now_ms - self._asked_for.get(key_id, -SAME_KEY_AGAIN_MS) < SAME_KEY_AGAIN_MS:
            return
        self._asked_for[key_id] = now_ms
        self._asked_for.move_to_end(key_id)
        if len(self._asked_for) > UNKNOWN_KEYS:
            self._asked_for.popitem(last=False)
        self._refresh()

    def _refresh(self) -> None:
        self._begun_at_ms = self._clock.now_ms()
        self._refreshing.refresh()

    def _take(self, found: KeySet) -> float:
        self.current = found
        level = logging.INFO if found.keys else logging.WARNING
        logger.log(level, "The key set of %s has %d usable keys", self._name, len(found.keys))
        return self._refresh_ms
