"""Delegation tokens over the wire: they are made, log in, end, and outlive a restart."""

from __future__ import annotations

import logging
import time
from base64 import b64encode
from typing import TYPE_CHECKING, Any

import pytest

from kcompat import Broker
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from kcompat.protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from kcompat.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from kcompat.security.credentials import SCRAM_MECHANISMS, SCRAM_SHA_256, SCRAM_SHA_512
from support.eventually import eventually
from support.scram_logins import ScramLogin, ScramPorts, set_password, tried

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kcompat.security.credentials import ScramMechanism

KEYS = {"delegation.token.secret.key": "the-secret-key"}


@pytest.fixture(scope="module")
def ports() -> Iterator[ScramPorts]:
    ports = ScramPorts()
    settings = {**ports.settings, **KEYS, "delegation.token.expiry.check.interval.ms": "50"}
    with Broker(config=settings):
        set_password(ports.plain, "alice", "secret", SCRAM_SHA_256)
        yield ports


def alice(ports: ScramPorts) -> ScramLogin:
    """Return a connection that alice has logged in on."""
    return ScramLogin(ports.sasl, SCRAM_SHA_256, "alice", "secret")


def with_token(ports: ScramPorts, token: Any, mechanism: ScramMechanism = SCRAM_SHA_512) -> ScramLogin:
    """Return a connection that tries to log in with a token."""
    password = b64encode(token.hmac).decode()
    return ScramLogin(ports.sasl, mechanism, token.token_id, password, ",tokenauth=true")


def create(client: ScramLogin, lifetime_ms: int = -1) -> Any:
    """Return a new token."""
    token = client.call(CreateDelegationTokenRequest(max_lifetime_ms=lifetime_ms), 3)
    assert token.error_code == 0
    return token


def tokens(client: ScramLogin) -> list[str]:
    """Return the ids of the tokens that the client sees."""
    response = client.call(DescribeDelegationTokenRequest(owners=None), 3)
    assert response.error_code == 0
    return [token.token_id for token in response.tokens]


@pytest.mark.parametrize("mechanism", SCRAM_MECHANISMS, ids=lambda each: each.name)
def test_a_client_logs_in_with_a_token_and_may_not_make_others(
    ports: ScramPorts, mechanism: ScramMechanism
) -> None:
    with alice(ports) as client:
        token = create(client)
    for _ in range(2):
        with with_token(ports, token, mechanism) as client:
            assert client.error == ErrorCode.NONE
            assert 0 < client.answers[1].session_lifetime_ms <= 86_400_000
            assert client.call(MetadataRequest(topics=[]), 4).brokers
            refused = client.call(CreateDelegationTokenRequest(), 3)
            assert refused.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


def test_a_wrong_secret_and_an_unknown_token_are_refused_alike(ports: ScramPorts) -> None:
    with alice(ports) as client:
        token = create(client)
    extension = ",tokenauth=true"
    seen = {
        (login.error, login.answers[1].error_message, login.iterations)
        for login in (
            tried(ports.sasl, SCRAM_SHA_256, token.token_id, "wrong", extension),
            tried(ports.sasl, SCRAM_SHA_256, "unknown", "wrong", extension),
            tried(ports.sasl, SCRAM_SHA_256, "alice", "secret", extension),
            tried(ports.sasl, SCRAM_SHA_256, token.token_id, b64encode(token.hmac).decode()),
        )
    }
    assert {(error, iterations) for error, _, iterations in seen} == {
        (ErrorCode.SASL_AUTHENTICATION_FAILED, 4096)
    }
    assert len(seen) == 1


def test_a_token_is_renewed_and_ends(ports: ScramPorts) -> None:
    with alice(ports) as client:
        token = create(client)
        renewed = client.call(RenewDelegationTokenRequest(token.hmac, 1000), 2)
        assert renewed.error_code == 0
        assert renewed.expiry_timestamp_ms < token.expiry_timestamp_ms
        assert token.token_id in tokens(client)
        assert client.call(ExpireDelegationTokenRequest(token.hmac, -1), 2).error_code == 0
        assert token.token_id not in tokens(client)
    with with_token(ports, token) as client:
        assert client.error == ErrorCode.SASL_AUTHENTICATION_FAILED


def test_an_expired_token_is_removed(ports: ScramPorts) -> None:
    with alice(ports) as client:
        token = create(client, lifetime_ms=1)
        eventually(lambda: token.token_id not in tokens(client))


def test_tokens_outlive_a_restart_and_their_secrets_are_never_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ports = ScramPorts()
    caplog.set_level(logging.DEBUG)
    with Broker(data_dir=tmp_path, config={**ports.settings, **KEYS}):
        set_password(ports.plain, "alice", "secret", SCRAM_SHA_256)
        with alice(ports) as client:
            token = create(client)
    ports = ScramPorts()
    with Broker(data_dir=tmp_path, config={**ports.settings, **KEYS}):
        with with_token(ports, token) as client:
            assert client.error == ErrorCode.NONE
        with alice(ports) as client:
            assert tokens(client) == [token.token_id]
    secret = token.hmac
    for text in (repr(secret)[2:-1], b64encode(secret).decode(), secret.hex(), "the-secret-key"):
        assert text not in caplog.text


def test_a_token_whose_time_is_over_logs_in_to_a_session_that_is_over(tmp_path: Path) -> None:
    """Kafka does so too, until the token is removed."""
    ports = ScramPorts()
    with Broker(data_dir=tmp_path, config={**ports.settings, **KEYS}):
        set_password(ports.plain, "alice", "secret", SCRAM_SHA_256)
        with alice(ports) as client:
            token = create(client, lifetime_ms=1)
            expired = ErrorCode.DELEGATION_TOKEN_EXPIRED
            renewal = RenewDelegationTokenRequest(token.hmac, -1)
            eventually(lambda: client.call(renewal, 2).error_code == expired)
        with with_token(ports, token) as client:
            assert client.error == ErrorCode.NONE
            with pytest.raises(ConnectionError):
                ask_for_two_ms(client)


def ask_for_two_ms(client: ScramLogin) -> None:
    """Send requests until the clock has moved on: a session ends when its last millisecond is over."""
    begin = time.perf_counter()
    while time.perf_counter() - begin < 0.002:
        client.call(MetadataRequest(topics=[]), 4)
    client.call(MetadataRequest(topics=[]), 4)
