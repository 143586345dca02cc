"""The token of this broker for its own logins: from an identity provider or a file, fetched beside the event
loop when a login needs it, and kept while it is fresh.

Kafka's counterparts: `OAuthBearerLoginCallbackHandler` and `ExpiringCredentialRefreshingLogin`.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import msgspec
from msgspec import Struct

from kcompat.security.bearer.refreshing import Backoff, DocumentError, in_thread
from kcompat.security.bearer.token import RefusedTokenError, decoded, expiry_ms, json_object, split_token
from kcompat.security.sasl.mechanism import SaslError

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger(__name__)


class RefreshWindow(Struct, frozen=True):
    """The rules for the time at which a token is fetched again, from the keys `sasl.login.refresh.*`."""

    factor: float = 0.8
    """Fraction of the token's lifetime after which it is fetched again."""
    jitter: float = 0.05
    """Largest random fraction of the lifetime that is added to `factor`."""
    min_period_ms: int = 60_000
    buffer_ms: int = 300_000
    """Minimum time between the refresh and the expiry, if the lifetime is long enough for both buffers."""

    def refresh_at_ms(self, now_ms: int, expires_at_ms: int, chance: float) -> float:
        """Return the time at which a token issued now is fetched again; `chance` is a random number from 0 to
        1.
        """
        life_ms = expires_at_ms - now_ms
        wanted = now_ms + life_ms * (self.factor + self.jitter * chance)
        if self.min_period_ms + self.buffer_ms > life_ms:
            return wanted
        return min(max(wanted, now_ms + self.min_period_ms), expires_at_ms - self.buffer_ms)


class _Held(Struct, frozen=True):
    token: str
    refresh_at_ms: float
    expires_at_ms: int

    def __repr__(self) -> str:
        return f"_Held(expires_at_ms={self.expires_at_ms})"  # the token is a secret


class TokenSource:
    """The current token. `beside` runs its method `_work` in another thread, and no other method."""

    def __init__(
        self,
        name: str,
        fetch: Callable[[], str],
        now_ms: Callable[[], int],
        *,
        backoff: Backoff,
        window: RefreshWindow,
        chance: Callable[[], float],
        beside: Callable[[Callable[[], object]], object] = in_thread,
    ) -> None:
        """Begin without a token. `fetch` returns one from the address `name`, or raises OSError or
        DocumentError; `chance` returns random numbers from 0 to 1.
        """
        self._name = name
        self._fetch = fetch
        self._now_ms = now_ms
        self._backoff = backoff
        self._window = window
        self._chance = chance
        self._beside = beside
        self._held: _Held | None = None
        self._is_fetching = False
        self._failures = 0  # in a row
        self._next_try_ms = 0
        self._reason = "none has come yet"

    def token(self) -> str:
        """Return the token, and begin to fetch the next one if that is due.

        Raises:
            SaslError: no token was fetched yet, or it has expired.
        """
        now_ms, held = self._now_ms(), self._held
        if (held is None or now_ms >= held.refresh_at_ms) and not self._is_fetching:
            self._fetch_after_pause(now_ms)
        held = self._held
        if held is not None and now_ms < held.expires_at_ms:
            return held.token
        raise SaslError(f"there is no token of {self._name}: {self._reason}")

    def _fetch_after_pause(self, now_ms: int) -> None:
        if now_ms >= self._next_try_ms:
            self._is_fetching = True
            self._beside(self._work)

    def _work(self) -> None:
        """Fetch a token outside the event loop. The event loop reads the result at the next login."""
        try:
            token = self._fetch()
            _, claims, _ = split_token(token)
            expires_at_ms = expiry_ms(json_object(decoded(claims)))
        except (OSError, DocumentError, RefusedTokenError) as error:
            self._failed(f"{error}")
        except Exception as error:
            logger.exception("A fault in fetching a token of %s", self._name)
            self._failed(type(error).__name__)
        else:
            now_ms = self._now_ms()
            refresh_at_ms = self._window.refresh_at_ms(now_ms, expires_at_ms, self._chance())
            self._failures = 0
            self._held = _Held(token, refresh_at_ms, expires_at_ms)
        finally:
            self._is_fetching = False

    def _failed(self, reason: str) -> None:
        self._failures += 1
        self._next_try_ms = self._now_ms() + self._backoff.pause_ms(self._failures)
        self._reason = reason


def credentials_form(scope: str | None) -> bytes:
    """Return the body of a request for a token (RFC 6749, section 4.4)."""
    fields = {"grant_type": "client_credentials"}
    return urlencode(fields if scope is None else {**fields, "scope": scope}).encode()


def token_of_response(body: bytes) -> str:
    """Return the token of an identity provider's response.

    Raises:
        DocumentError: the response has none.
    """
    try:
        answer = msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        answer = {}
    token = answer.get("access_token")
    if not isinstance(token, str) or not token.strip():
        raise DocumentError("the response has no access_token")
    return token.strip()


def token_of_file(content: bytes) -> str:
    """Return the token that is the whole content of a file."""
    return content.decode("ascii", "replace").strip()
