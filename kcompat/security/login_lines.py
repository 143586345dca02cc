"""JAAS login lines, which are the values of `sasl.jaas.config` for brokers and for Java clients, and the Java
classes that settings for logins name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_BEARER: Final = "org.apache.kafka.common.security.oauthbearer"

BEARER_MODULE: Final = f"{_BEARER}.OAuthBearerLoginModule"
"""Class of the login module for OAUTHBEARER in JAAS lines."""
UNSECURED_VALIDATOR: Final = f"{_BEARER}.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
"""Class of the validator of unsecured tokens, Kafka's default."""
SIGNED_VALIDATORS: Final = (
    f"{_BEARER}.OAuthBearerValidatorCallbackHandler",
    f"{_BEARER}.secured.OAuthBearerValidatorCallbackHandler",
)
"""Class names of the validator of signed tokens: the current name, and an older one."""
UNSECURED_LOGIN: Final = f"{_BEARER}.internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler"
"""Class of the source of unsecured tokens for a broker's own logins, Kafka's default."""
FETCHED_LOGINS: Final = (
    f"{_BEARER}.OAuthBearerLoginCallbackHandler",
    f"{_BEARER}.secured.OAuthBearerLoginCallbackHandler",
)
"""Class names of the source of tokens that an identity provider issues: the current name, and an older one.
"""
PLAIN_MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"

LOGIN_MODULES: Final = {
    "PLAIN": PLAIN_MODULE,
    "SCRAM-SHA-256": SCRAM_MODULE,
    "SCRAM-SHA-512": SCRAM_MODULE,
    "OAUTHBEARER": BEARER_MODULE,
}
"""Class of the login module of each SASL mechanism."""
PASSWORD_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
"""The SASL mechanisms whose users have passwords."""

_WORD: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$.-]*")


def login_line(mechanism: str, options: Mapping[str, str]) -> str:
    """Return the login line of a mechanism with its options, such as the user name and the password."""
    written = [f"{_key(name)}={_quoted(value)}" for name, value in options.items()]
    return " ".join((LOGIN_MODULES[mechanism], "required", *written)) + ";"


def _key(name: str) -> str:
    return name if _WORD.fullmatch(name) else _quoted(name)


def _quoted(text: str) -> str:
    """Return a text in quotes, with the escapes of Java's StreamTokenizer."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'
