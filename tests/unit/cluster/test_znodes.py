"""Payloads as Kafka's tools and brokers read and write them, literally."""

from __future__ import annotations

import json

import pytest

from kcompat.cluster import znodes
from kcompat.cluster.feature_levels import Levels
from kcompat.cluster.payloads import DamagedZnodeError
from kcompat.cluster.znodes import (
    BrokerRegistration,
    ProducerIdBlock,
    StoredPartitionState,
    TopicAssignment,
)

TOPIC_ID = bytes.fromhex("91776e78042540bfa77820f941ed68e7")
TOPIC_ID_TEXT = "kXdueAQlQL-neCD5Qe1o5w"


def test_cluster_id() -> None:
    data = znodes.encode_cluster_id("MkU3OEVBNTcwNTJENDM2Qg")
    assert json.loads(data) == {"version": "1", "id": "MkU3OEVBNTcwNTJENDM2Qg"}
    assert znodes.decode_cluster_id(data) == "MkU3OEVBNTcwNTJENDM2Qg"


def test_controller() -> None:
    data = znodes.encode_controller(3, 1700000000000)
    assert json.loads(data) == {
        "version": 2,
        "brokerid": 3,
        "timestamp": "1700000000000",
        "kraftControllerEpoch": -1,
    }


def test_controller_epoch() -> None:
    assert znodes.encode_epoch(12) == b"12"
    assert znodes.decode_epoch(b"12") == 12
    with pytest.raises(DamagedZnodeError):
        znodes.decode_epoch(b"twelve")


def test_broker() -> None:
    broker = BrokerRegistration(
        {"SECURE": ("::1", 9093), "PLAINTEXT": ("host", 9092)},
        {"SECURE": "SSL", "PLAINTEXT": "PLAINTEXT"},
        "r1",
        {"f": Levels(1, 2)},
    )
    data = znodes.encode_broker(broker, 1700000000000)
    assert json.loads(data) == {
        "version": 5,
        "host": "host",
        "port": 9092,
        "endpoints": ["SECURE://[::1]:9093", "PLAINTEXT://host:9092"],
        "jmx_port": -1,
        "timestamp": "1700000000000",
        "listener_security_protocol_map": {"SECURE": "SSL", "PLAINTEXT": "PLAINTEXT"},
        "features": {"f": {"min_version": 1, "max_version": 2}},
        "rack": "r1",
    }
    assert znodes.decode_broker(data) == broker


def test_a_broker_without_a_plaintext_endpoint_has_no_host_and_no_rack_key() -> None:
    broker = BrokerRegistration({"SSL": ("h", 1)}, {"SSL": "SSL"})
    payload = json.loads(znodes.encode_broker(broker, 0))
    assert (payload["host"], payload["port"], "rack" in payload) == (None, -1, False)


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        (
            '{"version":1,"host":"h","port":9092,"jmx_port":9999,"timestamp":"1"}',
            BrokerRegistration({"PLAINTEXT": ("h", 9092)}, {"PLAINTEXT": "PLAINTEXT"}),
        ),
        (
            '{"version":2,"host":"h","port":9092,"jmx_port":-1,"timestamp":"1","endpoints":["PLAINTEXT://h:9092"]}',
            BrokerRegistration({"PLAINTEXT": ("h", 9092)}, {"PLAINTEXT": "PLAINTEXT"}),
        ),
        (
            '{"version":3,"host":"h","port":9092,"jmx_port":-1,"timestamp":"1","endpoints":["SSL://h:9093"],"rack":"d"}',
            BrokerRegistration({"SSL": ("h", 9093)}, {"SSL": "SSL"}, "d"),
        ),
        (
            '{"version":4,"endpoints":["CLIENT://h:1"],"listener_security_protocol_map":{"CLIENT":"SASL_SSL"}}',
            BrokerRegistration({"CLIENT": ("h", 1)}, {"CLIENT": "SASL_SSL"}),
        ),
    ],
)
def test_brokers_of_older_versions(payload: str, expected: BrokerRegistration) -> None:
    assert znodes.decode_broker(payload.encode()) == expected


def test_topic() -> None:
    topic = TopicAssignment(TOPIC_ID, ((1, 2), (2, 3)), {1: (3,)}, {1: (1,)})
    data = znodes.encode_topic(topic)
    assert json.loads(data) == {
        "version": 3,
        "partitions": {"0": [1, 2], "1": [2, 3]},
        "adding_replicas": {"1": [3]},
        "removing_replicas": {"1": [1]},
        "topic_id": TOPIC_ID_TEXT,
    }
    assert znodes.decode_topic(data) == topic


def test_topics_of_older_versions() -> None:
    old = znodes.decode_topic(b'{"version":1,"partitions":{"1":[2],"0":[1]}}')
    assert old == TopicAssignment(bytes(16), ((1,), (2,)))
    newer = znodes.decode_topic(
        b'{"version":2,"partitions":{"0":[1]},"adding_replicas":{},"removing_replicas":{}}'
    )
    assert newer == TopicAssignment(bytes(16), ((1,),))


def test_partition_state() -> None:
    data = znodes.encode_partition_state(StoredPartitionState(1, 5, 7, (1, 2)))
    assert json.loads(data) == {
        "version": 1,
        "leader": 1,
        "leader_epoch": 5,
        "controller_epoch": 7,
        "isr": [1, 2],
    }
    assert znodes.decode_partition_state(data) == StoredPartitionState(1, 5, 7, (1, 2))


def test_the_recovery_state_shows_only_while_recovering() -> None:
    data = znodes.encode_partition_state(StoredPartitionState(1, 5, 7, (1,), 1))
    assert json.loads(data)["leader_recovery_state"] == 1
    assert znodes.decode_partition_state(data).leader_recovery_state == 1


def test_config() -> None:
    data = znodes.encode_config({"retention.ms": "1"})
    assert json.loads(data) == {"version": 1, "config": {"retention.ms": "1"}}
    assert znodes.decode_config(data) == {"retention.ms": "1"}


def test_producer_ids() -> None:
    data = znodes.encode_producer_ids(ProducerIdBlock(1, 1000, 1999))
    assert json.loads(data) == {"version": 1, "broker": 1, "block_start": "1000", "block_end": "1999"}
    assert znodes.decode_producer_ids(data) == ProducerIdBlock(1, 1000, 1999)


@pytest.mark.parametrize(
    ("decode", "data"),
    [
        (znodes.decode_topic, b""),
        (znodes.decode_topic, b"[]"),
        (znodes.decode_topic, b'{"version":3}'),
        (znodes.decode_topic, b'{"version":3,"partitions":{"1":[1]}}'),
        (znodes.decode_topic, b'{"version":3,"partitions":{"0":["x"]}}'),
        (znodes.decode_topic, b'{"version":3,"partitions":{"0":[1]},"topic_id":"short"}'),
        (znodes.decode_broker, b'{"version":5,"endpoints":["nothing"]}'),
        (znodes.decode_partition_state, b'{"version":1,"leader":1}'),
        (znodes.decode_config, b'{"version":1,"config":3}'),
        (znodes.decode_config, b"\xff\xfe"),
        (znodes.decode_cluster_id, b"{}"),
    ],
)
def test_damage_is_named(decode: object, data: bytes) -> None:
    assert callable(decode)
    with pytest.raises(DamagedZnodeError):
        decode(data)


def test_paths() -> None:
    assert znodes.partition_state_path("t", 3) == "/brokers/topics/t/partitions/3/state"
    assert znodes.config_path("topics", "t") == "/config/topics/t"
    assert znodes.broker_path(7) == "/brokers/ids/7"
    assert znodes.delete_topic_path("t") == "/admin/delete_topics/t"
