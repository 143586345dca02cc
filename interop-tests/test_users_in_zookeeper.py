"""Users and delegation tokens in ZooKeeper, shared by a real Kafka 3.9.2 and a broker of ours: each sees what
the other stores, and lets clients log in with it.
"""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from kcompat.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from kcompat.protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from kcompat.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from kcompat.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from kcompat.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from kcompat.security.credentials import SCRAM_SHA_256, SCRAM_SHA_512
from kcompat.security.scram_keys import salted_password
from support.eventually import eventually
from support.kcompat_broker import KcompatBroker
from support.raw_client import RawClient
from support.scram_logins import ScramLogin, tried
from zookeeper_kafka import ZooKeeper, ZooKeeperKafka

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat.security.credentials import ScramMechanism
    from support.broker_process import BrokerProcess

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.thorough("tests/unit/cluster has the nodes, tests/wire the logins"),
]

LISTENERS = {"SASL": "SASL_PLAINTEXT"}
LOGIN_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
SETTINGS = {
    "sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512",
    "listener.name.sasl.scram-sha-256.sasl.jaas.config": LOGIN_MODULE,
    "listener.name.sasl.scram-sha-512.sasl.jaas.config": LOGIN_MODULE,
    "delegation.token.secret.key": "the-secret-key",
}
Deletion = AlterUserScramCredentialsRequest.ScramCredentialDeletion
Upsertion = AlterUserScramCredentialsRequest.ScramCredentialUpsertion
ODD_NAMES = ("with space", "CN=a,O=b/c*~", "<default>")
Brokers = tuple["BrokerProcess", "BrokerProcess"]


@pytest.fixture(scope="module")
def brokers() -> Iterator[Brokers]:
    """A Kafka, which is the controller, and ours."""
    with (
        ZooKeeper() as zookeeper,
        ZooKeeperKafka(zookeeper, properties=SETTINGS, listeners=LISTENERS) as kafka,
    ):
        properties = {"broker.id": "2", "zookeeper.connect": zookeeper.bootstrap, **SETTINGS}
        with KcompatBroker(properties, listeners=LISTENERS) as ours:
            yield kafka, ours
            assert ours.is_running(), ours.log_tail()
            assert "Traceback" not in ours.log_tail(1_000_000), ours.log_tail(8000)


def call(broker: BrokerProcess, request: Any, version: int = 0) -> Any:
    """Ask on the listener without SASL."""
    with RawClient(("127.0.0.1", broker.port)) as client:
        return client.call(request, version)


def set_password(
    broker: BrokerProcess, name: str, password: str | None, mechanism: ScramMechanism = SCRAM_SHA_256
) -> None:
    """Set the password of a user, or delete it."""
    request = AlterUserScramCredentialsRequest([Deletion(name, mechanism.type)])
    if password is not None:
        salted = salted_password(mechanism, password, b"salt", 4096)
        request = AlterUserScramCredentialsRequest(
            upsertions=[Upsertion(name, mechanism.type, 4096, b"salt", salted)]
        )
    (row,) = call(broker, request).results
    assert row.error_code == 0, row.error_message


def users(broker: BrokerProcess) -> dict[str, list[int]]:
    """Return the mechanisms of all users."""
    return {
        row.user: sorted(info.mechanism for info in row.credential_infos)
        for row in call(broker, DescribeUserScramCredentialsRequest(None)).results
    }


def may_log_in(broker: BrokerProcess, name: str, password: str, extensions: str = "") -> bool:
    """Return whether a login succeeds; the listener of Kafka closes after some refusals."""
    try:
        return tried(broker.listeners["SASL"][1], SCRAM_SHA_256, name, password, extensions).error == 0
    except (ConnectionError, ValueError):
        return False


@pytest.mark.parametrize("first", [0, 1], ids=["kafka", "ours"])
def test_users_of_one_broker_are_those_of_the_other(brokers: Brokers, first: int) -> None:
    one, other = brokers[first], brokers[1 - first]
    name = f"user-{first}"
    set_password(one, name, "secret")
    eventually(lambda: users(other).get(name) == [1])
    for broker in brokers:
        eventually(lambda broker=broker: may_log_in(broker, name, "secret"))
        assert not may_log_in(broker, name, "wrong")
    set_password(other, name, "secret", SCRAM_SHA_512)
    eventually(lambda: users(one).get(name) == users(other).get(name) == [1, 2])
    set_password(other, name, None)
    eventually(lambda: users(one).get(name) == [2])
    for broker in brokers:
        eventually(lambda broker=broker: not may_log_in(broker, name, "secret"))
    set_password(one, name, None, SCRAM_SHA_512)
    eventually(lambda: name not in users(other))


def test_names_are_sanitized_alike(brokers: Brokers) -> None:
    for broker, name in zip((*brokers, brokers[1]), ODD_NAMES, strict=True):
        set_password(broker, name, "secret")
    for broker in brokers:
        eventually(lambda broker=broker: set(ODD_NAMES) <= users(broker).keys())
        for name in ODD_NAMES:
            eventually(lambda broker=broker, name=name: may_log_in(broker, name, "secret"))


def log_in(broker: BrokerProcess) -> ScramLogin:
    """Return a connection that owner has logged in on."""
    return ScramLogin(broker.listeners["SASL"][1], SCRAM_SHA_256, "owner", "secret")


def tokens(broker: BrokerProcess) -> dict[str, Any]:
    """Return secret, owner and times of all tokens by id, as one broker shows them."""
    with log_in(broker) as client:
        response = client.call(DescribeDelegationTokenRequest(None), 3)
    assert response.error_code == 0
    return {
        row.token_id: (
            row.hmac,
            row.principal_name,
            row.issue_timestamp,
            row.expiry_timestamp,
            row.max_timestamp,
        )
        for row in response.tokens
    }


@pytest.mark.parametrize("first", [0, 1], ids=["kafka", "ours"])
def test_tokens_of_one_broker_are_those_of_the_other(brokers: Brokers, first: int) -> None:
    one, other = brokers[first], brokers[1 - first]
    set_password(brokers[0], "owner", "secret")
    for broker in brokers:
        eventually(lambda broker=broker: may_log_in(broker, "owner", "secret"))
    with log_in(one) as client:
        token = client.call(CreateDelegationTokenRequest(max_lifetime_ms=-1), 3)
    assert token.error_code == 0
    eventually(lambda: token.token_id in tokens(other))
    assert tokens(one)[token.token_id] == tokens(other)[token.token_id]
    password = b64encode(token.hmac).decode()
    for broker in brokers:
        assert may_log_in(broker, token.token_id, password, ",tokenauth=true")
    with log_in(other) as client:
        renewed = client.call(RenewDelegationTokenRequest(token.hmac, 100_000), 2)
    assert renewed.error_code == ErrorCode.NONE
    eventually(lambda: tokens(one)[token.token_id][3] == renewed.expiry_timestamp_ms)
    with log_in(one) as client:
        assert client.call(ExpireDelegationTokenRequest(token.hmac, -1), 2).error_code == 0
    for broker in brokers:
        eventually(lambda broker=broker: token.token_id not in tokens(broker))
        eventually(lambda broker=broker: not may_log_in(broker, token.token_id, password, ",tokenauth=true"))
