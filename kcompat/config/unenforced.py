"""Settings that kcompat cannot honour: a value other than Kafka's default is refused.

Most are rows of the table with the effect `Effect.REFUSED`. This module adds keys that have no row for Kafka
3.9: the SASL keys of Kafka 4.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.config.java_text import trim
from kcompat.config.keys import Effect
from kcompat.config.table import broker_key, without_listener_prefix
from kcompat.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.config.types import Value

_NO_TOKENS: Final = "it is of Kafka 4, whose ways to get and check tokens are not there"
_JWT: Final = "org.apache.kafka.common.security.oauthbearer.DefaultJwt"

_DEFAULTS: Final[Mapping[str, str]] = {
    "sasl.oauthbearer.assertion.algorithm": "RS256",
    "sasl.oauthbearer.assertion.claim.aud": "",
    "sasl.oauthbearer.assertion.claim.exp.seconds": "300",
    "sasl.oauthbearer.assertion.claim.iss": "",
    "sasl.oauthbearer.assertion.claim.jti.include": "false",
    "sasl.oauthbearer.assertion.claim.nbf.seconds": "60",
    "sasl.oauthbearer.assertion.claim.sub": "",
    "sasl.oauthbearer.assertion.file": "",
    "sasl.oauthbearer.assertion.private.key.file": "",
    "sasl.oauthbearer.assertion.private.key.passphrase": "",
    "sasl.oauthbearer.assertion.template.file": "",
    "sasl.oauthbearer.client.credentials.client.id": "",
    "sasl.oauthbearer.client.credentials.client.secret": "",
    "sasl.oauthbearer.jwt.retriever.class": f"{_JWT}Retriever",
    "sasl.oauthbearer.jwt.validator.class": f"{_JWT}Validator",
    "sasl.oauthbearer.scope": "",
}
"""Kafka's defaults of refused keys that have no row; empty for keys without default."""

WITHOUT_ROW: Final = frozenset(_DEFAULTS)
"""Names of refused keys that have no row in the table."""


def refusal_of(name: str, text: str) -> str | None:
    """Return the reason why a broker cannot honour a setting, as a sentence; None if it can.

    A key may have a listener's prefix. An empty text means the default. Secrets are not repeated.

    Raises:
        ConfigError: the text is not of the key's type.
    """
    key, base = broker_key(name), without_listener_prefix(name) or name
    if not trim(text):
        return None
    if key is None:
        if base not in _DEFAULTS or trim(text) == _DEFAULTS[base]:
            return None
        return f"{name} is not supported: {_NO_TOKENS}"
    if key.effect is not Effect.REFUSED or _plain(key.parse(text)) == _plain(key.default_value):
        return None
    shown = name if key.type.is_sensitive else f"{name}={text}"
    return f"{shown} is not supported: {key.reason}"


def refuse_unenforced(settings: Mapping[str, str]) -> None:
    """Refuse settings that a broker cannot honour.

    Raises:
        ConfigError: the first of them.
    """
    for name, text in settings.items():
        refusal = refusal_of(name, text)
        if refusal is not None:
            raise ConfigError(refusal)


def _plain(value: Value) -> Value:
    """Return a value in the form for comparison: Kafka does not distinguish `HTTPS` from `https`, for
    instance.
    """
    return value.lower() if isinstance(value, str) else value
