"""Clients of each family that log in with a signed token: a valid one, an expired one, and one for another
audience. ``--target=kafka`` plays them to a real Kafka.
"""

from __future__ import annotations

import shutil
import time
from functools import partial
from typing import TYPE_CHECKING, Final

import pytest

from drivers.logins import LoginFailedError, MissingError, aiokafka, confluent, go, kafka_python, kafkajs
from kcompat.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kcompat.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kcompat.security.client_settings import ClientAccess, ClientLogin
from kcompat.security.login_lines import BEARER_MODULE, SIGNED_VALIDATORS
from support.bearer_tokens import TokenIssuer
from support.places import CACHE
from support.raw_client import RawClient
from support.raw_requests import create_topic
from support.tls_authority import Authority, as_pem
from tools_jvm import ToolsJvm, compile_runner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.broker_process import BrokerProcess

pytestmark = pytest.mark.thorough("test_logins.py of tests/wire and test_signed.py have tokens of each kind")

TOPIC: Final = "seen-by-those-with-a-token"
AUDIENCE: Final = "kafka"
GENERAL: Final = (
    "Authentication failed during authentication due to invalid credentials with SASL mechanism OAUTHBEARER"
)
LISTENERS: Final = ("SASL_PLAINTEXT", "SASL_SSL")
CLIENTS: Final = {
    "confluent": confluent,
    "kafka-python": kafka_python,
    "aiokafka": aiokafka,
    "kafkajs": kafkajs,
    "franz-go": go("franz"),
    "sarama": go("sarama"),
    "kafka-go": go("kafkago"),
}


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture(scope="module")
def issuer() -> TokenIssuer:
    return TokenIssuer()


@pytest.fixture(scope="module")
def broker(
    new_broker: Callable[..., BrokerProcess],
    issuer: TokenIssuer,
    authority: Authority,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[BrokerProcess]:
    directory = tmp_path_factory.mktemp("issuer")
    keys, key_store = directory / "keys.json", directory / "broker.pem"
    keys.write_bytes(issuer.key_set())
    key_store.write_bytes(as_pem(authority.broker))
    properties = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(key_store),
        "sasl.oauthbearer.expected.audience": AUDIENCE,
    }
    for listener in LISTENERS:
        prefix = f"listener.name.{listener.lower()}"
        properties |= {
            f"{prefix}.sasl.enabled.mechanisms": "OAUTHBEARER",
            f"{prefix}.oauthbearer.sasl.jaas.config": f"{BEARER_MODULE} required;",
            f"{prefix}.oauthbearer.sasl.server.callback.handler.class": SIGNED_VALIDATORS[0],
            f"{prefix}.oauthbearer.sasl.oauthbearer.jwks.endpoint.url": keys.as_uri(),
        }
    with new_broker(properties=properties, listeners={each: each for each in LISTENERS}) as broker:
        with RawClient((broker.host, broker.port)) as client:
            assert create_topic(client, TOPIC) == 0
        yield broker
        assert "Traceback" not in broker.log_path.read_text(), broker.log_tail(8000)


def tokens_of(issuer: TokenIssuer) -> dict[str, str]:
    """Return a valid token and others that are not."""
    now = time.time()
    claims = {"sub": "alice", "scope": "all", "iat": now - 600, "exp": now + 600, "aud": AUDIENCE}
    return {
        "valid": issuer.token(**claims),
        "expired": issuer.token(**{**claims, "exp": now - 60}),
        "for others": issuer.token(**{**claims, "aud": "others"}),
    }


def access_to(broker: BrokerProcess, listener: str, ca: Path, token: str) -> ClientAccess:
    """Return what a client needs to log in at a listener with a token."""
    return ClientAccess(
        broker.bootstrap_of(listener),
        listener,
        str(ca) if listener == "SASL_SSL" else None,
        login=ClientLogin("OAUTHBEARER", "", token),
    )


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize("listener", LISTENERS)
def test_a_valid_token_logs_in_and_others_do_not(
    broker: BrokerProcess, issuer: TokenIssuer, authority: Authority, tmp_path: Path, listener: str, name: str
) -> None:
    client, tokens = CLIENTS[name], tokens_of(issuer)
    access = partial(access_to, broker, listener, authority.trust_in(tmp_path))
    try:
        assert TOPIC in client(access(tokens.pop("valid")))
    except MissingError as missing:
        pytest.skip(str(missing))
    for token in tokens.values():
        with pytest.raises(LoginFailedError):
            client(access(token))


@pytest.mark.parametrize(
    ("message", "error", "text"),
    [
        ("\x01", 58, '{"status":"invalid_token"}'),
        ("\\x01", 58, GENERAL),  # what sarama sends
        ("", 58, GENERAL),
        ("n,,\x01auth=Bearer {valid}\x01\x01", 0, ""),
    ],
)
def test_after_a_refused_token(
    broker: BrokerProcess, issuer: TokenIssuer, message: str, error: int, text: str
) -> None:
    """Acknowledge the refusal, or go on with another message, which is read as a first one."""
    tokens = tokens_of(issuer)
    with RawClient((broker.host, broker.listeners["SASL_PLAINTEXT"][1])) as client:
        client.call(SaslHandshakeRequest(mechanism="OAUTHBEARER"), 1)
        first = SaslAuthenticateRequest(auth_bytes=f"n,,\x01auth=Bearer {tokens['expired']}\x01\x01".encode())
        answer = client.call(first, 2)
        assert (answer.error_code, answer.auth_bytes) == (0, b'{"status":"invalid_token"}')
        second = SaslAuthenticateRequest(auth_bytes=message.format(**tokens).encode())
        answer = client.call(second, 2)
        assert (answer.error_code, answer.error_message) == (error, text)


@pytest.mark.parametrize("listener", LISTENERS)
def test_kafkas_own_client(
    broker: BrokerProcess, issuer: TokenIssuer, authority: Authority, tmp_path: Path, listener: str
) -> None:
    """The token is in a file, where Kafka's client reads it."""
    if shutil.which("javac") is None or not (CACHE / "kafka-3.9.2" / "libs").is_dir():
        pytest.skip("install a Java 17 JDK and run python interop-tests/fetch.py jars")
    token, config, runner = tmp_path / "token", tmp_path / "client.properties", tmp_path / "runner"
    config.write_text(
        f"security.protocol={listener}\n"
        f"ssl.truststore.type=PEM\nssl.truststore.location={authority.trust_in(tmp_path)}\n"
        "sasl.mechanism=OAUTHBEARER\n"
        f"sasl.jaas.config={BEARER_MODULE} required;\n"
        "sasl.login.callback.handler.class="
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler\n"
        f"sasl.oauthbearer.token.endpoint.url={token.as_uri()}\n"
        "default.api.timeout.ms=15000\nrequest.timeout.ms=10000\n"
    )
    compile_runner("3.9.2", runner)
    jvm = ToolsJvm("3.9.2", runner)
    arguments = (
        "--bootstrap-server",
        broker.bootstrap_of(listener),
        "--command-config",
        str(config),
        "--list",
    )
    try:
        for kind, text in tokens_of(issuer).items():
            token.write_text(text)
            ended = jvm.run("org.apache.kafka.tools.TopicCommand", arguments)
            if kind == "valid":
                assert TOPIC in ended.out.split(), ended.err
            else:
                assert "SaslAuthenticationException" in ended.out + ended.err
                assert "invalid_token" in ended.out + ended.err
    finally:
        jvm.close()
