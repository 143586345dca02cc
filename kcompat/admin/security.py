"""TLS and the login of a client, made of its settings; imported for clients that have either."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from kcompat.admin.errors import config_error, kafka_error
from kcompat.errors import ConfigError
from kcompat.peer.client import PeerSecurity

if TYPE_CHECKING:
    from collections.abc import Callable
    from ssl import SSLContext

    from kcompat.admin.settings import ClientSettings
    from kcompat.security.sasl.mechanism import ClientMechanism

_JAAS: Final = "sasl.jaas.config"


def security_of(settings: ClientSettings) -> PeerSecurity:
    """Return the TLS context and the SASL mechanism of a client.

    Raises:
        JavaError: a setting is missing or cannot be used.
    """
    try:
        return PeerSecurity(
            tls=_tls(settings) if settings.has_tls else None,
            mechanism=_mechanism(settings) if settings.has_login else None,
        )
    except ConfigError as error:
        raise kafka_error("Failed to create new KafkaAdminClient") from config_error(f"{error}")


def _tls(settings: ClientSettings) -> SSLContext:
    from kcompat.security.key_stores import read_key_store
    from kcompat.security.tls_context import make_client_context
    from kcompat.security.tls_settings import read_settings

    def get(key: str) -> object:
        text = settings.text(key)
        if key in ("ssl.enabled.protocols", "ssl.cipher.suites"):
            return [each.strip() for each in (text or "").split(",") if each.strip()]
        return text

    tls = read_settings(get, client_auth="none")
    key = read_key_store(tls.key) if tls.key.is_set else None
    checks_host = bool(settings.text("ssl.endpoint.identification.algorithm"))
    return make_client_context(tls, key, checks_host=checks_host)


def _mechanism(settings: ClientSettings) -> ClientMechanism:
    from kcompat.security.login_lines import LOGIN_MODULES

    name = settings.text("sasl.mechanism") or ""
    if name not in LOGIN_MODULES:
        raise ConfigError(f"sasl.mechanism={name} is not supported: {', '.join(LOGIN_MODULES)} are")
    options = _login_options(settings, name)
    if name == "OAUTHBEARER":
        return _bearer(settings, options)
    user, password = options.get("username"), options.get("password")
    if user is None or password is None:
        raise ConfigError(f"{_JAAS} needs the options username and password for {name}")
    if name == "PLAIN":
        from kcompat.security.sasl.plain import PlainClient

        return PlainClient(user, password)
    from kcompat.security.credentials import SCRAM_MECHANISMS
    from kcompat.security.sasl.scram_client import ScramClient

    mechanism = next(each for each in SCRAM_MECHANISMS if each.name == name)
    return ScramClient(mechanism, user, password, is_token=options.get("tokenauth") == "true")


def _login_options(settings: ClientSettings, mechanism: str) -> dict[str, str]:
    from kcompat.security.login_lines import LOGIN_MODULES
    from kcompat.security.sasl.jaas import parse_jaas

    line = settings.text(_JAAS)
    if line is None:
        raise ConfigError(f"{_JAAS} is needed to log in by {mechanism}")
    try:
        login = parse_jaas(line)
    except ConfigError as error:
        raise ConfigError(f"{_JAAS} {error}") from None
    if login.module != LOGIN_MODULES[mechanism]:
        raise ConfigError(f"{_JAAS} names {login.module}, and {mechanism} needs {LOGIN_MODULES[mechanism]}")
    return dict(login.options)


def _bearer(settings: ClientSettings, options: dict[str, str]) -> ClientMechanism:
    from kcompat.security.sasl.oauthbearer import OAuthBearerClient

    return OAuthBearerClient(_tokens(settings, options))


def _tokens(settings: ClientSettings, options: dict[str, str]) -> Callable[[], str]:
    from kcompat.security.bearer.issued_tokens import URL_KEY, token_fetcher
    from kcompat.security.bearer.refreshing import DocumentError
    from kcompat.security.bearer.unsecured_login import unsecured_tokens
    from kcompat.security.sasl.mechanism import SaslError

    url = settings.text(URL_KEY)
    if url is None:
        try:
            return unsecured_tokens(options, lambda: int(time.time() * 1000))
        except ValueError as error:
            raise ConfigError(f"{_JAAS}: {error}; or {URL_KEY}, the address that issues tokens") from None
    fetch = token_fetcher(url, options, str)

    def token() -> str:
        try:
            return fetch()
        except (OSError, DocumentError) as error:
            raise SaslError(f"no token came from the address in {URL_KEY}: {error}") from None

    return token
