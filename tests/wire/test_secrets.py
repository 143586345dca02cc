"""No secret is in what a broker prints, logs at any level, answers, or shows in its command line."""

from __future__ import annotations

import signal
import ssl
import subprocess
import sys
from base64 import b64encode
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import javaproperties
import pytest

from kcompat.instrumentation.recording.flight_file import flight_files
from kcompat.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from kcompat.protocol.messages.describe_configs import DescribeConfigsRequest
from kcompat.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kcompat.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kcompat.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kcompat.security.development import Authority
from support.eventually import eventually, limit_s
from support.ports import free_port
from support.raw_client import RawClient
from support.raw_requests import create_topic
from support.sasl import plain_token
from support.start_command import started

if TYPE_CHECKING:
    from collections.abc import Iterator

MARK = "s3cret"
"""Beginning of every secret that is a text."""
BROKER, SET = 4, 0
"""Kafka's numbers of the resource type of brokers, and of the operation that sets a key."""
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
SASL = "listener.name.sasl_plaintext"
AUTHORITY = Authority()
STORE = AUTHORITY.broker("b", [])
TLS = {
    "listeners": "SSL://127.0.0.1:0",
    "ssl.keystore.type": "PKCS12",
    "ssl.keystore.location": "server.properties",
}
"""Settings of a TLS listener whose key store cannot be read."""


def settings(port: int) -> dict[str, str]:
    """Settings with a secret in every place that takes one, known to the broker or not."""
    sasl, tls = f"SASL_PLAINTEXT://127.0.0.1:{port + 1}", f"SSL://127.0.0.1:{port + 2}"
    return {
        "listeners": f"PLAINTEXT://127.0.0.1:{port},{sasl},{tls}",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": STORE.key,
        "ssl.keystore.certificate.chain": STORE.certificate,
        "delegation.token.secret.key": f"{MARK}-10",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
        f"{SASL}.plain.sasl.jaas.config": f'{PLAIN} required user_alice="{MARK}-1";',
        f"{SASL}.scram-sha-256.sasl.jaas.config": f'{SCRAM} required password="{MARK}-2";',
        "password.encoder.secret": f"{MARK}-3",
        "ssl.keystore.pasword": f"{MARK}-4",
        f"{SASL}.ssl.truststore.pasword": f"{MARK}-5",
        "zookeeper.ssl.keystore.password": f"{MARK}-6",
    }


def log_in(port: int, user: str, password: str) -> bytes:
    """Log in by PLAIN and return the HMAC of a new delegation token, or be refused and return nothing."""
    with RawClient(("127.0.0.1", port)) as client, suppress(ConnectionError):
        client.call(SaslHandshakeRequest(mechanism="PLAIN"), 1)
        client.call(SaslAuthenticateRequest(auth_bytes=plain_token(user, password)), 1)
        return bytes(client.call(CreateDelegationTokenRequest(max_lifetime_ms=-1), 2).hmac)
    return b""


def answers(client: RawClient) -> Iterator[Any]:
    """Yield the responses to a request for all configs, and to requests that set secrets."""
    everything = DescribeConfigsRequest.DescribeConfigsResource(BROKER, "1", None)
    yield client.call(DescribeConfigsRequest([everything], True, True), 4)
    for key in ("ssl.keystore.password", f"{SASL}.ssl.keystore.password", "no.such.secret"):
        change = IncrementalAlterConfigsRequest.AlterableConfig(key, SET, f"{MARK}-7")
        resource = IncrementalAlterConfigsRequest.AlterConfigsResource(BROKER, "1", [change])
        yield client.call(IncrementalAlterConfigsRequest([resource]), 1)
    yield client.call(DescribeConfigsRequest([everything], True, True), 4)


def what_others_see(pid: int) -> str:
    """Return the command lines of a process and of its children, and the environments of the children."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    files = [Path(f"/proc/{pid}/cmdline")]
    files += [Path(f"/proc/{child}/{name}") for child in children for name in ("cmdline", "environ")]
    return "\n".join(file.read_text(errors="replace") for file in files)


@contextmanager
def running(*words: str, cwd: Path) -> Iterator[tuple[int, Path]]:
    """`kcompat start` until the end of the block: its process id, and the file with all that it prints.

    The block begins when the broker has printed where it listens.
    """
    output = cwd / "output.txt"
    with output.open("wb") as file:
        command = [sys.executable, "-m", "kcompat", "start", *words]
        process = subprocess.Popen(command, cwd=cwd, stdout=file, stderr=file)
    try:
        eventually(lambda: b"is listening on" in output.read_bytes() or process.poll(), "the broker listens")
        assert process.poll() is None, output.read_text()
        yield process.pid, output
        process.send_signal(signal.SIGTERM)
        assert process.wait(limit_s(30)) == 0, output.read_text()
    finally:
        process.kill()
        process.wait()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell where the command line is")
def test_marked_secrets_are_seen_nowhere(tmp_path: Path) -> None:
    port = free_port(3)
    (tmp_path / "server.properties").write_text(javaproperties.dumps(settings(port)))
    scram = f"SCRAM-SHA-256=[name=bob,password={MARK}-8]"
    override = f"password.encoder.old.secret={MARK}-9"
    data = ["--data-dir", str(tmp_path / "data"), "--log-level", "TRACE"]
    record = ["--record", str(tmp_path / "record")]
    words = ["server.properties", *data, *record, "--add-scram", scram, "--override", override]
    with running(*words, cwd=tmp_path) as (pid, output):
        seen = what_others_see(pid)
        token = log_in(port + 1, "alice", f"{MARK}-1")
        log_in(port + 1, "alice", f"{MARK}-wrong")
        log_in(port + 1, f"{MARK}-typed-as-user", "x")
        context = ssl.create_default_context(cadata=AUTHORITY.certificate)
        with RawClient(("127.0.0.1", port + 2), tls=context) as client:
            seen += "".join(map(repr, answers(client)))
            create_topic(client, "t")
    seen += output.read_text()
    dump = [sys.executable, "-m", "kcompat", "log", "dump", "--deep", str(tmp_path / "data")]
    seen += subprocess.run(dump, capture_output=True, text=True, check=False, timeout=limit_s(60)).stdout
    seen += "".join(file.read_bytes().decode("latin-1") for file in flight_files(tmp_path / "record"))
    assert "kcompat flight record" in seen
    assert "login refused" in seen
    assert "password.encoder.secret" in seen
    assert len(token) == 64
    for secret in (
        token.decode("latin-1"),
        token.hex(),
        b64encode(token).decode(),
        repr(token),
        *STORE.key.splitlines()[1:-1],
    ):
        assert secret not in seen
    assert MARK not in seen.replace(f"{MARK}-typed-as-user", ""), seen[seen.index(MARK) - 200 :][:400]


@pytest.mark.parametrize(
    "changes",
    [
        {f"{SASL}.plain.sasl.jaas.config": f'{PLAIN} required user_alice="{MARK}'},
        {f"{SASL}.plain.sasl.jaas.config": f'{MARK} required user_alice="{MARK}";'},
        {**TLS, "ssl.keystore.type": "PEM", "ssl.keystore.key": f"-----BEGIN PRIVATE KEY-----\n{MARK}"},
        {**TLS, "ssl.keystore.password": MARK},
        {**TLS, "ssl.keystore.type": "PEM", "ssl.key.password": MARK},
    ],
    ids=["quote", "module", "inline key", "store", "key"],
)
def test_a_refused_start_does_not_repeat_a_secret(changes: dict[str, str], tmp_path: Path) -> None:
    values = settings(free_port(3)) | changes
    (tmp_path / "server.properties").write_text(javaproperties.dumps(values))
    with started("server.properties", "--memory", "--log-level", "TRACE", cwd=tmp_path) as process:
        output, errors = process.communicate(timeout=limit_s(30))
    assert process.returncode == 1
    assert MARK not in output + errors


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell where the command line is")
@pytest.mark.parametrize(
    "more",
    [
        (),
        pytest.param(("--brokers", "2"), marks=pytest.mark.thorough("the same with processes")),
        ("--brokers", "2", "--processes"),
    ],
)
def test_passwords_of_users_are_in_their_files_alone(tmp_path: Path, more: tuple[str, ...]) -> None:
    words = ["--user", f"alice:{MARK}", "--port", str(free_port(3)), "--log-level", "TRACE", *more]
    with running(*words, cwd=tmp_path) as (pid, output):
        seen = what_others_see(pid)
        eventually(lambda: "--command-config" in output.read_text(), "it names the file for Kafka's tools")
    assert MARK not in seen + output.read_text()
    holders = [path for path in tmp_path.rglob("*") if path.is_file() and MARK.encode() in path.read_bytes()]
    assert [path.name for path in holders] == ["client-alice.properties"]
    assert holders[0].stat().st_mode & 0o077 == 0
