"""Removal of secrets from requests and answers, so that no secret is ever recorded.

Removed are the tokens of SASL logins, the HMACs of delegation tokens, salted passwords, and the values of
configs that are passwords or unknown.
"""

from __future__ import annotations

from struct import error as StructError  # noqa: N812 - the module's own name says nothing
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from kcompat.config.group import GROUP_KEYS
from kcompat.config.table import TOPIC_KEYS, broker_key
from kcompat.instrumentation.request_head import response_body_at
from kcompat.protocol.api_keys import API_FACTS, ApiKey, request_class, response_class
from kcompat.protocol.compiling import read_request_header
from kcompat.protocol.message import decoder
from kcompat.protocol.schema import ProtocolViolation
from kcompat.security.sasl.exchange import ExchangeState, SaslExchange

if TYPE_CHECKING:
    from kcompat.net.answers import Connection

SECRET_REQUESTS: Final = frozenset(
    {
        ApiKey.SASL_AUTHENTICATE,
        ApiKey.CREATE_TOPICS,
        ApiKey.ALTER_CONFIGS,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        ApiKey.RENEW_DELEGATION_TOKEN,
        ApiKey.EXPIRE_DELEGATION_TOKEN,
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        ApiKey.ENVELOPE,
    }
)
"""The APIs whose requests may carry a secret."""
SECRET_ANSWERS: Final = frozenset(
    {ApiKey.SASL_AUTHENTICATE, ApiKey.CREATE_DELEGATION_TOKEN, ApiKey.DESCRIBE_DELEGATION_TOKEN}
)
"""The APIs whose answers may carry a secret."""
_FIXED: Final = 8
"""Bytes of a request before its client id."""
_SECRET_BYTES: Final = frozenset({"auth_bytes", "hmac", "salted_password", "salt", "request_data"})

PLAIN_KINDS: Final = frozenset(
    int(key).to_bytes(2, "big") + version.to_bytes(2, "big")
    for key, facts in API_FACTS.items()
    if key not in SECRET_REQUESTS and key not in SECRET_ANSWERS
    for version in facts.versions
)
"""The first four bytes (API key and version) of requests that carry no secret, and whose answers carry none.
"""


def is_login_token(connection: Connection) -> bool:
    """Return whether the next frame of a connection is a SASL token without a header."""
    context = connection.context
    return isinstance(context, SaslExchange) and context.state is ExchangeState.RAW_TOKENS


def without_secrets(frame: bytes) -> bytes:
    """Return a request without its secrets. If it cannot be decoded, only its API, version and correlation id
    are kept, since a wrong length of its client id might include the secret.
    """
    key, version = _kind(frame)
    if key not in API_FACTS:
        return b""
    if version not in API_FACTS[key].versions:
        return frame[:4]
    if key not in SECRET_REQUESTS:
        return frame
    try:
        _, _, body = read_request_header(memoryview(frame), API_FACTS[key].request_header_version(version))
        request, _ = decoder(request_class(key), version)(memoryview(frame), body)
    except (ProtocolViolation, StructError):
        return frame[:_FIXED]
    _blank(request)
    return b"".join((frame[:body], *request.encode(version)))


def answer_without_secrets(request: bytes, answer: bytes) -> bytes:
    """Return the answer to a request without its secrets; if it cannot be decoded, only the length prefix and
    the correlation id are kept.
    """
    key, version = _kind(request)
    if key == ApiKey.API_VERSIONS:
        return answer  # the only API that answers unknown versions
    if key not in API_FACTS or version not in API_FACTS[key].versions:
        return answer[:4]  # the answer to a SASL token without a header
    if key not in SECRET_ANSWERS:
        return answer
    body = response_body_at(ApiKey(key), version)
    try:
        response, _ = decoder(response_class(key), version)(memoryview(answer), body)
    except (ProtocolViolation, StructError):
        return answer[:8]
    _blank(response)
    left = b"".join((answer[4:body], *response.encode(version)))
    return len(left).to_bytes(4, "big") + left


def _kind(frame: bytes) -> tuple[int, int]:
    """Return the API key and version of a request; the key is -1 if the request is too short to have them."""
    key = int.from_bytes(frame[:2], "big") if len(frame) >= 4 else -1
    return key, int.from_bytes(frame[2:4], "big")


def _blank(value: Any) -> None:
    """Empty the secret fields of a message, wherever they are."""
    if isinstance(value, list):
        for item in value:
            _blank(item)
    elif isinstance(value, Struct):
        for name in value.__struct_fields__:
            inner = getattr(value, name)
            if name in _SECRET_BYTES:
                setattr(value, name, b"")
            elif name == "configs":
                _blank_configs(inner)
            else:
                _blank(inner)


def _blank_configs(configs: list[Any]) -> None:
    for config in configs:
        if config.value is not None and _is_secret(config.name):
            config.value = ""


def _is_secret(name: str) -> bool:
    key = TOPIC_KEYS.get(name) or broker_key(name)
    return name not in GROUP_KEYS and (key is None or key.type.is_sensitive)
