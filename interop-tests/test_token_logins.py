"""Clients of each family that log in with a signed token: a valid one, an expired one, and one for another
audience. ``--target=kafka`` plays them to a real Kafka.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import time
from typing import TYPE_CHECKING, Any, Final

import pytest
from aiokafka.abc import AbstractTokenProvider as AsyncTokenProvider
from aiokafka.admin import AIOKafkaAdminClient
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from kafka import KafkaAdminClient
from kafka.net.sasl.oauth import AbstractTokenProvider

from drivers.logins import LoginFailedError, MissingError, go
from kcompat.security.bearer.kafka_classes import LOGIN_MODULE, SIGNED_VALIDATORS
from kcompat.security.client_settings import ClientAccess, ClientLogin
from support.bearer_tokens import TokenIssuer
from support.eventually import limit_s
from support.places import CACHE
from support.raw_client import RawClient
from support.raw_requests import create_topic
from tools_jvm import ToolsJvm, compile_runner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.broker_process import BrokerProcess

pytestmark = pytest.mark.thorough("test_logins.py of tests/wire and test_signed.py have tokens of each kind")

TOPIC: Final = "seen-by-those-with-a-token"
LISTENER: Final = "SASL_PLAINTEXT"
PREFIX: Final = f"listener.name.{LISTENER.lower()}"
AUDIENCE: Final = "kafka"
WAIT_S: Final = 10

KAFKAJS: Final = """
const { Kafka, logLevel } = require(process.argv[1])
const [, , server, token] = process.argv
const kafka = new Kafka({
  brokers: [server], logLevel: logLevel.NOTHING, retry: { retries: 0 },
  sasl: { mechanism: 'oauthbearer', oauthBearerProvider: async () => ({ value: token }) },
})
const admin = kafka.admin()
admin.connect().then(() => admin.listTopics())
  .then(topics => { console.log(topics.join(' ')); return admin.disconnect() })
  .catch(error => { console.error(error.name); process.exit(1) })
"""


def confluent(bootstrap: str, token: str) -> list[str]:
    """List the topics with confluent-kafka."""
    failures: list[Any] = []
    settings = {
        "bootstrap.servers": bootstrap,
        "security.protocol": LISTENER,
        "sasl.mechanisms": "OAUTHBEARER",
        "oauth_cb": lambda _: (token, time.time() + 3600),
        "error_cb": failures.append,
    }
    client = AdminClient(settings)
    client.poll(0)
    try:
        return list(client.list_topics(timeout=limit_s(WAIT_S)).topics)
    except KafkaException as error:
        client.poll(0)
        raise LoginFailedError(f"{error} {failures}") from error


def kafka_python(bootstrap: str, token: str) -> list[str]:
    """List the topics with kafka-python."""

    class Provider(AbstractTokenProvider):  # type: ignore[misc]
        def token(self) -> str:
            return token

    try:
        client = KafkaAdminClient(
            bootstrap_servers=bootstrap,
            security_protocol=LISTENER,
            sasl_mechanism="OAUTHBEARER",
            sasl_oauth_token_provider=Provider(),
            bootstrap_timeout_ms=WAIT_S * 1000,
        )
        try:
            return list(client.list_topics())
        finally:
            client.close()
    except Exception as error:
        raise LoginFailedError(f"{error!r}") from error


def aiokafka(bootstrap: str, token: str) -> list[str]:
    """List the topics with aiokafka, which only times out where it is refused."""

    class Provider(AsyncTokenProvider):  # type: ignore[misc]
        async def token(self) -> str:
            return token

    async def listed() -> list[str]:
        client = AIOKafkaAdminClient(
            bootstrap_servers=bootstrap,
            security_protocol=LISTENER,
            sasl_mechanism="OAUTHBEARER",
            sasl_oauth_token_provider=Provider(),
            request_timeout_ms=WAIT_S * 1000,
        )
        try:
            async with asyncio.timeout(limit_s(WAIT_S)):
                await client.start()
                return list(await client.list_topics())
        except Exception as error:
            raise LoginFailedError(f"{error!r}") from error
        finally:
            await client.close()

    return asyncio.run(listed())


def kafkajs(bootstrap: str, token: str) -> list[str]:
    """List the topics with kafkajs."""
    module = CACHE / "node" / "node_modules" / "kafkajs"
    if shutil.which("node") is None or not module.is_dir():
        pytest.skip("install Node and run python interop-tests/fetch.py node")
    ended = subprocess.run(
        ["node", "-e", KAFKAJS, str(module), bootstrap, token],
        capture_output=True, text=True, timeout=limit_s(60), check=False,
    )  # fmt: skip
    if ended.returncode:
        raise LoginFailedError(ended.stderr)
    return ended.stdout.split()


def of_go(library: str) -> Callable[[str, str], list[str]]:
    """Return the function that lists the topics with a Go library."""

    def topics(bootstrap: str, token: str) -> list[str]:
        try:
            return go(library)(ClientAccess(bootstrap, LISTENER, login=ClientLogin("OAUTHBEARER", "", token)))
        except MissingError as missing:
            pytest.skip(str(missing))

    return topics


CLIENTS: Final[dict[str, Callable[[str, str], list[str]]]] = {
    "confluent": confluent,
    "kafka-python": kafka_python,
    "aiokafka": aiokafka,
    "kafkajs": kafkajs,
    "franz-go": of_go("franz"),
    "sarama": of_go("sarama"),
}


@pytest.fixture(scope="module")
def issuer() -> TokenIssuer:
    return TokenIssuer()


@pytest.fixture(scope="module")
def broker(
    new_broker: Callable[..., BrokerProcess], issuer: TokenIssuer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BrokerProcess]:
    keys = tmp_path_factory.mktemp("issuer") / "keys.json"
    keys.write_bytes(issuer.key_set())
    properties = {
        f"{PREFIX}.sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{PREFIX}.oauthbearer.sasl.jaas.config": f"{LOGIN_MODULE} required;",
        f"{PREFIX}.oauthbearer.sasl.server.callback.handler.class": SIGNED_VALIDATORS[0],
        f"{PREFIX}.oauthbearer.sasl.oauthbearer.jwks.endpoint.url": keys.as_uri(),
        "sasl.oauthbearer.expected.audience": AUDIENCE,
    }
    with new_broker(properties=properties, listeners={LISTENER: LISTENER}) as broker:
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


@pytest.mark.parametrize("name", CLIENTS)
def test_a_valid_token_logs_in_and_others_do_not(
    broker: BrokerProcess, issuer: TokenIssuer, name: str
) -> None:
    client, tokens = CLIENTS[name], tokens_of(issuer)
    bootstrap = broker.bootstrap_of(LISTENER)
    assert TOPIC in client(bootstrap, tokens.pop("valid"))
    for token in tokens.values():
        with pytest.raises(LoginFailedError):
            client(bootstrap, token)


def test_kafkas_own_client(broker: BrokerProcess, issuer: TokenIssuer, tmp_path: Path) -> None:
    """The token is in a file, where Kafka's client reads it."""
    if shutil.which("javac") is None or not (CACHE / "kafka-3.9.2" / "libs").is_dir():
        pytest.skip("install a Java 17 JDK and run python interop-tests/fetch.py jars")
    token, config, runner = tmp_path / "token", tmp_path / "client.properties", tmp_path / "runner"
    config.write_text(
        f"security.protocol={LISTENER}\n"
        "sasl.mechanism=OAUTHBEARER\n"
        f"sasl.jaas.config={LOGIN_MODULE} required;\n"
        "sasl.login.callback.handler.class="
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler\n"
        f"sasl.oauthbearer.token.endpoint.url={token.as_uri()}\n"
        "default.api.timeout.ms=15000\nrequest.timeout.ms=10000\n"
    )
    compile_runner("3.9.2", runner)
    jvm = ToolsJvm("3.9.2", runner)
    arguments = (
        "--bootstrap-server",
        broker.bootstrap_of(LISTENER),
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
