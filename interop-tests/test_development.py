"""Security by one argument: each library connects with the settings of `client_config`."""

from __future__ import annotations

import asyncio
import importlib
import subprocess
from contextlib import closing
from typing import TYPE_CHECKING, Any

import aiokafka
import confluent_kafka
import kafka
import pytest
from kafka.errors import TopicAuthorizationFailedError

from kcompat import Broker, Cluster, allow, deny
from support.eventually import eventually, limit_s
from support.kafka_jars import QUICK, jvm
from support.places import REPOSITORY
from tool_bench import CLASSES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

USERS = {"alice": 'a "secret"; with \\ all=sorts', "bob": "hidden"}
KINDS: dict[str, dict[str, Any]] = {
    "PLAINTEXT": {},
    "SSL": {"tls": True},
    "SASL_PLAINTEXT": {"users": USERS},
    "SASL_SSL": {"tls": True, "users": USERS},
}
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")

pytestmark = pytest.mark.timeout(240)


def confluent(settings: dict[str, Any], topic: str) -> None:
    producer = confluent_kafka.Producer(settings)
    producer.produce(topic, b"v")
    assert producer.flush(limit_s(30)) == 0


def kafka_python(settings: dict[str, Any], topic: str) -> None:
    with closing(kafka.KafkaProducer(**settings)) as producer:
        producer.send(topic, b"v").get(limit_s(30))


def aio(settings: dict[str, Any], topic: str) -> None:
    async def send() -> None:
        async with aiokafka.AIOKafkaProducer(**settings) as producer:
            await producer.send_and_wait(topic, b"v")

    asyncio.run(send())


SENDERS: dict[str, Callable[[dict[str, Any], str], None]] = {
    "confluent": confluent,
    "kafka-python": kafka_python,
    "aiokafka": aio,
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_python_library_connects(kind: str) -> None:
    with Broker(**KINDS[kind]) as broker:
        for library, send in SENDERS.items():
            for mechanism in MECHANISMS if "users" in KINDS[kind] else MECHANISMS[:1]:
                user = "alice" if "users" in KINDS[kind] else None
                send(broker.client_config(user, library=library, mechanism=mechanism), "t")


def test_a_certificate_is_a_login_where_there_are_no_users() -> None:
    with Broker(tls=True, acls=[allow("alice", "all", topic="*")]) as broker:
        for library, send in SENDERS.items():
            send(broker.client_config("alice", library=library), "t")
        with pytest.raises(TopicAuthorizationFailedError):
            kafka_python(broker.client_config(library="kafka-python"), "t")


def test_acls_are_in_force_from_the_first_client_on() -> None:
    acls = [allow("*", "all", topic="*"), deny("bob", "write", topic="ord", prefix=True)]
    with Broker(users=USERS, acls=acls) as broker:
        kafka_python(broker.client_config("alice", library="kafka-python"), "orders")
        with pytest.raises(TopicAuthorizationFailedError):
            kafka_python(broker.client_config("bob", library="kafka-python"), "orders")


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_wrong_password_is_refused(mechanism: str) -> None:
    errors: list[confluent_kafka.KafkaError] = []
    with Broker(users=USERS) as broker:
        settings = broker.client_config("alice", library="confluent", mechanism=mechanism)
        producer = confluent_kafka.Producer({**settings, "sasl.password": "x", "error_cb": errors.append})
        eventually(lambda: producer.poll(0) or errors, "the client reports the refusal")
    assert errors[0].code() == confluent_kafka.KafkaError._AUTHENTICATION


@pytest.mark.parametrize("kind", ["SSL", "SASL_PLAINTEXT", "SASL_SSL"])
def test_brokers_of_a_cluster_trust_each_other(kind: str) -> None:
    acls = [allow("alice", "all", topic="*"), allow("alice", "all", cluster=True)]
    with Cluster(3, acls=acls, config={"default.replication.factor": 3}, **KINDS[kind]) as cluster:
        settings = cluster.client_config("alice", library="confluent")
        confluent({**settings, "acks": "all"}, "t")
        cluster.wait_until_in_sync()
        cluster.brokers[cluster.leader_of("t", 0)].kill()
        confluent({**settings, "acks": "all"}, "t")


@pytest.mark.thorough("interop-tests/test_pages.py, whose page has the same settings")
@pytest.mark.parametrize("release", ["3.9.2", "4.3.0"])
@pytest.mark.parametrize("kind", KINDS)
def test_java_connects(kind: str, release: str, tmp_path: Path) -> None:
    with Broker(**KINDS[kind]) as broker:
        for number, mechanism in enumerate(MECHANISMS if "users" in KINDS[kind] else MECHANISMS[:1]):
            user = "alice" if kind != "PLAINTEXT" else None
            settings = broker.client_config(user, library="java", mechanism=mechanism)
            path = tmp_path / f"{number}.properties"
            path.write_text("".join(f"{name}={escaped(value)}\n" for name, value in settings.items()))
            words = ["--bootstrap-server", broker.bootstrap_servers, "--command-config", str(path)]
            words += ["--create", "--topic", f"t-{number}"]
            done = subprocess.run(
                [*jvm(release), CLASSES["topics"], *words], capture_output=True, text=True, check=False
            )
            assert f"Created topic t-{number}." in done.stdout, done.stderr


def escaped(value: object) -> str:
    return str(value).replace("\\", "\\\\")


@pytest.mark.thorough("interop-tests/test_pages.py, whose page has the same settings")
def test_spark_writes_and_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark", reason="pyspark is not there: pip install pyspark==4.2.0")
    monkeypatch.syspath_prepend(str(REPOSITORY / "spark-examples"))
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", " ".join(QUICK))
    with importlib.import_module("spark_session").spark_session("secured") as spark:
        for kind in ("SSL", "SASL_PLAINTEXT", "SASL_SSL"):
            with Broker(**KINDS[kind]) as broker:
                settings = broker.client_config("alice", library="spark", mechanism="SCRAM-SHA-512")
                values = spark.createDataFrame([("one",), ("two",)], ["value"])
                values.write.format("kafka").options(**settings).option("topic", "orders").save()
                read = spark.read.format("kafka").options(**settings).option("subscribe", "orders").load()
                assert sorted(bytes(row.value) for row in read.collect()) == [b"one", b"two"]
                if kind == "SSL":
                    continue
                wrong = {key: str(value).replace("secret", "wrong") for key, value in settings.items()}
                refused = spark.read.format("kafka").options(**wrong).option("subscribe", "orders").load()
                with pytest.raises(Exception, match="SaslAuthenticationException"):
                    refused.collect()
