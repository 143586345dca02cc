"""The Compose files in deploy/: what they say fits together, and their brokers serve programs here."""

from __future__ import annotations

import re
import subprocess
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import kafka
import pytest
import yaml

from container_engine import IMAGE, NoEngineError, build_image, compose_command, docker_engine
from kcompat.config.broker import BrokerConfig
from kcompat.config.container import read_container
from support.eventually import eventually, limit_s
from support.places import REPOSITORY, VENVS
from support.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FILES = sorted((REPOSITORY / "deploy").glob("*/compose.yaml"))
ONE, THREE = FILES
CHECKER = VENVS / "release" / "bin" / "check-jsonschema"
COMPOSE = compose_command()
PORT: Final = re.compile(r"\b909\d\b")
NOWHERE: Final = Path("/nowhere")
ZOOKEEPER: Final = "zookeeper:3.9"
INSTEAD: Final = (
    f"{IMAGE}\n    command: [kcompat, start, --memory, --port, '1', --zookeeper-port, '0.0.0.0:2181']"
)
"""A broker of ours that serves ZooKeeper's protocol, as the tests have no registry."""
PATIENCE_S: Final = 90

pytestmark = pytest.mark.timeout(400)
each_file = pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name)
with_compose = pytest.mark.skipif(COMPOSE is None, reason="install docker-compose")


def services(file: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load(file.read_text())["services"]
    return found


def config_of(service: dict[str, Any]) -> BrokerConfig:
    """Return the configuration that the container command reads from a service's variables."""
    variables = {name: str(value) for name, value in service["environment"].items()}
    config = BrokerConfig(read_container(variables, NOWHERE, NOWHERE).values)
    assert not config.unknown_keys
    return config


@pytest.mark.skipif(not CHECKER.exists(), reason="run python interop-tests/fetch.py venv-release")
def test_they_are_compose_files() -> None:
    command = [CHECKER, "--builtin-schema", "vendor.compose-spec", *FILES]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout


@each_file
def test_brokers_are_told_to_clients_as_they_are_reached(file: Path) -> None:
    brokers = {name: each for name, each in services(file).items() if each["image"] == "kcompat"}
    inside = set()
    ids = set()
    for name, service in brokers.items():
        config = config_of(service)
        told = config.advertised
        bound = {listener.name: listener.port for listener in config.listeners}
        (published,) = service["ports"]
        assert published == f"127.0.0.1:{told['OUTSIDE'].port}:{bound['OUTSIDE']}"
        assert (told["OUTSIDE"].host, told["INSIDE"].host) == ("localhost", name)
        assert told["INSIDE"].port == bound["INSIDE"]
        inside.add(f"{name}:{told['INSIDE'].port}")
        ids.add(config.broker_id)
    page = services(file)["ui"]
    assert set(page["environment"]["KAFKA_CLUSTERS_0_BOOTSTRAPSERVERS"].split(",")) == inside
    assert page["depends_on"].keys() == brokers.keys()
    assert len(ids) == len(brokers)


@pytest.fixture(scope="module")
def engine() -> Iterator[None]:
    """An engine that has the image."""
    try:
        with docker_engine() as is_ours:
            build_image(is_ours=is_ours)
            yield
    except NoEngineError as error:
        pytest.skip(str(error))


class Project:
    """The services of a Compose file that run, and the addresses of its brokers on this machine."""

    def __init__(self, command: list[str], addresses: list[str]) -> None:
        self._command = command
        self.addresses = addresses

    def run(self, *words: str) -> None:
        ran = subprocess.run(
            [*self._command, *words], capture_output=True, text=True, check=False, timeout=limit_s(PATIENCE_S)
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr

    def offset_of_new_record(self) -> int:
        with kafka.KafkaProducer(bootstrap_servers=self.addresses, acks="all") as producer:
            offset: int = producer.send("orders", b"order", partition=0).get(limit_s(PATIENCE_S)).offset
            return offset

    def brokers(self) -> set[int]:
        """Return the brokers in the cluster; none if one that starts is asked."""
        return self._told(lambda admin: {each["broker_id"] for each in admin.describe_cluster()["brokers"]})

    def replicas(self) -> set[int]:
        """Return the brokers that are in sync for a partition; none if one that starts is asked."""

        def in_sync(admin: kafka.KafkaAdminClient) -> set[int]:
            (topic,) = admin.describe_topics(["orders"])
            (first,) = (each for each in topic["partitions"] if each["partition_index"] == 0)
            return set(first["isr_nodes"])

        return self._told(in_sync)

    def _told(self, ask: Callable[[kafka.KafkaAdminClient], set[int]]) -> set[int]:
        try:
            with closing(kafka.KafkaAdminClient(bootstrap_servers=self.addresses)) as admin:
                return ask(admin)
        except kafka.errors.KafkaError:
            return set()


@contextmanager
def running(file: Path, tmp_path: Path) -> Iterator[Project]:
    """Start the brokers of a file, and the ZooKeeper, at free ports."""
    ports = {port: str(free_port()) for port in sorted(set(PORT.findall(file.read_text())))}
    text = PORT.sub(lambda found: ports[found[0]], file.read_text())
    text = text.replace("image: kcompat", f"image: {IMAGE}").replace(
        f"image: {ZOOKEEPER}", f"image: {INSTEAD}"
    )
    placed = tmp_path / "compose.yaml"
    placed.write_text(text)
    command = [*(COMPOSE or ()), "--file", str(placed), "--project-name", f"kcompat{ports['9092']}"]
    project = Project(command, [f"localhost:{port}" for port in ports.values()])
    try:
        project.run("up", "--detach", "--no-build", *(name for name in services(file) if name != "ui"))
        yield project
    finally:
        subprocess.run([*command, "down", "--volumes"], capture_output=True, check=True)


@with_compose
@pytest.mark.thorough("test_container_image.py runs the services of the page about Compose")
def test_one_broker_keeps_its_data(engine: None, tmp_path: Path) -> None:
    with running(ONE, tmp_path) as project:
        assert project.offset_of_new_record() == 0
        project.run("kill", "kafka")
        project.run("up", "--detach", "--no-build", "kafka")
        assert project.offset_of_new_record() == 1


@with_compose
@pytest.mark.thorough("test_brokers_are_told_to_clients_as_they_are_reached checks the same file")
def test_three_brokers_go_on_without_one(engine: None, tmp_path: Path) -> None:
    with running(THREE, tmp_path) as project:
        eventually(lambda: len(project.brokers()) == 3, "three brokers are there for the topic", PATIENCE_S)
        assert project.offset_of_new_record() == 0
        eventually(lambda: len(project.replicas()) == 3, "three replicas are in sync", PATIENCE_S)
        project.run("kill", "kafka-2")
        assert project.offset_of_new_record() == 1
        project.run("up", "--detach", "--no-build", "kafka-2")
        eventually(lambda: len(project.replicas()) == 3, "three replicas are in sync again", PATIENCE_S)
