from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kcompat import Broker, Cluster
from kcompat.embedded.settings import read_settings
from kcompat.errors import ConfigError, KcompatError, UsageError


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("num.partitions", 4, "4"),
        ("auto.create.topics.enable", True, "true"),
        ("auto.create.topics.enable", False, "false"),
        ("log.cleaner.min.cleanable.ratio", 0.5, "0.5"),
        ("log.cleaner.min.cleanable.ratio", 1e-5, "1.0E-5"),
        ("log.cleanup.policy", ["compact", "delete"], "compact,delete"),
        ("log.cleanup.policy", ("compact",), "compact"),
        ("log.cleanup.policy", [], ""),
        ("log.retention.ms", timedelta(hours=1), "3600000"),
        ("log.retention.ms", timedelta(microseconds=1999), "1"),
        ("log.retention.hours", timedelta(days=2), "48"),
        ("offsets.retention.minutes", timedelta(hours=1), "60"),
        ("quota.window.size.seconds", timedelta(minutes=1), "60"),
        ("kafka.metrics.polling.interval.secs", timedelta(minutes=1), "60"),
        ("log.dirs", Path("/a"), "/a"),
        ("log.dirs", [Path("/a"), "/b"], "/a,/b"),
        ("compression.type", "zstd", "zstd"),
    ],
)
def test_values_are_written_as_a_properties_file_has_them(name: str, value: Any, text: str) -> None:
    assert read_settings(None, "127.0.0.1", 0, {name: value})[name] == text
    Broker(config={name: value})


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"config": {"num.partitions": None}}, ConfigError, r"num\.partitions=None cannot be: use text"),
        ({"config": {"ssl.key.password": b"hidden"}}, ConfigError, r"ssl\.key\.password cannot be: use text"),
        ({"config": {"listener.name.a.plain.sasl.jaas.config": {}}}, ConfigError, r"jaas\.config cannot be"),
        ({"config": {"num.partitions": {"a": 1}}}, ConfigError, "cannot be: use text, a number"),
        ({"config": {"log.cleanup.policy": [None]}}, ConfigError, r"log\.cleanup\.policy=None cannot be"),
        (
            {"config": {"log.retention.hours": timedelta(minutes=90)}},
            ConfigError,
            r"hours cannot be 1:30:00, which is not a whole number of hours: use log\.retention\.ms",
        ),
        (
            {"config": {"offsets.retention.minutes": timedelta(seconds=1)}},
            ConfigError,
            "whole number of minutes",
        ),
        (
            {"config": {"log.segment.bytes": timedelta(seconds=1)}},
            ConfigError,
            r"log\.segment\.bytes=.* cannot be",
        ),
        ({"config": [("num.partitions", 1)]}, UsageError, "is no mapping of names: use Kafka's keys"),
        ({"config": {7: 1}}, UsageError, "is no mapping of names: use Kafka's keys"),
        ({"host": None}, UsageError, "host=None is neither a name nor an address"),
        ({"host": "a b"}, UsageError, "host='a b' is neither a name nor an address"),
        ({"port": "9092"}, UsageError, "port='9092' is not a port"),
        ({"port": True}, UsageError, "port=True is not a port"),
        ({"port": 65536}, UsageError, "port=65536 is not a port"),
        ({"port": -1}, UsageError, "port=-1 is not a port"),
        ({"port": 1, "config": {"listeners": "A://:1"}}, UsageError, "both say where to listen: give one"),
        ({"data_dir": b"/x"}, UsageError, "is not the name of a directory"),
        ({"data_dir": 7}, UsageError, "data_dir=7 is not the name of a directory"),
        ({"data_dir": "/x", "config": {"log.dir": "/y"}}, UsageError, "both say where to store: give one"),
        ({"data_dir": "/x", "config": {"log.dirs": "/y"}}, UsageError, "both say where to store: give one"),
        ({"tls": "yes"}, UsageError, "tls='yes' is neither True nor False"),
        ({"users": ["alice"]}, UsageError, "users are no mapping: use passwords by user"),
        ({"users": {"": "x"}}, UsageError, "'' is not a name that users can have"),
        ({"users": {"kcompat-broker": "x"}}, UsageError, "'kcompat-broker' is not a name that users can"),
        ({"users": {"alice": ""}}, UsageError, "the password of 'alice' is not a text"),
        ({"users": {"alice": "\udcff"}}, UsageError, "of 'alice' has bytes that are not UTF-8"),
        ({"users": {"\udcff": "x"}}, UsageError, r"of '\\udcff' has bytes that are not UTF-8"),
        ({"users": {"alice": None}}, UsageError, "the password of 'alice' is not a text"),
        ({"tls": True, "acls": "alice"}, UsageError, "acls='alice' is no list: use what kcompat.allow"),
        ({"tls": True, "acls": ["alice"]}, UsageError, r"acls=\['alice'\] are not ACLs"),
        ({"tls": True, "config": {"listeners": "SSL://:0"}}, ConfigError, "takes the place of a single"),
    ],
)
@pytest.mark.parametrize("kind", [Broker, Cluster])
def test_arguments_that_cannot_be_are_named(
    kind: Any, arguments: dict[str, Any], error: type[KcompatError], message: str
) -> None:
    with pytest.raises(error, match=message):
        kind(**arguments)


def test_a_broker_that_is_not_started_has_no_clients() -> None:
    broker = Broker(tls=True)
    with pytest.raises(UsageError, match="the broker is not started"):
        broker.client_config()
    with pytest.raises(UsageError, match="the broker is not started"):
        _ = broker.ca_file


@pytest.mark.parametrize(
    ("brokers", "arguments", "message"),
    [
        (2, {"acls": []}, "acls need users or tls=True: without, brokers and clients are all anonymous"),
        (0, {}, "brokers=0 is not a number of brokers: use 1 or more"),
        ("3", {}, "brokers='3' is not a number of brokers"),
        (True, {}, "brokers=True is not a number of brokers"),
        (2, {"racks": []}, "is not a list of racks: name at least one"),
        (2, {"racks": "ab"}, "racks='ab' is not a list of racks"),
        (3, {"port": 65534}, "port=65534 leaves no room for 3 ports in a row"),
    ],
)
def test_a_cluster_that_cannot_be_is_refused(brokers: Any, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Cluster(brokers, **arguments)


def test_what_is_not_started_says_so() -> None:
    broker, cluster = Broker(), Cluster(2)
    for act in (
        lambda: broker.bootstrap_servers,
        lambda: broker.compact("t"),
        lambda: cluster.bootstrap_servers,
        lambda: cluster.isolate(0),
        lambda: cluster.leader_of("t", 0),
        lambda: cluster.brokers[0].bootstrap_servers,
        cluster.brokers[0].start,
        cluster.brokers[0].stop,
        cluster.brokers[0].kill,
        cluster.heal,
        cluster.wait_until_in_sync,
    ):
        with pytest.raises(UsageError, match=r"is not started: use it in a with statement, or call"):
            act()
    broker.stop()
    cluster.stop()
