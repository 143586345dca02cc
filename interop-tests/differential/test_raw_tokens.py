"""SCRAM messages and requests about delegation tokens, played to a SASL listener of a real Kafka and of
kcompat; the answers must be the same.
"""

from __future__ import annotations

import time
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

import pytest

from differential.play import Play
from differential.sasl_play import (
    PROPERTIES,
    TOKEN,
    USERS,
    SaslPlay,
    handshake,
    insist_on_same,
    scram,
    side_by_side,
    transcript,
)
from kcompat.protocol.api_keys import ApiKey
from kcompat.security.credentials import SCRAM_MECHANISMS, SCRAM_SHA_256
from kcompat.security.operations import Operation, ResourceType
from kcompat.security.scram_keys import salted_password
from support.scram_client import ScramClient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.broker_process import BrokerProcess

    Scene = Callable[["SaslPlay"], None]

CREATE, RENEW = ApiKey.CREATE_DELEGATION_TOKEN, ApiKey.RENEW_DELEGATION_TOKEN
EXPIRE, DESCRIBE = ApiKey.EXPIRE_DELEGATION_TOKEN, ApiKey.DESCRIBE_DELEGATION_TOKEN
HUGE: Final = 2**62


@pytest.fixture(scope="module")
def brokers() -> Iterator[tuple[BrokerProcess, BrokerProcess]]:
    """Two brokers that have the SCRAM user dora and a secret key for tokens."""
    with side_by_side(PROPERTIES) as both:
        for broker in both:
            _add_dora(broker)
        yield both


def _add_dora(broker: BrokerProcess) -> None:
    play = Play(broker.port, "setup")
    salted = salted_password(SCRAM_SHA_256, "secret", b"salt", 4096)
    user = {"name": "dora", "mechanism": 1, "iterations": 4096, "salt": b"salt", "salted_password": salted}
    play.do(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, upsertions=[user])
    key = ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS
    play.until(lambda: len(play.do(key, 0, users=None).results) == 1, "the user")
    play.close()


# Logins


def scram_logins(play: SaslPlay) -> None:
    for number, client in enumerate(
        (
            ScramClient("dora", "secret"),
            ScramClient("dora", "secret", header="n,a=dora,"),
            ScramClient("dora", "secret", extensions=",tokenauth=false"),
            ScramClient("dora", "secret", extensions=",a=b"),
        )
    ):
        scram(play, client, on=f"{number}")
        play.call(ApiKey.HEARTBEAT, 0, on=f"{number}", group_id="", member_id="", generation_id=0)


def refused_scram_logins(play: SaslPlay) -> None:
    scram(play, ScramClient("dora", "wrong"))
    play.reply("the end")
    scram(play, ScramClient("dora", "secret", header="n,a=alice,"))
    for replaced in (
        {"r": "other"},
        {"r": ""},
        {"p": "*"},
        {"p": b64encode(bytes(32)).decode()},
        {"c": "*"},
    ):
        scram(play, ScramClient("dora", "secret"), **replaced)
        play.reply("the end")


def malformed_first_messages(play: SaslPlay) -> None:
    for first in (
        b"",
        b"n,,n=dora",
        b"n,,n=,r=abc",
        b"n,,n=do=ra,r=abc",
        b"n,,n=dora,r=a b",
        b"n,,n=dora,r=abc,",
        b"y,,n=dora,r=abc",
        b"p=tls-unique,,n=dora,r=abc",
        b"\0dora\0secret",
    ):
        handshake(play)
        play.call(TOKEN, 1, auth_bytes=first)
        play.reply("the end")


# Tokens


def relative(response: Any) -> None:
    """Replace the random parts of a new token by their sizes, and its times by those since its issue."""
    response.hmac = bytes(len(response.hmac))
    response.token_id = "x" * len(response.token_id)
    issued = response.issue_timestamp_ms
    if issued > 0:
        response.expiry_timestamp_ms -= issued
        response.max_timestamp_ms -= issued
        response.issue_timestamp_ms = 1


def create(play: SaslPlay, user: str = "alice", version: int = 3, **fields: Any) -> Any:
    """Record the answer to a request for a token; return the token."""
    kept: dict[str, Any] = {}

    def keep(response: Any) -> None:
        kept.update(hmac=response.hmac, token_id=response.token_id, max=response.max_timestamp_ms)
        relative(response)

    play.call(CREATE, version, on=play.log_in(user), trim=keep, **{"max_lifetime_ms": -1, **fields})
    if kept["token_id"]:
        play.until(lambda: kept["token_id"] in described(play, user), "the token")
    return kept


def described(play: SaslPlay, user: str) -> list[str]:
    """Return the ids of the tokens that a user sees."""
    return [token.token_id for token in play.do(DESCRIBE, 3, on=play.log_in(user), owners=None).tokens]


def change(
    play: SaslPlay, key: ApiKey, token: dict[str, Any], period_ms: int, user: str = "alice", version: int = 2
) -> None:
    """Record the answer to a request that renews or expires a token; its time is rounded to 5 s from now."""

    def rounded(response: Any) -> None:
        if response.expiry_timestamp_ms == token["max"]:
            response.expiry_timestamp_ms = "the maximum"
        elif response.expiry_timestamp_ms > 0:
            response.expiry_timestamp_ms = round((response.expiry_timestamp_ms / 1000 - time.time()) / 5)

    field = "renew_period_ms" if key is RENEW else "expiry_time_period_ms"
    on = play.log_in(user)
    play.call(key, version, on=on, trim=rounded, hmac=token["hmac"], **{field: period_ms})


def new_tokens(play: SaslPlay) -> None:
    for version in range(4):
        create(play, version=version)
    for lifetime_ms in (0, 1000, 5000, 20_000_000, 200_000_000, HUGE):
        create(play, max_lifetime_ms=lifetime_ms)
    renewers = [{"principal_type": "User", "principal_name": name} for name in ("bob", "carol")]
    create(play, renewers=renewers)
    create(play, renewers=[*renewers, {"principal_type": "Group", "principal_name": "x"}])
    create(play, owner_principal_type="User", owner_principal_name="bob")
    create(play, owner_principal_type="", owner_principal_name="")


def renewed_tokens(play: SaslPlay) -> None:
    renewers = [{"principal_type": "User", "principal_name": "bob"}]
    token = create(play, renewers=renewers)
    for period_ms in (-1, 0, 5_000, 1_000_000, 20_000_000, HUGE):
        change(play, RENEW, token, period_ms)
    for version in range(3):
        change(play, RENEW, token, 5_000, version=version)
    change(play, RENEW, token, 50_000, "bob")
    change(play, RENEW, token, 50_000, "carol")
    for hmac in (b"", b"unknown"):
        change(play, RENEW, {**token, "hmac": hmac}, 50_000)


def expired_tokens(play: SaslPlay) -> None:
    renewers = [{"principal_type": "User", "principal_name": "bob"}]
    token = create(play, renewers=renewers)
    for period_ms in (1_000_000, 20_000_000, 2_000_000_000):
        change(play, EXPIRE, token, period_ms)
    change(play, EXPIRE, token, 50_000, "bob")
    change(play, EXPIRE, token, 50_000, "carol")
    for hmac in (b"", b"unknown"):
        change(play, EXPIRE, {**token, "hmac": hmac}, -1)
    for version in range(3):
        removed = create(play, renewers=renewers)
        change(play, EXPIRE, removed, -version - 1, ("alice", "bob", "alice")[version], version)
        play.until(lambda removed=removed: removed["token_id"] not in described(play, "alice"), "its end")
        change(play, EXPIRE, removed, -1)
        change(play, RENEW, removed, -1)
    short = create(play, renewers=renewers, max_lifetime_ms=500)
    time.sleep(0.6)
    for user in ("carol", "alice"):
        change(play, RENEW, short, -1, user)
        change(play, EXPIRE, short, 1000, user)
        change(play, EXPIRE, short, -1, user)


def shown_tokens(play: SaslPlay) -> None:
    create(
        play, "carol", renewers=[{"principal_type": "User", "principal_name": "bob"}], max_lifetime_ms=777_000
    )

    def only_mine(response: Any) -> None:
        rows = [row for row in response.tokens if row.max_timestamp - row.issue_timestamp == 777_000]
        for row in rows:
            row.hmac, row.token_id = bytes(len(row.hmac)), "x" * len(row.token_id)
            row.expiry_timestamp -= row.issue_timestamp
            row.max_timestamp -= row.issue_timestamp
            row.issue_timestamp = 1
        response.tokens = rows

    owners = [{"principal_type": "User", "principal_name": name} for name in USERS]
    for user in USERS:
        for asked in (None, [], owners, *([owner] for owner in owners)):
            for version in range(4) if asked is None else (3,):
                play.call(DESCRIBE, version, on=play.log_in(user), owners=asked, trim=only_mine)


def token_logins(play: SaslPlay) -> None:
    token = create(play)
    password, extension = b64encode(token["hmac"]).decode(), ",tokenauth=true"
    for mechanism in SCRAM_MECHANISMS:
        on = mechanism.name
        client = ScramClient(token["token_id"], password, mechanism.hash, extensions=extension)
        scram(play, client, mechanism.name, on)
        play.call(CREATE, 3, on=on, trim=relative)
        play.call(RENEW, 2, on=on, hmac=token["hmac"], renew_period_ms=-1)
        play.call(EXPIRE, 2, on=on, hmac=token["hmac"], expiry_time_period_ms=-1)
        play.call(DESCRIBE, 3, on=on, owners=None)
    scram(play, ScramClient(token["token_id"], "wrong", extensions=extension))
    play.reply("the end")


def sessions_of_expired_tokens(play: SaslPlay) -> None:
    token = create(play, max_lifetime_ms=300)
    time.sleep(0.4)
    client = ScramClient(token["token_id"], b64encode(token["hmac"]).decode(), extensions=",tokenauth=true")
    scram(play, client)
    time.sleep(0.01)
    play.call(ApiKey.HEARTBEAT, 0, group_id="", member_id="", generation_id=0)


def tokens_without_a_secret_key(play: SaslPlay) -> None:
    token = {"hmac": b"hmac", "max": -2}
    group = {"principal_type": "Group", "principal_name": "x"}
    for version in range(4):
        create(play, version=version)
        play.call(DESCRIBE, version, on=play.log_in("alice"), owners=None)
    create(play, owner_principal_type="User", owner_principal_name="bob")
    create(play, renewers=[group])
    play.call(DESCRIBE, 3, on=play.log_in("alice"), owners=[])
    for version in range(3):
        change(play, RENEW, token, -1, version=version)
        change(play, EXPIRE, token, -1, version=version)


def allow(play: SaslPlay, operation: int, kind: int, name: str) -> None:
    """Allow alice an operation on a resource; clients of the listener without SASL are super users."""
    acl = {
        "resource_type": kind,
        "resource_name": name,
        "resource_pattern_type": 3,
        "principal": "User:alice",
        "host": "*",
        "operation": operation,
        "permission_type": 3,
    }
    made = play.open.do(ApiKey.CREATE_ACLS, 3, creations=[acl])
    assert [row.error_code for row in made.results] == [0]


def tokens_with_acls(play: SaslPlay) -> None:
    bob = {"owner_principal_type": "User", "owner_principal_name": "bob"}
    alice = play.log_in("alice")
    create(play)
    create(play, **bob)
    of_bob = create(play, "bob", max_lifetime_ms=555_000)
    create(play, "bob", max_lifetime_ms=444_000)

    def lifetimes(response: Any) -> None:
        response.tokens = sorted(row.max_timestamp - row.issue_timestamp for row in response.tokens)

    def describe() -> None:
        play.call(DESCRIBE, 3, on=alice, owners=None, trim=lifetimes)

    describe()
    allow(play, Operation.DESCRIBE, ResourceType.DELEGATION_TOKEN, of_bob["token_id"])
    play.until(lambda: of_bob["token_id"] in described(play, "alice"), "the ACL of the token")
    describe()
    allow(play, Operation.DESCRIBE_TOKENS, ResourceType.USER, "User:bob")
    play.until(lambda: len(described(play, "alice")) == 3, "the ACL of the user")
    describe()
    create(play, **bob)
    change(play, RENEW, of_bob, -1)
    change(play, EXPIRE, of_bob, -1)
    allow(play, Operation.CREATE_TOKENS, ResourceType.USER, "User:bob")
    fields = {**bob, "renewers": [], "max_lifetime_ms": -1}
    play.until(lambda: play.do(CREATE, 3, on=alice, **fields).error_code == 0, "the ACL to create tokens")
    create(play, **bob)
    create(play, owner_principal_type="User", owner_principal_name="carol")


SCENES: Final[tuple[Scene, ...]] = (
    scram_logins,
    refused_scram_logins,
    malformed_first_messages,
    new_tokens,
    renewed_tokens,
    expired_tokens,
    shown_tokens,
    token_logins,
    sessions_of_expired_tokens,
)


@pytest.mark.thorough("tests/wire/test_delegation_tokens.py, without a Kafka beside it")
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
def test_same_answers(brokers: tuple[BrokerProcess, BrokerProcess], scene: Scene) -> None:
    compare(brokers, scene)


@pytest.mark.thorough("tests/unit/api has the four requests without a secret key")
def test_same_answers_without_a_secret_key() -> None:
    with side_by_side({name: each for name, each in PROPERTIES.items() if "token" not in name}) as both:
        compare(both, tokens_without_a_secret_key)


@pytest.mark.thorough("tests/unit/api has the four requests with an authorizer")
def test_same_answers_with_acls() -> None:
    authorizer = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    with side_by_side({**PROPERTIES, **authorizer}) as both:
        compare(both, tokens_with_acls)


def compare(brokers: tuple[BrokerProcess, BrokerProcess], scene: Scene) -> None:
    """Play a scene to both brokers, and compare their answers."""
    with ThreadPoolExecutor(2) as threads:
        theirs, mine = threads.map(
            lambda broker: transcript(SaslPlay(broker, scene.__name__), scene), brokers
        )
    insist_on_same(theirs, mine)
