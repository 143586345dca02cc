"""SASL, delegation tokens, quotas and SCRAM credentials, on a broker without listeners that authenticate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from differential.catalogue import scenario
from kcompat.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from typing import Any

    from differential.play import Play

QUOTAS, ALTER_QUOTAS = ApiKey.DESCRIBE_CLIENT_QUOTAS, ApiKey.ALTER_CLIENT_QUOTAS
SCRAM = ApiKey.ALTER_USER_SCRAM_CREDENTIALS
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


Entity = tuple[tuple[str, str | None], ...]


def changes(entity: Entity, **quotas: float | None) -> dict[str, object]:
    """One entry of AlterClientQuotas; None removes a quota."""
    return {
        "entity": [{"entity_type": kind, "entity_name": name} for kind, name in entity],
        "ops": [
            {"key": key, "value": value or 0.0, "remove": value is None} for key, value in quotas.items()
        ],
    }


def alter_quotas(play: Play, version: int, *entries: dict[str, object], validate_only: bool = False) -> None:
    play.call(ALTER_QUOTAS, version, entries=list(entries), validate_only=validate_only)


def describe_quotas(play: Play, entity: Entity, **expected: float) -> None:
    """Wait until exactly these quotas of an entity are shown, and record how they are shown."""
    asked: dict[str, Any] = {
        "components": [component(kind, DEFAULT if name is None else EXACT, name) for kind, name in entity],
        "strict": True,
    }

    def are_shown() -> bool:
        entries = play.do(QUOTAS, 1, **asked).entries
        return {quota.key: quota.value for entry in entries for quota in entry.values} == expected

    play.until(are_shown, f"the quotas of {entity}")
    play.call(QUOTAS, 1, **asked)


@scenario(ALTER_QUOTAS)
def alter_client_quotas(play: Play, version: int) -> None:
    play.call(ALTER_QUOTAS, version, entries=[])
    entity = (("user", None), ("client-id", "a"))
    alter_quotas(play, version, changes(entity, producer_byte_rate=1000.0), validate_only=True)
    alter_quotas(play, version, changes(entity, no_such_rate=1000.0), validate_only=True)


@scenario(ALTER_QUOTAS)
def alter_client_quotas_for_good(play: Play, version: int) -> None:
    user, client = (f"{play.prefix}-{name}" for name in ("user", "client"))
    entities: list[Entity] = [
        (("user", user),),
        (("user", user), ("client-id", client)),
        (("user", user), ("client-id", None)),
        (("user", None), ("client-id", client)),
        (("client-id", client),),
        (("user", "a b/c%"),),
        (("user", "<default>"),),
    ]
    for entity in entities:
        alter_quotas(play, version, changes(entity, producer_byte_rate=1e9))
        describe_quotas(play, entity, producer_byte_rate=1e9)
        alter_quotas(play, version, changes(entity, producer_byte_rate=2.0**40, request_percentage=99.5))
        describe_quotas(play, entity, producer_byte_rate=2.0**40, request_percentage=99.5)
        alter_quotas(play, version, changes(entity, producer_byte_rate=None, no_such_rate=None))
        describe_quotas(play, entity, request_percentage=99.5)
        alter_quotas(play, version, changes(entity, request_percentage=None, consumer_byte_rate=None))
        describe_quotas(play, entity)
    for address in ("10.1.2.3", "fe80::1", None):
        alter_quotas(play, version, changes((("ip", address),), connection_creation_rate=1e6))
        describe_quotas(play, (("ip", address),), connection_creation_rate=1e6)
        alter_quotas(play, version, changes((("ip", address),), connection_creation_rate=None))


@scenario(ALTER_QUOTAS)
def alter_client_quotas_to_what_is_no_quota(play: Play, version: int) -> None:
    entity = (("user", f"{play.prefix}-user"),)
    for key in ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate"):
        for value in (0.0, -1.0, 1.5, 1e19, 0.9999999):
            alter_quotas(play, version, changes(entity, **{key: value}))
    for key in ("connection_creation_rate", "SCRAM-SHA-256", ""):
        alter_quotas(play, version, changes(entity, **{key: 1.0}))
    allowed = {"request_percentage": 0.9999999, "controller_mutation_rate": 0.9999999}
    describe_quotas(play, entity, **allowed)
    alter_quotas(play, version, changes(entity, producer_byte_rate=5.0, no_such_rate=1.0))
    describe_quotas(play, entity, **allowed)
    for value in (0.0, 2.0**31, 1.5):
        alter_quotas(play, version, changes((("ip", "10.1.2.3"),), connection_creation_rate=value))
    alter_quotas(play, version, changes((("ip", "10.1.2.3"),), producer_byte_rate=1.0))
    describe_quotas(play, (("ip", "10.1.2.3"),))


@scenario(ALTER_QUOTAS)
def alter_client_quotas_of_what_is_no_entity(play: Play, version: int) -> None:
    wrong: list[Entity] = [
        (),
        (("group", "g"),),
        (("", "x"),),
        (("user", ""),),
        (("client-id", ""),),
        (("ip", ""),),
        (("ip", "no address"),),
        (("ip", "10.1.2.3"), ("user", "alice")),
        (("ip", "10.1.2.3"), ("client-id", "a")),
    ]
    for entity in wrong:
        alter_quotas(play, version, changes(entity, producer_byte_rate=1e9))
        alter_quotas(play, version, changes(entity))


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
