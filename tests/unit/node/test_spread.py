"""The configurations of several brokers, made from one."""

from __future__ import annotations

import pytest

from kcompat.config.broker import BrokerConfig
from kcompat.config.errors import ConfigError
from kcompat.node.spread import spread


def test_brokers_are_alike_but_for_their_own() -> None:
    config = BrokerConfig({"listeners": "PLAINTEXT://h:9000", "log.dirs": "/a,/b", "num.partitions": "7"})
    brokers = spread(config, 3, ["x", "y"])
    assert [broker.broker_id for broker in brokers] == [0, 1, 2]
    assert [str(broker.listeners[0]) for broker in brokers] == [
        f"PLAINTEXT://h:{port}" for port in (9000, 9001, 9002)
    ]
    assert [broker.log_dirs for broker in brokers] == [
        [f"/a/broker-{number}", f"/b/broker-{number}"] for number in range(3)
    ]
    assert [broker.rack for broker in brokers] == ["x", "y", "x"]
    assert {broker.num_partitions for broker in brokers} == {7}


def test_free_ports_are_for_each_to_find() -> None:
    brokers = spread(BrokerConfig({"listeners": "PLAINTEXT://:0", "log.dirs": "/a"}), 2)
    assert [str(broker.listeners[0]) for broker in brokers] == ["PLAINTEXT://:0"] * 2


def test_ports_may_be_given_one_by_one() -> None:
    brokers = spread(BrokerConfig({"listeners": "PLAINTEXT://:0", "log.dirs": "/a"}), 2, ports=[9007, 9003])
    assert [broker.listeners[0].port for broker in brokers] == [9007, 9003]
    assert [broker.advertised["PLAINTEXT"].port for broker in brokers] == [9007, 9003]


@pytest.mark.parametrize(
    ("listener", "advertised"),
    [
        ("PLAINTEXT://:9000", ["PLAINTEXT://localhost:9000", "PLAINTEXT://localhost:9001"]),
        ("PLAINTEXT://0.0.0.0:0", ["PLAINTEXT://localhost:0"] * 2),
        ("PLAINTEXT://h:9000", []),
    ],
)
def test_brokers_of_one_machine_tell_no_name_of_it(listener: str, advertised: list[str]) -> None:
    brokers = spread(BrokerConfig({"listeners": listener, "log.dirs": "/a"}), 2)
    assert [str(each) for broker in brokers for each in broker.advertised.values()] == advertised


@pytest.mark.parametrize(("brokers", "factor"), [(1, 1), (2, 2), (3, 3), (5, 3)])
def test_internal_topics_fit_in_a_cluster_of_one_command(brokers: int, factor: int) -> None:
    for each in spread(BrokerConfig({"listeners": "PLAINTEXT://:0", "log.dirs": "/a"}), brokers):
        assert each.integer("offsets.topic.replication.factor") == factor


def test_internal_topics_keep_kafkas_size_where_others_can_join() -> None:
    texts = {"listeners": "PLAINTEXT://:0", "log.dirs": "/a", "zookeeper.connect": "h:2181"}
    for each in spread(BrokerConfig(texts), 2):
        assert each.integer("offsets.topic.replication.factor") == 3


@pytest.mark.parametrize(
    "texts",
    [
        {
            "listeners": "PLAINTEXT://:1,B://:2",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,B:PLAINTEXT",
        },
        {"listeners": "PLAINTEXT://:1", "advertised.listeners": "PLAINTEXT://h:1"},
        {"listeners": "PLAINTEXT://:65535"},
    ],
)
def test_what_cannot_be_spread_is_refused(texts: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        spread(BrokerConfig(texts), 2)
