"""Delegation tokens in the store, as Kafka 3.9 has them in ZooKeeper (`DelegationTokenManagerZk`).

The HMAC of a token is not stored: every broker computes it with its secret key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

import msgspec

from kcompat.cluster.config_entities import sanitized
from kcompat.cluster.payloads import DamagedZnodeError, field, json_object
from kcompat.security.principals import Principal
from kcompat.security.tokens import DelegationToken

if TYPE_CHECKING:
    from typing import Any

TOKENS: Final = "/delegation_token/tokens"
CHANGES: Final = "/delegation_token/token_changes"
CHANGE_PREFIX: Final = f"{CHANGES}/token_change_"
PERSISTENT_PATHS: Final = ("/delegation_token", CHANGES, TOKENS)
"""Nodes that a broker with tokens creates at its start if they are missing, parents first."""

VERSION: Final = 3
FIRST_WITH_REQUESTER: Final = 3


def token_path(token_id: str) -> str:
    """Return the path of a token."""
    return f"{TOKENS}/{token_id}"


def encode_token(token: DelegationToken) -> bytes:
    """Encode the payload of a token, version 3."""
    return msgspec.json.encode(
        {
            "version": VERSION,
            "owner": sanitized(str(token.owner)),
            "tokenRequester": sanitized(str(token.requester)),
            "renewers": [sanitized(str(renewer)) for renewer in token.renewers],
            "issueTimestamp": token.issued_at_ms,
            "maxTimestamp": token.max_ms,
            "expiryTimestamp": token.expires_at_ms,
            "tokenId": token.token_id,
        }
    )


def decode_token(data: bytes) -> DelegationToken:
    """Decode the payload of a token; before version 3 the owner is the requester. Raises
    `DamagedZnodeError`.
    """
    payload = json_object(data)
    has_requester = field(payload, "version", int) >= FIRST_WITH_REQUESTER
    return DelegationToken(
        field(payload, "tokenId", str),
        _principal(payload, "owner"),
        _principal(payload, "tokenRequester" if has_requester else "owner"),
        tuple(_parsed(text) for text in field(payload, "renewers", list[str])),
        field(payload, "issueTimestamp", int),
        field(payload, "maxTimestamp", int),
        field(payload, "expiryTimestamp", int),
    )


def _principal(payload: dict[str, Any], name: str) -> Principal:
    return _parsed(field(payload, name, str))


def _parsed(text: str) -> Principal:
    kind, colon, name = unquote(text).partition(":")
    if not (kind and colon):
        raise DamagedZnodeError(f"not a principal: {text!r}")
    return Principal(kind, name)
