"""Kafka's tools for SCRAM users and delegation tokens, from the first user to a client with a token."""

from __future__ import annotations

import re
import shutil
from contextlib import closing
from typing import TYPE_CHECKING, Final

import pytest

from support.eventually import eventually
from support.places import CACHE
from support.raw_client import RawClient
from support.raw_requests import create_topic
from tool_bench import CLASSES, VERSIONS
from tools_jvm import ToolsJvm, compile_runner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.broker_process import BrokerProcess

pytestmark = pytest.mark.thorough("tests/wire/test_delegation_tokens.py, by raw requests")

LISTENERS: Final = {"SASL": "SASL_PLAINTEXT"}
LOGIN_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule required"
SETTINGS: Final = {
    "sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512",
    "listener.name.sasl.scram-sha-256.sasl.jaas.config": f"{LOGIN_MODULE};",
    "listener.name.sasl.scram-sha-512.sasl.jaas.config": f"{LOGIN_MODULE};",
    "delegation.token.secret.key": "the-secret-key",
}
TOPIC: Final = "seen-with-a-token"


@pytest.fixture(scope="module")
def broker(new_broker: Callable[..., BrokerProcess]) -> Iterator[BrokerProcess]:
    with new_broker(properties=SETTINGS, listeners=LISTENERS) as broker:
        with RawClient((broker.host, broker.port)) as client:
            assert create_topic(client, TOPIC) == 0
        yield broker
        log = broker.log_path.read_text()
        assert broker.is_running(), broker.log_tail()
        assert "alice-secret" not in log
        assert "Traceback" not in log


class Tools:
    """The tools of one release, which log in to a broker."""

    def __init__(self, jvm: ToolsJvm, broker: BrokerProcess, directory: Path) -> None:
        self._jvm = jvm
        self._broker = broker
        self._directory = directory

    def run(self, tool: str, arguments: str, *, login: str | None = None, mechanism: str = "256") -> str:
        """Return what a tool prints that succeeds; with `login`, the options of its login module."""
        words = ["--bootstrap-server", f"{self._broker.host}:{self._broker.port}", *arguments.split()]
        if login is not None:
            config = self._directory / "client.properties"
            config.write_text(
                f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-{mechanism}\n"
                f"sasl.jaas.config={LOGIN_MODULE} {login};\n"
            )
            words[1] = self._broker.bootstrap_of("SASL")
            words += ["--command-config", str(config)]
        ended = self._jvm.run(CLASSES[tool], words)
        if ended.code != "0":
            raise ToolFailedError(ended.out + ended.err)
        return ended.out

    def topics(self, login: str, mechanism: str = "256") -> bool:
        """Return whether a client with this login sees the topic."""
        try:
            return TOPIC in self.run("topics", "--list", login=login, mechanism=mechanism).split()
        except ToolFailedError as failure:
            if "Authentication failed during authentication" not in str(failure):
                raise
            return False


class ToolFailedError(Exception):
    """A tool that did not succeed, with what it wrote."""


@pytest.fixture(scope="module", params=VERSIONS)
def tools(
    request: pytest.FixtureRequest, broker: BrokerProcess, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Tools]:
    version = request.param
    if shutil.which("javac") is None or not (CACHE / f"kafka-{version}" / "libs").is_dir():
        pytest.skip("install a Java 17 JDK and run python interop-tests/fetch.py jars")
    directory = tmp_path_factory.mktemp("tools")
    compile_runner(version, directory)
    with closing(ToolsJvm(version, directory)) as jvm:
        yield Tools(jvm, broker, directory)


ALICE: Final = 'username="alice" password="alice-secret"'


def test_from_the_first_user_to_a_client_with_a_token(tools: Tools) -> None:
    tools.run(
        "configs", "--alter --entity-type users --entity-name alice "
        "--add-config SCRAM-SHA-256=[iterations=8192,password=alice-secret]"
    )  # fmt: skip
    eventually(lambda: tools.topics(ALICE))
    assert "SCRAM-SHA-256=iterations=8192" in tools.run(
        "configs", "--describe --entity-type users", login=ALICE
    )
    assert not tools.topics('username="alice" password="wrong"')
    assert not tools.topics('username="nobody" password="alice-secret"')

    made = tools.run(
        "delegation-tokens", "--create --max-life-time-period -1 --renewer-principal User:bob", login=ALICE
    )
    found = re.search(r"\n(\S{22})\s+(\S{86}==)\s+User:alice", made)
    assert found is not None, made
    token_id, hmac = found.groups()
    token = f'username="{token_id}" password="{hmac}" tokenauth="true"'
    for mechanism in ("256", "512"):
        eventually(lambda mechanism=mechanism: tools.topics(token, mechanism))
    assert not tools.topics(f'username="{token_id}" password="wrong" tokenauth="true"')
    shown = tools.run("delegation-tokens", "--describe --owner-principal User:alice", login=ALICE)
    assert token_id in shown
    assert hmac in shown
    with pytest.raises(ToolFailedError, match="UnsupportedByAuthenticationException"):
        tools.run("delegation-tokens", "--create --max-life-time-period -1", login=token)

    renewed = tools.run("delegation-tokens", f"--renew --renew-time-period 60000 --hmac {hmac}", login=ALICE)
    assert "Completed renew operation" in renewed
    tools.run("delegation-tokens", f"--expire --expiry-time-period -1 --hmac {hmac}", login=ALICE)
    eventually(lambda: not tools.topics(token))
    tools.run("configs", "--alter --entity-type users --entity-name alice --delete-config SCRAM-SHA-256")
    eventually(lambda: not tools.topics(ALICE))
