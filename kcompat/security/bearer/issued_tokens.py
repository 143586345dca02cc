"""Tokens that an identity provider issues, or a file holds, for a client's own logins.

Kafka's counterpart: `OAuthBearerLoginCallbackHandler`.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from kcompat.errors import ConfigError
from kcompat.security.bearer.token_source import credentials_form, token_of_file, token_of_response

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from ssl import SSLContext

URL_KEY: Final = "sasl.oauthbearer.token.endpoint.url"
_JAAS: Final = "sasl.jaas.config"
_TRUST: Final = "ssl.truststore."


def token_fetcher(
    url: str | None, options: Mapping[str, str], full_name: Callable[[str], str]
) -> Callable[[], str]:
    """Return the function that fetches a token, which raises OSError or `DocumentError`.

    `url` is the value of `URL_KEY`, `options` are those of the JAAS login, and `full_name` returns the name
    of a key for error texts.

    Raises:
        ConfigError: a setting is missing, or names something unsupported.
    """
    from kcompat.security.bearer.documents import fetcher

    if not url:
        raise ConfigError(
            f"Tokens of an identity provider need {full_name(URL_KEY)}, the address that issues them"
        )
    is_file = urlsplit(url).scheme == "file"
    form, headers = None, {}
    if not is_file:
        names = [options.get("clientId", ""), options.get("clientSecret", "")]
        if not all(names):
            raise ConfigError(f"{full_name(_JAAS)} lacks clientId and clientSecret, by which a token is got")
        secret = base64.b64encode(":".join(names).encode()).decode()
        form = credentials_form(options.get("scope"))
        headers = {"Authorization": f"Basic {secret}", "Content-Type": "application/x-www-form-urlencoded"}
    try:
        fetch = fetcher(url, trust(options, full_name(_JAAS)), headers=headers, body=form)
    except ValueError as error:
        raise ConfigError(f"{full_name(URL_KEY)} is not possible: {error}") from None
    read = token_of_file if is_file else token_of_response
    return lambda: read(fetch())


def trust(options: Mapping[str, str], setting: str) -> Callable[[], SSLContext] | None:
    """Return the function that makes the context of TLS for an identity provider; None if the options of the
    JAAS login have no trust store, so that the system's authorities are trusted. `setting` is the name of the
    login's key.

    Raises:
        ConfigError: an option names something unsupported.
    """
    given = {name.removeprefix(_TRUST): text for name, text in options.items() if name.startswith("ssl.")}
    if not given:
        return None
    unknown = given.keys() - {"type", "location", "password", "certificates"}
    if unknown:
        raise ConfigError(
            f"{setting} has an option that is not supported for an identity provider: {min(unknown)}"
        )

    def make() -> SSLContext:
        import ssl

        from kcompat.security.key_stores import Store, read_trust_store

        store = Store(
            "trust",
            given.get("type", "JKS").upper(),
            given.get("location"),
            given.get("password"),
            inline_certificates=given.get("certificates"),
        )
        try:
            return ssl.create_default_context(cadata=read_trust_store(store))
        except ConfigError as error:
            raise OSError(f"{error}") from error

    return make
