from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.config.broker import BrokerConfig
from kcompat.config.container import DATA_DIRECTORY, Asked, read_container
from kcompat.config.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

KRAFT = {
    "CLUSTER_ID": "4L6g3nShT-eMCtK--X86sw",
    "KAFKA_NODE_ID": "7",
    "KAFKA_PROCESS_ROLES": "broker,controller",
    "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "KAFKA_CONTROLLER_QUORUM_VOTERS": "7@localhost:9094",
    "KAFKA_LISTENERS": "PLAINTEXT://0.0.0.0:9092,BROKER://0.0.0.0:9093,CONTROLLER://0.0.0.0:9094",
    "KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://localhost:32768,BROKER://1a2b3c:9093",
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "KAFKA_INTER_BROKER_LISTENER_NAME": "BROKER",
}
"""Environment variables that the Java module of Testcontainers sets."""


@pytest.fixture
def mounted(tmp_path: Path) -> Path:
    return tmp_path / "server.properties"


def asked(mounted: Path, environment: dict[str, str] | None = None) -> Asked:
    return read_container(environment or {}, mounted, mounted.parent)


def test_nothing_asks_for_a_broker_that_a_published_port_reaches(mounted: Path) -> None:
    found = asked(mounted)
    config = BrokerConfig(found.values)
    assert [str(listener) for listener in config.listeners] == ["PLAINTEXT://:9092"]
    assert str(config.advertised["PLAINTEXT"]) == "PLAINTEXT://localhost:9092"
    assert config.log_dirs == [DATA_DIRECTORY]
    assert (found.as_kraft, found.cluster_id, found.remarks) == (False, None, ())


def test_variables_count_before_the_mounted_file(mounted: Path) -> None:
    mounted.write_text("num.partitions=3\nlog.dirs=/d\nlog.retention.hours=5\nlisteners=PLAINTEXT://:1\n")
    values = asked(mounted, {"KAFKA_NUM_PARTITIONS": "4", "KAFKA_HEAP_OPTS": "-Xmx1G"}).values
    assert values == {
        "num.partitions": "4",
        "log.dirs": "/d",
        "log.retention.hours": "5",
        "listeners": "PLAINTEXT://:1",
    }


@pytest.mark.parametrize(
    ("advertised", "listeners"),
    [
        ("PLAINTEXT://broker:9092", "PLAINTEXT://0.0.0.0:9092"),
        ("A://one:1,B://[fe80::1]:2,C://:3", "A://0.0.0.0:1,B://0.0.0.0:2,C://0.0.0.0:3"),
    ],
)
def test_listeners_follow_the_advertised_ones_of_the_environment(
    mounted: Path, advertised: str, listeners: str
) -> None:
    mounted.write_text("listeners=PLAINTEXT://:5\n")
    values = asked(mounted, {"KAFKA_ADVERTISED_LISTENERS": advertised}).values
    assert values["listeners"] == listeners


def test_advertised_listeners_of_the_file_are_no_reason_to_listen_elsewhere(mounted: Path) -> None:
    mounted.write_text("advertised.listeners=PLAINTEXT://broker:9092\n")
    assert "listeners" not in asked(mounted).values


def test_a_node_of_kraft_that_is_alone_is_a_broker_alone(mounted: Path) -> None:
    found = asked(mounted, KRAFT)
    config = BrokerConfig(found.values)
    assert (config.broker_id, found.as_kraft, found.cluster_id) == (7, True, KRAFT["CLUSTER_ID"])
    assert [listener.name for listener in config.listeners] == ["PLAINTEXT", "BROKER"]
    assert config.ineffective_keys == []
    (remark,) = found.remarks
    assert "controller.quorum.voters, process.roles" in remark


@pytest.mark.parametrize(
    "changes",
    [
        {"KAFKA_PROCESS_ROLES": "controller"},
        {"KAFKA_PROCESS_ROLES": "broker"},
        {"KAFKA_CONTROLLER_QUORUM_VOTERS": "1@a:9093,2@b:9093,3@c:9093"},
    ],
    ids=["controller", "broker", "voters"],
)
def test_a_node_of_a_larger_kraft_cluster_is_refused(mounted: Path, changes: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="KRaft cluster of several nodes"):
        asked(mounted, KRAFT | changes)


@pytest.mark.parametrize(
    "connect", ["localhost:2181", "127.0.0.1", "[::1]:2181/kafka", "localhost:1,localhost:2"]
)
def test_a_zookeeper_in_the_same_container_is_the_brokers_own_store(mounted: Path, connect: str) -> None:
    found = asked(mounted, {"KAFKA_ZOOKEEPER_CONNECT": connect, "CLUSTER_ID": "c"})
    assert "zookeeper.connect" not in found.values
    assert found.cluster_id == "c"
    (remark,) = found.remarks
    assert f"zookeeper.connect={connect} is this container" in remark


@pytest.mark.parametrize("connect", ["zookeeper:2181", "localhost:2181,zookeeper:2181"])
def test_a_zookeeper_elsewhere_stays_and_knows_the_id_of_the_cluster(mounted: Path, connect: str) -> None:
    found = asked(mounted, {"KAFKA_ZOOKEEPER_CONNECT": connect, "CLUSTER_ID": "c"})
    assert found.values["zookeeper.connect"] == connect
    assert (found.cluster_id, found.remarks) == (None, ())


def test_secrets_are_files_of_their_directory(mounted: Path) -> None:
    (mounted.parent / "creds").write_text("opensesame\n")
    values = asked(
        mounted,
        {
            "KAFKA_SSL_KEYSTORE_FILENAME": "broker.p12",
            "KAFKA_SSL_KEYSTORE_CREDENTIALS": "creds",
            "KAFKA_SSL_KEY_CREDENTIALS": "creds",
            "KAFKA_SSL_TRUSTSTORE_FILENAME": "trust.p12",
            "KAFKA_SSL_TRUSTSTORE_CREDENTIALS": "creds",
        },
    ).values
    assert {key: value for key, value in values.items() if key.startswith("ssl.")} == {
        "ssl.keystore.location": str(mounted.parent / "broker.p12"),
        "ssl.keystore.password": "opensesame",
        "ssl.key.password": "opensesame",
        "ssl.truststore.location": str(mounted.parent / "trust.p12"),
        "ssl.truststore.password": "opensesame",
    }


def test_a_secret_that_is_not_there_is_named(mounted: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"ssl\.key\.credentials names .*/gone, which cannot be read: No such"
    ):
        asked(mounted, {"KAFKA_SSL_KEY_CREDENTIALS": "gone"})


def test_a_secret_that_is_no_text_is_named(mounted: Path) -> None:
    (mounted.parent / "creds").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="it is not UTF-8"):
        asked(mounted, {"KAFKA_SSL_KEY_CREDENTIALS": "creds"})


def test_a_jaas_file_stands_for_the_logins_in_it(mounted: Path) -> None:
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    file = mounted.parent / "jaas.conf"
    file.write_text(f'KafkaServer {{ {module} required user_alice="secret"; }};\n')
    environment = {
        "KAFKA_OPTS": f"-Djava.security.auth.login.config={file}",
        "KAFKA_ADVERTISED_LISTENERS": "SASL_PLAINTEXT://broker:9092,OWN://broker:9093",
        "KAFKA_LISTENER_NAME_OWN_PLAIN_SASL_JAAS_CONFIG": f"{module} required;",
    }
    values = asked(mounted, environment).values
    assert {key: value for key, value in values.items() if key.endswith("jaas.config")} == {
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": f'{module} required user_alice= "secret";',
        "listener.name.own.plain.sasl.jaas.config": f"{module} required;",
    }


def test_variables_name_listeners_and_mechanisms_as_in_kafkas_images(mounted: Path) -> None:
    environment = {
        "KAFKA_LISTENER_NAME_SASL__SSL_SCRAM___SHA___512_SASL_JAAS_CONFIG": "x;",
        "KAFKA_LISTENER_NAME_INTERNAL_SSL_CLIENT_AUTH": "required",
    }
    assert (
        asked(mounted, environment).values.items()
        >= {
            "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": "x;",
            "listener.name.internal.ssl.client.auth": "required",
        }.items()
    )


def test_the_mechanism_of_a_controller_that_is_the_broker_is_not_asked_for(mounted: Path) -> None:
    found = asked(mounted, KRAFT | {"KAFKA_SASL_MECHANISM_CONTROLLER_PROTOCOL": "PLAIN"})
    assert "sasl.mechanism.controller.protocol" not in found.values
    (remark,) = found.remarks
    assert "sasl.mechanism.controller.protocol" in remark
