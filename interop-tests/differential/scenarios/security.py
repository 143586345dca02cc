"""SASL, delegation tokens, quotas and SCRAM credentials, on a broker without listeners that authenticate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from differential.catalogue import scenario
from kcompat.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from typing import Any

    from differential.play import Play

QUOTAS, SCRAM = ApiKey.DESCRIBE_CLIENT_QUOTAS, ApiKey.ALTER_USER_SCRAM_CREDENTIALS
EXACT, DEFAULT, SPECIFIED = 0, 1, 2

# SASL


@scenario(ApiKey.SASL_HANDSHAKE)
def sasl_handshakes(play: Play, version: int) -> None:
    for mechanism in ("PLAIN", "GSSAPI", ""):
        play.call(ApiKey.SASL_HANDSHAKE, version, mechanism=mechanism)


@scenario(ApiKey.SASL_AUTHENTICATE)
def sasl_tokens(play: Play, version: int) -> None:
    for token in (b"\0alice\0secret", b""):
        play.call(ApiKey.SASL_AUTHENTICATE, version, auth_bytes=token)
    play.call(ApiKey.SASL_HANDSHAKE, 1, mechanism="PLAIN")


# Delegation tokens


@scenario(ApiKey.CREATE_DELEGATION_TOKEN)
def create_delegation_tokens(play: Play, version: int) -> None:
    nobody = {"owner_principal_type": None, "owner_principal_name": None}
    empty = {"owner_principal_type": "", "owner_principal_name": ""}
    bob = {"owner_principal_type": "User", "owner_principal_name": "bob"}
    for owner in (nobody, empty, bob):
        play.call(ApiKey.CREATE_DELEGATION_TOKEN, version, max_lifetime_ms=-1, **owner)
    renewers = [{"principal_type": "User", "principal_name": "renewer"}]
    play.call(ApiKey.CREATE_DELEGATION_TOKEN, version, renewers=renewers, max_lifetime_ms=1000, **nobody)


@scenario(ApiKey.RENEW_DELEGATION_TOKEN)
def renew_delegation_tokens(play: Play, version: int) -> None:
    for hmac in (b"abc", b""):
        play.call(ApiKey.RENEW_DELEGATION_TOKEN, version, hmac=hmac, renew_period_ms=1000)


@scenario(ApiKey.EXPIRE_DELEGATION_TOKEN)
def expire_delegation_tokens(play: Play, version: int) -> None:
    for hmac in (b"abc", b""):
        play.call(ApiKey.EXPIRE_DELEGATION_TOKEN, version, hmac=hmac, expiry_time_period_ms=-1)


@scenario(ApiKey.DESCRIBE_DELEGATION_TOKEN)
def describe_delegation_tokens(play: Play, version: int) -> None:
    for owners in (None, [], [{"principal_type": "User", "principal_name": "bob"}]):
        play.call(ApiKey.DESCRIBE_DELEGATION_TOKEN, version, owners=owners)


# Quotas


def component(kind: str, match_type: int, match: str | None = None) -> dict[str, object]:
    """One component of a filter."""
    return {"entity_type": kind, "match_type": match_type, "match": match}


@scenario(QUOTAS)
def describe_client_quotas(play: Play, version: int) -> None:
    user, client, host = (component(kind, SPECIFIED) for kind in ("user", "client-id", "ip"))
    for filters in ([], [user], [user, client], [host], [component("user", DEFAULT)]):
        for strict in (False, True):
            play.call(QUOTAS, version, components=filters, strict=strict)
    play.call(QUOTAS, version, components=[component("user", EXACT, "alice")])
    play.call(QUOTAS, version, components=[component("ip", EXACT, "no address")])


@scenario(QUOTAS)
def describe_client_quotas_by_filters_that_make_no_sense(play: Play, version: int) -> None:
    user, client, host = (component(kind, SPECIFIED) for kind in ("user", "client-id", "ip"))
    for filters in (
        [component("", EXACT, "alice")],
        [component("group", EXACT, "g")],
        [component("user", EXACT)],
        [component("user", DEFAULT, "alice")],
        [component("user", SPECIFIED, "alice")],
        [component("user", 3)],
        [component("user", -1)],
        [user, user],
        [user, component("user", EXACT, "alice")],
        [user, host],
        [component("ip", DEFAULT), client],
        [component("group", 9), component("", 9)],
        [user, component("", 9)],
    ):
        play.call(QUOTAS, version, components=filters)


@scenario(ApiKey.ALTER_CLIENT_QUOTAS)
def alter_client_quotas(play: Play, version: int) -> None:
    play.call(ApiKey.ALTER_CLIENT_QUOTAS, version, entries=[])
    entity = [{"entity_type": "user", "entity_name": None}, {"entity_type": "client-id", "entity_name": "a"}]
    change = {"key": "producer_byte_rate", "value": 1000.0, "remove": False}
    entries = [{"entity": entity, "ops": [change]}]
    play.call(ApiKey.ALTER_CLIENT_QUOTAS, version, entries=entries, validate_only=True)
    wrong = [{"entity": entity, "ops": [{**change, "key": "no_such_rate"}]}]
    play.call(ApiKey.ALTER_CLIENT_QUOTAS, version, entries=wrong, validate_only=True)


# SCRAM


@scenario(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS)
def describe_scram_users(play: Play, version: int) -> None:
    for names in (None, "", ["alice"], [""], ["alice", "bob"], ["alice", "bob", "alice"]):
        users = None if names is None else [{"name": name} for name in names]
        play.call(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, version, users=users)


def deletion(name: str, mechanism: int = 1) -> dict[str, object]:
    """Return one deletion of a credential."""
    return {"name": name, "mechanism": mechanism}


def upsertion(name: str, mechanism: int = 1, iterations: int = 8192) -> dict[str, object]:
    """Return one upsertion of a credential."""
    secret = {"salt": b"salt", "salted_password": b"password"}
    return {"name": name, "mechanism": mechanism, "iterations": iterations, **secret}


@scenario(SCRAM)
def alter_scram_users(play: Play, version: int) -> None:
    play.call(SCRAM, version, deletions=[], upsertions=[])
    play.call(SCRAM, version, deletions=[deletion("alice"), deletion("bob", 2), deletion("bob")])
    for wrong in (deletion(""), deletion("alice", 0), deletion("alice", 9), deletion("", 9)):
        play.call(SCRAM, version, deletions=[wrong, deletion("bob")])
    for bad in (
        upsertion("", iterations=1),
        upsertion("alice", 0),
        upsertion("alice", 3, 1),
        upsertion("alice", iterations=4095),
        upsertion("alice", 2, 16385),
    ):
        play.call(SCRAM, version, upsertions=[bad])
    play.call(SCRAM, version, deletions=[deletion("alice")], upsertions=[upsertion("alice")])


@scenario(SCRAM)
def alter_scram_users_for_good(play: Play, version: int) -> None:
    name = play.name("user ü,=/*")
    for iterations in (4096, 16384):
        play.call(SCRAM, version, upsertions=[upsertion(name, iterations=iterations)])
    play.call(SCRAM, version, upsertions=[upsertion(name, 2), upsertion(name)])
    play.call(SCRAM, version, upsertions=[upsertion(name, 2)])
    describe_scram(play, name, 2)
    play.call(SCRAM, version, deletions=[deletion(name)], upsertions=[upsertion(name)])
    play.call(SCRAM, version, deletions=[deletion(name), deletion(name)])
    play.call(SCRAM, version, deletions=[deletion(name), deletion(name, 2), deletion(name)])
    play.call(SCRAM, version, deletions=[deletion(name)], upsertions=[{**upsertion("x", 9), "name": name}])
    for mechanism in (1, 1, 2):
        play.call(SCRAM, version, deletions=[deletion(name, mechanism)])
    describe_scram(play, name, 0)


@scenario(SCRAM)
def alter_scram_users_with_odd_secrets(play: Play, version: int) -> None:
    name = play.name("odd")
    for secret in ({"salt": b""}, {"salted_password": b"x" * 200}, {"salted_password": b""}):
        play.call(SCRAM, version, upsertions=[{**upsertion(name), **secret}])
    play.do(SCRAM, version, deletions=[deletion(name)])


def describe_scram(play: Play, name: str, mechanisms: int) -> None:
    """Describe a user as soon as the broker shows this number of mechanisms."""
    key, users = ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, [{"name": name}]

    def is_shown() -> bool:
        (row,) = play.do(key, 0, users=users).results
        return len(row.credential_infos) == mechanisms

    def in_order(response: Any) -> None:
        for row in response.results:
            row.credential_infos.sort(key=lambda info: info.mechanism)

    play.until(is_shown, f"{mechanisms} mechanisms of {name}")
    play.call(key, 0, users=users, trim=in_order)
