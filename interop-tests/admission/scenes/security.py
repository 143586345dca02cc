"""SASL, delegation tokens, quotas and SCRAM credentials."""

from __future__ import annotations

from typing import Any

from admission.stage import DENIED, Asker, scene
from kcompat.protocol.api_keys import ApiKey

HMAC = b"no token has this"


@scene(ApiKey.SASL_HANDSHAKE)
def sasl_handshake(play: Asker, version: int) -> None:
    play.call(ApiKey.SASL_HANDSHAKE, version, mechanism="PLAIN")


@scene(ApiKey.SASL_AUTHENTICATE)
def sasl_authenticate(play: Asker, version: int) -> None:
    play.call(ApiKey.SASL_AUTHENTICATE, version, auth_bytes=b"\0alice\0secret")


@scene(ApiKey.CREATE_DELEGATION_TOKEN)
def create_delegation_token(play: Asker, version: int) -> None:
    owner = {"owner_principal_type": "User", "owner_principal_name": "bob"}
    play.call(ApiKey.CREATE_DELEGATION_TOKEN, version, max_lifetime_ms=-1, **owner)


@scene(ApiKey.RENEW_DELEGATION_TOKEN)
def renew_delegation_token(play: Asker, version: int) -> None:
    play.call(ApiKey.RENEW_DELEGATION_TOKEN, version, hmac=HMAC, renew_period_ms=1000)


@scene(ApiKey.EXPIRE_DELEGATION_TOKEN)
def expire_delegation_token(play: Asker, version: int) -> None:
    play.call(ApiKey.EXPIRE_DELEGATION_TOKEN, version, hmac=HMAC, expiry_time_period_ms=1000)


@scene(ApiKey.DESCRIBE_DELEGATION_TOKEN)
def describe_delegation_token(play: Asker, version: int) -> None:
    play.call(ApiKey.DESCRIBE_DELEGATION_TOKEN, version, owners=None)


@scene(ApiKey.DESCRIBE_CLIENT_QUOTAS)
def describe_client_quotas(play: Asker, version: int) -> None:
    play.call(ApiKey.DESCRIBE_CLIENT_QUOTAS, version, components=[])


@scene(ApiKey.ALTER_CLIENT_QUOTAS)
def alter_client_quotas(play: Asker, version: int) -> None:
    def only_denials(answer: Any) -> None:
        """The reference has quotas, ours has none."""
        for row in answer.entries:
            if row.error_code not in DENIED:
                row.error_code, row.error_message = 0, None

    change = {"key": "producer_byte_rate", "value": 1000.0, "remove": False}
    entries = [
        {"entity": [{"entity_type": "user", "entity_name": name}], "ops": [change]}
        for name in ("alice", "bob")
    ]
    asked = {"entries": entries, "validate_only": True}
    play.call(ApiKey.ALTER_CLIENT_QUOTAS, version, trim=only_denials, **asked)


@scene(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS)
def describe_user_scram_credentials(play: Asker, version: int) -> None:
    users = [{"name": "alice"}, {"name": "bob"}]
    play.call(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, version, users=users)


@scene(ApiKey.ALTER_USER_SCRAM_CREDENTIALS)
def alter_user_scram_credentials(play: Asker, version: int) -> None:
    deletions = [{"name": name, "mechanism": 1} for name in ("alice", "bob", "alice")]
    secret = {"salt": b"salt", "salted_password": b"password"}
    upsertions = [{"name": "carol", "mechanism": 1, "iterations": 1, **secret}]
    play.call(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, version, deletions=deletions, upsertions=upsertions)
