"""The entry scripts of the container image, called as those who start containers do, without a container."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kcompat.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kcompat.protocol.uuids import uuid_from_text
from kcompat.security.credentials import SCRAM_SHA_256
from support.broker_process import BrokerProcess
from support.eventually import eventually
from support.places import REPOSITORY
from support.ports import free_port
from support.raw_client import RawClient
from support.raw_requests import create_topic
from support.sasl import plain_token
from support.scram_logins import tried
from support.tls_authority import PASSWORD, Authority, as_pkcs12

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = REPOSITORY / "image" / "root"
CONFLUENT = ROOT / "etc" / "confluent" / "docker"
APACHE = ROOT / "etc" / "kafka" / "docker"
CLUSTER = "4L6g3nShT-eMCtK--X86sw"
PLACES = (ROOT / "usr" / "local" / "bin", ROOT / "usr" / "bin", Path(sys.executable).parent)
PATH = os.pathsep.join([*map(str, PLACES), os.environ["PATH"]])

pytestmark = pytest.mark.skipif(not ROOT.is_dir(), reason="the image is not part of this copy of the tests")


class Scripted(BrokerProcess):
    """A broker that a script starts, with the variables of the environment and no other setting.

    In the variables and the script's words {port} and {inner} stand for the ports of its two listeners.
    """

    name = "scripted"

    def __init__(self, directory: Path, variables: Mapping[str, str], *script: str | Path) -> None:
        super().__init__(directory, free_port())
        self.inner = free_port()
        self._script = [self._placed(str(word)) for word in script]
        listeners = f"PLAINTEXT://127.0.0.1:{self.port},BROKER://127.0.0.1:{self.inner}"
        self._variables = {
            "PATH": PATH,
            "KAFKA_LOG_DIRS": str(directory / "data"),
            "KAFKA_LISTENERS": listeners,
            "KAFKA_ADVERTISED_LISTENERS": listeners,
            "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "KAFKA_INTER_BROKER_LISTENER_NAME": "BROKER",
        } | {name: self._placed(value) for name, value in variables.items()}

    def _placed(self, text: str) -> str:
        """Return the text with the ports of the listeners."""
        return text.replace("{port}", str(self.port)).replace("{inner}", str(self.inner))

    def command(self) -> list[str]:
        """The script, with its variables."""
        return ["env", *(f"{key}={value}" for key, value in self._variables.items()), *self._script]

    def health(self) -> subprocess.CompletedProcess[str]:
        """Run the health check of the image, and return its result."""
        return subprocess.run(
            [*self.command()[: -len(self._script)], "kcompat", "container", "health"],
            capture_output=True,
            text=True,
            check=False,
        )

    def insist_on(self, sentence: str) -> None:
        """Wait until the log has that."""
        eventually(lambda: sentence in self.log_tail(), self.log_tail, 10)

    def stop(self, timeout_s: float = 20) -> None:
        """End what a shell has started, and so the shell; a script that has become the broker ends itself."""
        if self.is_running():
            children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
            for child in children:
                os.kill(int(child), signal.SIGTERM)
            if children:
                assert self._process is not None
                self._process.wait(timeout_s)
        super().stop(timeout_s)

    def ending(self) -> int | None:
        """The exit code after SIGTERM."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(20)


KRAFT = {
    "CLUSTER_ID": CLUSTER,
    "KAFKA_NODE_ID": "1",
    "KAFKA_PROCESS_ROLES": "broker,controller",
    "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@localhost:9094",
}


def test_the_command_of_the_image_with_the_variables_of_a_kraft_node(tmp_path: Path) -> None:
    variables = {**KRAFT, "KCOMPAT_TOPICS": "orders:3 users"}
    broker = Scripted(tmp_path, variables, APACHE / "run", "KAFKA_NODE_ID=3")
    before = broker.health()
    assert (before.returncode, "does not answer" in before.stderr) == (1, True)
    with broker:
        broker.insist_on("[BrokerLifecycleManager id=3] Transitioning from RECOVERY to RUNNING")
        broker.insist_on("[KafkaRaftServer nodeId=3] Kafka Server started")
        assert broker.log_tail().count("controller.quorum.voters") == 1
        assert broker.health().returncode == 0
        meta = (tmp_path / "data" / "meta.properties").read_text()
        assert f"broker.id=3\ncluster.id={CLUSTER}\n" in meta
        assert {"orders-0", "orders-1", "orders-2", "users-0"} < {
            path.name for path in (tmp_path / "data").iterdir()
        }
        assert broker.ending() == 0
    with broker:  # again, on what is there
        assert broker.health().returncode == 0


def test_an_argument_that_is_no_setting_is_refused(tmp_path: Path) -> None:
    broker = Scripted(tmp_path, {}, APACHE / "run", "server.properties")
    done = subprocess.run(broker.command(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "kcompat: 'server.properties' is not of the form NAME=VALUE\n"


@pytest.mark.parametrize(
    "ending", ["{docker}/configure\n{docker}/launch\n", "{docker}/run\n"], ids=["steps", "run"]
)
def test_a_start_script_for_confluents_image(tmp_path: Path, ending: str) -> None:
    """Testcontainers' modules copy such a script into a container, for ZooKeeper mode and for KRaft mode."""
    start = tmp_path / "start.sh"
    start.write_text(
        "zookeeper-server-start zookeeper.properties &\n"
        "export KAFKA_ZOOKEEPER_CONNECT='localhost:2181'\n"
        f". {CONFLUENT}/bash-config\n" + ending.format(docker=CONFLUENT)
    )
    with Scripted(
        tmp_path, {"KAFKA_BROKER_ID": "1", "KAFKA_LOG4J_ROOT_LOGLEVEL": "ERROR"}, "sh", start
    ) as broker:
        broker.insist_on("zookeeper-server-start: nothing to do")
        broker.insist_on("zookeeper.connect=localhost:2181 is this container")
        broker.insist_on("[KafkaServer id=1] started")


def test_the_entry_point_of_redpandas_image(tmp_path: Path) -> None:
    """With the options that Testcontainers' module of Python gives."""
    options = [
        *("--mode", "dev-container", "--smp", "1", "--memory", "1G"),
        *("--kafka-addr", "PLAINTEXT://127.0.0.1:{inner},OUTSIDE://127.0.0.1:{port}"),
        *("--advertise-kafka-addr", "PLAINTEXT://127.0.0.1:{inner},OUTSIDE://localhost:{port}"),
    ]
    with Scripted(tmp_path, {}, ROOT / "entrypoint.sh", "redpanda", "start", *options) as broker:
        broker.insist_on("Started Kafka API server")
        broker.insist_on("Successfully started Redpanda!")
        assert broker.ending() == 0


def test_the_variables_for_tls_logins_and_acls(tmp_path: Path) -> None:
    """A PKCS12 key store, a JAAS line and a JAAS file; the health check uses the first listener, with TLS."""
    authority = Authority()
    (tmp_path / "broker.p12").write_bytes(as_pkcs12(authority.broker))
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    (tmp_path / "jaas.conf").write_text(
        f'KafkaServer {{ {module} required user_alice="secret"; }};\n'
        f'broker.KafkaServer {{ {module} required username="admin" password="x" user_admin="x"; }};\n'
    )
    variables = {
        "KAFKA_LISTENERS": "BROKER://127.0.0.1:{inner},PLAINTEXT://127.0.0.1:{port}",
        "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "BROKER:SASL_SSL,PLAINTEXT:SASL_PLAINTEXT",
        "KAFKA_SSL_KEYSTORE_TYPE": "PKCS12",
        "KAFKA_SSL_KEYSTORE_LOCATION": str(tmp_path / "broker.p12"),
        "KAFKA_SSL_KEYSTORE_PASSWORD": PASSWORD,
        "KAFKA_SASL_ENABLED_MECHANISMS": "PLAIN",
        "KAFKA_SASL_MECHANISM_INTER_BROKER_PROTOCOL": "PLAIN",
        "KAFKA_LISTENER_NAME_PLAINTEXT_PLAIN_SASL_JAAS_CONFIG": f'{module} required user_bob="secret";',
        "KAFKA_OPTS": f"-Djava.security.auth.login.config={tmp_path}/jaas.conf",
        "KAFKA_AUTHORIZER_CLASS_NAME": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "KAFKA_SUPER_USERS": "User:admin",
    }
    with Scripted(tmp_path, KRAFT | variables, APACHE / "run") as broker:
        assert broker.health().returncode == 0
        with RawClient(("127.0.0.1", broker.port)) as client:
            assert logged_in(client, "alice", "secret") == ErrorCode.SASL_AUTHENTICATION_FAILED
        with RawClient(("127.0.0.1", broker.port)) as client:
            assert logged_in(client, "bob", "secret") == ErrorCode.NONE
            assert create_topic(client, "t") == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        with RawClient(("127.0.0.1", broker.inner), tls=authority.client_context()) as client:
            assert logged_in(client, "admin", "x") == ErrorCode.NONE
            assert create_topic(client, "t") == ErrorCode.NONE


def logged_in(client: RawClient, user: str, password: str) -> int:
    """Return the error code of a login by PLAIN."""
    client.call(SaslHandshakeRequest(mechanism="PLAIN"), 1)
    token = SaslAuthenticateRequest(auth_bytes=plain_token(user, password))
    return int(client.call(token, 2).error_code)


def storage(*words: str, **variables: str) -> str:
    """Run `kafka-storage` and return what it prints."""
    done = subprocess.run(
        ["kafka-storage", *words],
        env={"PATH": PATH, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    return done.stdout


def test_storage_needs_no_formatting() -> None:
    printed = storage("format", "--ignore-formatted", "-t", CLUSTER)
    assert printed == "kafka-storage: nothing to do, the broker keeps its metadata itself\n"
    assert len(uuid_from_text(storage("random-uuid").strip())) == 16


def test_users_are_added_before_the_first_start(tmp_path: Path) -> None:
    """A second call adds nobody: the cluster exists, and a user may have been deleted there."""
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    variables = {
        "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "BROKER:PLAINTEXT,PLAINTEXT:SASL_PLAINTEXT",
        "KAFKA_SASL_ENABLED_MECHANISMS": "SCRAM-SHA-256",
        "KAFKA_LISTENER_NAME_PLAINTEXT_SCRAM___SHA___256_SASL_JAAS_CONFIG": f"{module} required;",
    }
    place = {"KAFKA_LOG_DIRS": str(tmp_path / "data")}

    def add(name: str) -> str:
        user = f"SCRAM-SHA-256=[name={name},password=pass-of-{name}]"
        return storage("format", "-t", CLUSTER, "-c", "kafka.properties", "--add-scram", user, **place)

    printed = add("alice")
    assert "a new cluster begins with the users alice" in printed
    with Scripted(tmp_path, KRAFT | variables, APACHE / "run") as broker:
        assert tried(broker.port, SCRAM_SHA_256, "alice", "pass-of-alice").error == ErrorCode.NONE
    printed += add("bob")
    assert "are not added: the cluster exists already" in printed
    assert "pass-of" not in printed + broker.log_tail(1_000_000)
