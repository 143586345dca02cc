"""The mechanism OAUTHBEARER of a listener: its configuration decides which tokens are valid, and by which
token this broker logs in to others.
"""

from __future__ import annotations

import logging
from functools import partial
from random import random
from typing import TYPE_CHECKING, Any, Final

from kcompat.config.table import mechanism_key
from kcompat.errors import ConfigError
from kcompat.security.login_lines import FETCHED_LOGINS, SIGNED_VALIDATORS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kcompat.clock import Clock
    from kcompat.config.broker import BrokerConfig
    from kcompat.node.lifetime import Lifetime
    from kcompat.security.bearer.token import TokenValidator

logger = logging.getLogger(__name__)

_HANDLER: Final = "sasl.server.callback.handler.class"
_URL: Final = "sasl.oauthbearer.jwks.endpoint.url"


def token_validator(
    config: BrokerConfig, listener: str, options: Mapping[str, str]
) -> Callable[[Clock, Lifetime], TokenValidator]:
    """Return the function that makes the validator of a listener's tokens; `options` are those of its JAAS
    login.

    Raises:
        ConfigError: the configuration names something unsupported, or lacks a setting.
    """
    get: Callable[[str], Any] = partial(config.get_of, listener, "OAUTHBEARER")
    if get(_HANDLER) in SIGNED_VALIDATORS:
        return _signed(get, options, listener)
    return _unsecured(options, listener)


def _unsecured(options: Mapping[str, str], listener: str) -> Callable[[Clock, Lifetime], TokenValidator]:
    from kcompat.security.bearer.unsecured import UnsecuredSettings, UnsecuredTokens

    try:
        settings = UnsecuredSettings.read(options)
    except ValueError as error:
        jaas = mechanism_key(listener, "OAUTHBEARER", "sasl.jaas.config")
        raise ConfigError(f"{jaas}: {error}") from None

    def make(clock: Clock, _lifetime: Lifetime) -> TokenValidator:
        logger.warning(
            "Listener %s takes unsecured tokens, which every client can make for any name: set %s=%s",
            listener, mechanism_key(listener, "OAUTHBEARER", _HANDLER), SIGNED_VALIDATORS[0],
        )  # fmt: skip
        return UnsecuredTokens(settings, clock.now_ms)

    return make


def _signed(
    get: Callable[[str], Any], options: Mapping[str, str], listener: str
) -> Callable[[Clock, Lifetime], TokenValidator]:
    try:
        from kcompat.security.bearer.documents import fetcher, shown
        from kcompat.security.bearer.issued_tokens import trust
        from kcompat.security.bearer.key_source import KeySource
        from kcompat.security.bearer.refreshing import Backoff
        from kcompat.security.bearer.signed import SignedSettings, SignedTokens
    except ImportError as error:
        raise ConfigError(
            f"Signed tokens at listener {listener} need a library more: pip install 'kcompat[security]'"
        ) from error
    url, setting = get(_URL), mechanism_key(listener, "OAUTHBEARER", _URL)
    if not url:
        raise ConfigError(f"Signed tokens at listener {listener} need {setting}, the address of a key set")
    try:
        fetch = fetcher(url, trust(options, mechanism_key(listener, "OAUTHBEARER", "sasl.jaas.config")))
    except ValueError as error:
        raise ConfigError(f"{setting} is not possible: {error}") from None
    settings = SignedSettings(
        audiences=tuple(get("sasl.oauthbearer.expected.audience") or ()),
        issuer=get("sasl.oauthbearer.expected.issuer") or None,
        clock_skew_ms=1000 * get("sasl.oauthbearer.clock.skew.seconds"),
        scope_claim=get("sasl.oauthbearer.scope.claim.name").strip() or "scope",
        subject_claim=get("sasl.oauthbearer.sub.claim.name").strip() or "sub",
    )
    jwks = "sasl.oauthbearer.jwks.endpoint"
    backoff = Backoff(get(f"{jwks}.retry.backoff.ms"), get(f"{jwks}.retry.backoff.max.ms"))
    refresh_ms: int = get(f"{jwks}.refresh.ms")

    def make(clock: Clock, lifetime: Lifetime) -> TokenValidator:
        keys = KeySource(shown(url), fetch, refresh_ms, backoff, clock)
        keys.open()
        lifetime.began(keys.close, keys.close)
        return SignedTokens(settings, keys, clock.now_ms)

    return make


def own_tokens(
    config: BrokerConfig, listener: str, options: Mapping[str, str], now_ms: Callable[[], int]
) -> Callable[[], str]:
    """Return the function that returns a token for this broker's own logins, or raises SaslError.

    `options` are those of the listener's JAAS login.

    Raises:
        ConfigError: the configuration names something unsupported, or lacks a setting.
    """
    get: Callable[[str], Any] = partial(config.get_of, listener, "OAUTHBEARER")
    if get("sasl.login.callback.handler.class") in FETCHED_LOGINS:
        return _fetched_tokens(get, options, listener, now_ms)
    from kcompat.security.bearer.unsecured_login import unsecured_tokens

    try:
        return unsecured_tokens(options, now_ms)
    except ValueError as error:
        jaas = mechanism_key(listener, "OAUTHBEARER", "sasl.jaas.config")
        raise ConfigError(f"{jaas}: {error}") from None


def _fetched_tokens(
    get: Callable[[str], Any], options: Mapping[str, str], listener: str, now_ms: Callable[[], int]
) -> Callable[[], str]:
    from kcompat.security.bearer.documents import shown
    from kcompat.security.bearer.issued_tokens import URL_KEY, token_fetcher
    from kcompat.security.bearer.refreshing import Backoff
    from kcompat.security.bearer.token_source import RefreshWindow, TokenSource

    url = get(URL_KEY)
    fetch = token_fetcher(url, options, partial(mechanism_key, listener, "OAUTHBEARER"))
    source = TokenSource(
        shown(url),
        fetch,
        now_ms,
        backoff=Backoff(get("sasl.login.retry.backoff.ms"), get("sasl.login.retry.backoff.max.ms")),
        window=RefreshWindow(
            get("sasl.login.refresh.window.factor"),
            get("sasl.login.refresh.window.jitter"),
            1000 * get("sasl.login.refresh.min.period.seconds"),
            1000 * get("sasl.login.refresh.buffer.seconds"),
        ),
        chance=random,
    )
    return source.token
