"""The container image, started by Testcontainers' modules as they are, and by Docker's own commands."""

from __future__ import annotations

import importlib
import itertools
import json
import re
import subprocess
import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import kafka
import pytest
from testcontainers.community.kafka import KafkaContainer, RedpandaContainer

from commands import QUICK_JVM
from container_engine import IMAGE, NoEngineError, build_image, compose_command, docker, docker_engine
from drivers.kafka_python import JOIN_MS, subscribed
from kcompat.testing import KcompatContainer
from real_kafka import RealKafka
from support.broker_process import answers_api_versions
from support.control_client import ControlClient
from support.eventually import Patience, eventually
from support.page_blocks import blocks
from support.places import CACHE, REPOSITORY
from support.ports import free_port
from support.tls_authority import PASSWORD, Authority, as_pkcs12

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MODULES = REPOSITORY / "interop-tests" / "java" / "containers" / "Modules.java"
JARS = CACHE / "testcontainers" / "libs"
PAGE = REPOSITORY / "docs" / "how-to" / "replace-a-kafka-container.md"
JAVA_PAGE = REPOSITORY / "docs" / "how-to" / "recipes" / "test-with-java.md"
COMPOSE_PAGE = REPOSITORY / "docs" / "how-to" / "recipes" / "run-with-compose.md"
COMPOSE = compose_command()
VALUES = [b"%d" % number for number in range(100)]
READ_FIRST = 60
PATIENCE_S = 60
GROUP_PATIENCE_S = 150
"""Longer than a group waits for a member of which nothing is heard."""
numbers = itertools.count(1)

pytestmark = pytest.mark.timeout(420)


@pytest.fixture(scope="module", autouse=True)
def image() -> Iterator[str]:
    """The name of the image, with an engine that has it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(
            "TESTCONTAINERS_RYUK_DISABLED", "true"
        )  # it is another image, and clears up after crashes
        patch.setenv("TESTCONTAINERS_HOST_OVERRIDE", "127.0.0.1")
        try:
            with docker_engine() as is_ours:
                build_image(is_ours=is_ours)
                yield IMAGE
        except NoEngineError as error:
            pytest.skip(str(error))


def consumed(bootstrap: str, topic: str, most: int) -> list[tuple[int, bytes]]:
    """Return offsets and values that a group reads from its committed offset on, at most so many, and
    commit.
    """
    consumer = subscribed(
        topic,
        bootstrap_servers=bootstrap,
        group_id=f"{topic}-readers",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        max_poll_records=most,
    )
    read: list[tuple[int, bytes]] = []
    with closing(consumer):
        patience = Patience(GROUP_PATIENCE_S)
        while len(read) < most and patience.lasts:
            for records in consumer.poll(JOIN_MS, max_records=most - len(read)).values():
                read += [(record.offset, record.value) for record in records]
        consumer.commit()
    return read


def await_answer(address: str) -> None:
    host, _, port = address.rpartition(":")
    eventually(lambda: answers_api_versions(int(port), host), f"{address} answers", PATIENCE_S)


def exercise(bootstrap: str, restart: Callable[[], object]) -> None:
    """Produce, consume with a group, restart, and consume on."""
    topic = f"t-{next(numbers)}"
    with closing(kafka.KafkaProducer(bootstrap_servers=bootstrap, acks="all")) as producer:
        sent = [producer.send(topic, value) for value in VALUES]
        assert [future.get(PATIENCE_S).offset for future in sent] == list(range(len(VALUES)))
    records = list(enumerate(VALUES))
    assert consumed(bootstrap, topic, READ_FIRST) == records[:READ_FIRST]
    restart()
    await_answer(bootstrap)
    assert consumed(bootstrap, topic, len(records) - READ_FIRST) == records[READ_FIRST:]


def exercise_container(bootstrap: str, container: str, patience_s: int = 0) -> None:
    """Exercise a container: without patience its restart is that after a kill."""
    try:
        exercise(bootstrap, lambda: docker("restart", "-t", str(patience_s), container))
    finally:
        said = logs(container)
        print(said)  # for whoever reads of a failure
    assert "Traceback" not in said


def logs(container: str) -> str:
    done = subprocess.run(["docker", "logs", container], capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


@pytest.mark.thorough("the test of the containers is that of the other tests here")
def test_a_real_kafka() -> None:
    """A real Kafka passes the test of the containers, too."""
    quickly = {"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "1"}
    with RealKafka(properties=quickly) as broker:

        def restart() -> None:
            broker.stop()
            broker.start()

        exercise(broker.bootstrap, restart)


def test_the_module_of_python_in_zookeeper_mode() -> None:
    exercise_module(KafkaContainer(IMAGE), 9093)


@pytest.mark.thorough("the same classes")
def test_the_modules_of_python_from_their_old_path() -> None:
    with pytest.warns(DeprecationWarning, match=r"testcontainers\.kafka is deprecated"):
        module = importlib.import_module("testcontainers.kafka")
    assert (module.KafkaContainer, module.RedpandaContainer) == (KafkaContainer, RedpandaContainer)


def test_the_module_of_python_in_the_mode_of_kraft() -> None:
    exercise_module(KafkaContainer(IMAGE).with_kraft(), 9093)


def test_the_module_of_python_for_redpanda() -> None:
    exercise_module(RedpandaContainer(IMAGE), 9092)


def test_our_own_module() -> None:
    exercise_module(KcompatContainer(IMAGE).with_kraft(), 9093)


def test_the_page() -> None:
    """The suite of the page runs, and its Java lines are those that the test of Java's modules runs."""
    text = PAGE.read_text()
    docker("tag", IMAGE, "kcompat")
    (suite,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(compile(suite, str(PAGE), "exec"), {})
    java = re.sub(r"\bimage\b", 'DockerImageName.parse("kcompat")', MODULES.read_text())
    changes = re.findall(r"```diff\n(.*?)```", text, re.DOTALL)
    assert len(changes) == 4
    for change in changes:
        added = [line[1:] for line in change.splitlines() if line.startswith("+")]
        assert len(added) <= 5
        assert all(line in suite or line in java for line in added), added


def exercise_module(module: KafkaContainer | RedpandaContainer, port: int) -> None:
    """At a port that stays the same over a restart."""
    module.with_bind_ports(port, free_port())
    try:
        module.start(PATIENCE_S)
        exercise_container(module.get_bootstrap_server(), module.get_container_id())
    finally:
        module.stop()


@pytest.mark.thorough("tests/wire/test_container_scripts.py runs their start scripts")
@pytest.mark.skipif(
    not JARS.is_dir(), reason="install what python interop-tests/fetch.py testcontainers fetches"
)
def test_the_modules_of_java(tmp_path: Path) -> None:
    # Testcontainers writes how it found Docker to .testcontainers.properties in the user's home.
    command = [*QUICK_JVM, f"-Duser.home={tmp_path}", "-cp", f"{JARS}/*", str(MODULES)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as java:
        assert java.stdin is not None
        assert java.stdout is not None
        for module in ("apache", "confluent", "redpanda"):
            print(module, IMAGE, free_port(), file=java.stdin, flush=True)
            said = java.stdout.readline().split()
            assert said[:1] == ["started"], (module, said)
            _, container, bootstrap = said
            exercise_container(bootstrap.removeprefix("PLAINTEXT://"), container)
            print("stop", file=java.stdin, flush=True)
            assert java.stdout.readline() == "stopped\n"
        java.stdin.close()
        assert java.wait(PATIENCE_S) == 0


@contextmanager
def running(*options: str) -> Iterator[tuple[str, str]]:
    """A container of the image that Docker runs; its id and its address."""
    port = free_port()
    container = docker(
        "run", "-d", "-p", f"127.0.0.1:{port}:9092",
        "-e", f"KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://127.0.0.1:{port}", "-e", "KAFKA_LISTENERS=PLAINTEXT://:9092",
        *options, IMAGE,
    ).strip()  # fmt: skip
    try:
        yield container, f"127.0.0.1:{port}"
    finally:
        docker("rm", "-fv", container)


def test_a_read_only_container_answers_soon_is_healthy_and_ends_at_once() -> None:
    began = time.monotonic()
    with running("--read-only", "--health-interval", "1s") as (container, address):
        await_answer(address)
        took = time.monotonic() - began
        exercise_container(address, container, patience_s=60)
        patience = Patience(PATIENCE_S)
        while docker("inspect", "-f", "{{.State.Health.Status}}", container) != "healthy\n":
            assert patience.lasts
            time.sleep(0.1)
        used = docker("stats", "--no-stream", "--format", "{{.MemUsage}}", container)
        began = time.monotonic()
        docker("stop", container)
        ended = time.monotonic() - began
        state = json.loads(docker("inspect", "-f", "{{json .State}}", container))
        assert state["ExitCode"] == 0
    print(f"answered after {took:.2f} s, ended in {ended:.2f} s, {used.split('/')[0]} in use")
    assert float(used.partition("MiB")[0]) < 60  # 33 on a calm machine; files that it has read count too
    assert ended < 5, "it was killed, or nearly"


def test_a_variable_opens_the_control_port() -> None:
    port = free_port()
    variables = ("-e", "KCOMPAT_CONTROL_PORT=8082", "-p", f"127.0.0.1:{port}:8082")
    with running(*variables) as (_, address):
        await_answer(address)
        control = ControlClient(f"http://127.0.0.1:{port}")
        control.post("/topics", name="made", partitions=3)
        with closing(kafka.KafkaConsumer(bootstrap_servers=address)) as consumer:
            assert consumer.partitions_for_topic("made") == {0, 1, 2}


@pytest.mark.thorough("test_the_modules_of_java starts the same module")
@pytest.mark.skipif(not JARS.is_dir(), reason="run python interop-tests/fetch.py testcontainers")
def test_the_program_of_the_page_about_java(tmp_path: Path) -> None:
    (program,) = (block for block in blocks(JAVA_PAGE.read_text()) if "KafkaContainer" in block.text)
    (tmp_path / "InAContainer.java").write_text(program.text.replace('"kcompat"', f'"{IMAGE}"'))
    command = [*QUICK_JVM, f"-Duser.home={tmp_path}", "-cp", f"{JARS}/*", tmp_path / "InAContainer.java"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    assert re.fullmatch(r"201 127\.0\.0\.1:\d+\n", ended.stdout), ended.stdout


@pytest.mark.skipif(COMPOSE is None, reason="install docker-compose")
def test_the_services_of_the_page_about_compose(tmp_path: Path) -> None:
    (services,) = (block for block in blocks(COMPOSE_PAGE.read_text()) if block.language == "yaml")
    ports = {name: str(free_port()) for name in ("9092", "8082")}
    text = services.text.replace("image: kcompat", f"image: {IMAGE}")
    text = text.replace('"9092:', f'"{ports["9092"]}:').replace("1:8082:", f"1:{ports['8082']}:")
    text = text.replace("localhost:9092", f"localhost:{ports['9092']}")
    (tmp_path / "compose.yaml").write_text(text)
    command = [
        *(COMPOSE or ()),
        "--file",
        tmp_path / "compose.yaml",
        "--project-name",
        f"kcompat{ports['9092']}",
    ]
    try:
        up = [*command, "up", "--abort-on-container-exit", "--exit-code-from", "app"]
        ended = subprocess.run(up, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert '{"topics":[]}' in ended.stdout
    finally:
        subprocess.run([*command, "down", "--volumes"], capture_output=True, check=True)


def test_it_answers_with_key_stores_and_passwords_of_its_secrets(tmp_path: Path) -> None:
    authority = Authority()
    (tmp_path / "ca.pem").write_text(authority.pem)
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    (secrets / "broker.p12").write_bytes(as_pkcs12(authority.broker))
    (secrets / "password").write_text(f"{PASSWORD}\n")
    port = free_port()
    login = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    variables = {
        "KAFKA_LISTENERS": "SASL_SSL://:9092",
        "KAFKA_ADVERTISED_LISTENERS": f"SASL_SSL://127.0.0.1:{port}",
        "KAFKA_SECURITY_INTER_BROKER_PROTOCOL": "SASL_SSL",
        "KAFKA_SSL_KEYSTORE_TYPE": "PKCS12",
        "KAFKA_SSL_KEYSTORE_FILENAME": "broker.p12",
        "KAFKA_SSL_KEYSTORE_CREDENTIALS": "password",
        "KAFKA_SSL_KEY_CREDENTIALS": "password",
        "KAFKA_SASL_ENABLED_MECHANISMS": "PLAIN",
        "KAFKA_SASL_MECHANISM_INTER_BROKER_PROTOCOL": "PLAIN",
        "KAFKA_LISTENER_NAME_SASL__SSL_PLAIN_SASL_JAAS_CONFIG": (
            f'{login} username="admin" password="x" user_admin="x" user_alice="secret";'
        ),
    }
    words = [word for name, value in variables.items() for word in ("-e", f"{name}={value}")]
    options = ("-p", f"127.0.0.1:{port}:9092", "-v", f"{secrets}:/etc/kafka/secrets:ro")
    container = docker("run", "-d", *options, *words, IMAGE).strip()
    try:
        eventually(lambda: "started" in logs(container), lambda: logs(container), PATIENCE_S)
        with closing(
            kafka.KafkaProducer(
                bootstrap_servers=f"127.0.0.1:{port}",
                security_protocol="SASL_SSL",
                ssl_cafile=str(tmp_path / "ca.pem"),
                sasl_mechanism="PLAIN",
                sasl_plain_username="alice",
                sasl_plain_password="secret",
            )
        ) as producer:
            assert producer.send("t", b"v").get(PATIENCE_S).offset == 0
        docker("exec", container, "kcompat", "container", "health")
    finally:
        docker("rm", "-fv", container)


def test_data_may_be_in_memory() -> None:
    """A tmpfs beside a read-only root keeps it for as long as the container runs."""
    with running("--read-only", "--tmpfs", "/var/lib/kafka/data:uid=1000") as (container, address):
        await_answer(address)
        exercise(address, restart=lambda: None)
        docker("stop", container)
        assert docker("inspect", "-f", "{{.State.ExitCode}}", container) == "0\n"


def test_the_image_is_small_and_its_own() -> None:
    described = json.loads(docker("inspect", IMAGE))[0]
    assert described["Config"]["User"] == "appuser"
    assert sorted(described["Config"]["Volumes"]) == [
        "/etc/kafka/secrets", "/mnt/shared/config", "/var/lib/kafka/data",
    ]  # fmt: skip
    assert described["Config"]["Labels"]["org.opencontainers.image.title"] == "kcompat"
    sizes = docker("history", "--human=false", "--format", "{{.Size}} {{.CreatedBy}}", IMAGE).splitlines()
    copied = [int(line.split()[0]) for line in sizes if "COPY" in line or "appuser" in line]
    assert sum(copied) < 55_000_000
