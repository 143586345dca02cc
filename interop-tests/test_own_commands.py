"""Kafka's commands without a JVM print what Kafka's own print, line by line, with kcompat and with Kafka.

`docs/reference/commands.md` has what differs on purpose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from command_bench import commands_beside
from real_kafka import RealKafka
from support.kcompat_broker import KcompatBroker
from tool_bench import insist_on_tools

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.broker_process import BrokerProcess
    from tool_bench import Benches

pytestmark = pytest.mark.thorough("tests/wire/test_kafkas_commands.py runs each command")

FILES = {
    "good.json": '{"partitions": [{"topic": "records", "partition": 0, "offset": 2}], "version": 1}',
    "far.json": '{"partitions": [{"topic": "records", "partition": 0, "offset": 99}]}',
    "twice.json": '{"partitions": [{"topic": "a", "partition": 0, "offset": 1}, '
    '{"topic": "a", "partition": 0, "offset": 2}]}',
    "version.json": '{"partitions": [], "version": 2}',
    "nopartitions.json": "{}",
    "no.json": "no JSON",
}

TOPICS = r"""
topics
topics --help
topics AT
topics AT --list
topics AT --create --topic a-topic
topics AT --create --topic a-topic
topics AT --create --topic a-topic --if-not-exists
topics AT --create --topic p3 --partitions 3 --config retention.ms=1000 --config cleanup.policy=compact
topics AT --create --topic under_score --replica-assignment 1,1
topics AT --list
topics AT --list --topic a.*
topics AT --describe --topic nothere
topics AT --describe --topic nothere --if-exists
topics AT --describe --if-exists
topics AT --describe --topic p3
topics AT --describe
topics AT --describe --topics-with-overrides
topics AT --describe --under-replicated-partitions
topics AT --describe --at-min-isr-partitions
topics AT --describe --under-min-isr-partitions
topics AT --describe --unavailable-partitions
topics AT --describe --topic-id AAAAAAAAAAAAAAAAAAAAAQ
topics AT --alter --topic p3 --partitions 5
topics AT --alter --topic p3 --partitions 2
topics AT --alter --topic p3 --partitions 5
topics AT --alter --topic nothere --partitions 5
topics AT --alter --topic p3
topics AT --alter --topic p3 --config a=b
topics AT --create --topic x --config foo
topics AT --create --topic x --config foo=bar
topics AT --create --topic x --partitions 0
topics AT --create --topic x --partitions abc
topics AT --create --topic x --replication-factor 4
topics AT --create --topic x --replication-factor 0
topics AT --create --topic x --replica-assignment 1:1
topics AT --create --topic x --replica-assignment 1:2,1
topics AT --create --topic x --replica-assignment 1:b
topics AT --create --topic x --replica-assignment 1 --partitions 3
topics AT --create --topic "a b"
topics AT --create
topics AT --list --create
topics --list
topics --nonsense
topics --bootstrap-server
topics AT --list --topic a --topic b
topics AT --list --topic "*"
topics --bootstrap-server nonsense --list
topics AT --list --command-config /nonexistent
topics AT --delete --topic a-topic --list
topics AT --delete --topic nothere
topics AT --delete --topic nothere --if-exists
topics AT --delete --topic p3 --partitions 3
topics AT --delete --topic p3
topics AT --delete --topic a-topic,under_score
topics -bootstrap-server SERVER -list
topics AT --list --exclude-internal
topics AT --list --if-exists
"""

CONFIGS = r"""
configs
configs --help
configs AT
configs AT --describe
configs --describe --topic a
configs AT --describe --alter --topic a
configs AT --describe --entity-type topics
configs AT --describe --topic nothere
configs AT --describe --topic "a b"
topics AT --create --topic cfg --config retention.ms=1000
configs AT --alter --topic cfg --add-config retention.ms=2000,cleanup.policy=[compact,delete]
configs AT --describe --topic cfg
configs AT --describe --topic cfg --all
configs AT --describe --entity-type topics --entity-name cfg
configs AT --alter --topic cfg --delete-config retention.ms
configs AT --alter --topic cfg --delete-config segment.ms
configs AT --alter --topic cfg --delete-config cleanup.policy,foo
configs AT --alter --topic cfg --add-config foo=bar
configs AT --alter --topic cfg --add-config retention.ms=abc
configs AT --alter --topic cfg --add-config retention.ms
configs AT --alter --topic cfg --add-config "a b=c"
configs AT --alter --topic cfg
configs AT --alter --topic nothere --add-config retention.ms=1
configs AT --alter --entity-type topics --add-config a=b
configs AT --describe --broker 1
configs AT --describe --broker x
configs AT --describe --entity-type brokers
configs AT --describe --broker-defaults
configs AT --alter --broker 1 --add-config log.cleaner.threads=2
configs AT --alter --broker-defaults --add-config log.cleaner.threads=3
configs AT --describe --broker 1
configs AT --describe --entity-type brokers
configs AT --alter --broker 1 --add-config broker.id=2
configs AT --alter --broker 1 --delete-config log.cleaner.threads
configs AT --alter --broker-defaults --delete-config log.cleaner.threads
configs AT --alter --entity-type brokers --add-config a=b
configs AT --alter --user alice --add-config producer_byte_rate=1024,consumer_byte_rate=20000000
configs AT --describe --user alice
configs AT --describe --entity-type users
configs AT --alter --user-defaults --add-config request_percentage=12.5
configs AT --describe --user-defaults
configs AT --alter --client c1 --add-config producer_byte_rate=0.0001
configs AT --describe --client c1
configs AT --alter --user alice --client c1 --add-config producer_byte_rate=5
configs AT --describe --user alice --client c1
configs AT --describe --entity-type users --entity-type clients
configs AT --describe --entity-type users --entity-name alice --entity-type clients --entity-default
configs AT --alter --user alice --delete-config producer_byte_rate
configs AT --alter --user alice --delete-config request_percentage
configs AT --alter --user alice --add-config producer_byte_rate=abc
configs AT --alter --user alice --add-config foo=1
configs AT --alter --client c1 --add-config foo=1
configs AT --alter --user bob --add-config SCRAM-SHA-256=[password=secret]
configs AT --alter --user bob --add-config SCRAM-SHA-512=[iterations=8192,password=secret]
configs AT --describe --user bob
configs AT --alter --user bob --add-config SCRAM-SHA-512=[iterations=1,password=secret]
configs AT --alter --user bob --delete-config SCRAM-SHA-256
configs AT --alter --user bob --delete-config SCRAM-SHA-256
configs AT --alter --user-defaults --add-config SCRAM-SHA-256=[password=secret]
configs AT --alter --user bob --add-config SCRAM-SHA-256=[password=secret],producer_byte_rate=1
configs AT --alter --client bob --add-config SCRAM-SHA-256=[password=secret]
configs AT --alter --ip 127.0.0.1 --add-config connection_creation_rate=10
configs AT --describe --ip 127.0.0.1
configs AT --describe --entity-type ips
configs AT --alter --ip 127.0.0.1 --add-config foo=10
configs AT --alter --ip not.a.host.invalid --add-config connection_creation_rate=10
configs AT --alter --broker-logger 1 --add-config nonsense=INFO
configs AT --describe --entity-type broker-loggers
configs AT --describe --topic a --entity-type topics
configs AT --describe --entity-type topics --entity-type brokers
configs AT --describe --entity-type topics --entity-type topics
configs AT --alter --topic a --add-config a=b --add-config-file /x
configs AT --alter --topic a --add-config-file /nonexistent
configs AT --describe --entity-type client-metrics
configs --nonsense
configs --bootstrap-server nonsense --describe --topic a
"""

OTHERS = r"""
get-offsets
get-offsets AT
get-offsets AT --topic nothere
get-offsets AT --time abc
get-offsets AT --partitions a
get-offsets AT --topic-partitions p3:a
get-offsets --bootstrap-server nonsense
get-offsets --nonsense
get-offsets AT --topic-partitions a --topic b
get-offsets --topic a
log-dirs
log-dirs AT
log-dirs AT --describe
log-dirs AT --describe --topic-list two
log-dirs AT --describe --broker-list 5
log-dirs AT --describe --broker-list a
log-dirs --nonsense
delete-records
delete-records AT
delete-records --nonsense
features
features AT
features AT describe
features describe
features AT upgrade
features AT upgrade --metadata 9.9
features AT upgrade --metadata 3.8
features AT downgrade --feature a
features AT downgrade --feature a=b
features AT downgrade --feature metadata.version=4
features AT disable --feature kraft.version
features AT upgrade --feature group.version=1 --dry-run
cluster
cluster cluster-id
cluster cluster-id AT
cluster unregister AT
cluster unregister AT --id 77
cluster unregister AT --id x
cluster cluster-id --bootstrap-server nonsense
cluster cluster-id AT --config /nonexistent
broker-api-versions
broker-api-versions AT
broker-api-versions --nonsense
broker-api-versions --bootstrap-server nonsense
get-offsets AT --topic records
get-offsets AT --topic records --time earliest
get-offsets AT --topic records --time -3
get-offsets AT --topic records --time 1700000000005
get-offsets AT --topic records --time 1800000000000
get-offsets AT --topic records --partitions 1
get-offsets AT --topic-partitions rec.*:0-1,nothere:2
get-offsets AT --topic-partitions records:1-
get-offsets AT --exclude-internal-topics
get-offsets --broker-list SERVER --topic records
delete-records AT --offset-json-file FILES/nothere.json
delete-records AT --offset-json-file FILES/no.json
delete-records AT --offset-json-file FILES/twice.json
delete-records AT --offset-json-file FILES/version.json
delete-records AT --offset-json-file FILES/nopartitions.json
delete-records AT --offset-json-file FILES/good.json
delete-records AT --offset-json-file FILES/far.json
get-offsets AT --topic records --time -2
"""


def fill(broker: BrokerProcess) -> None:
    """Make a topic with records whose timestamps are known."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_topics([NewTopic("records", 2, 1)])["records"].result(30)
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for n in range(10):
        producer.produce("records", f"{n}", partition=n % 2, timestamp=1_700_000_000_000 + n)
    assert producer.flush(30) == 0


@pytest.fixture(scope="module", params=["kcompat", "kafka"])
def benches(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Benches]:
    insist_on_tools()
    make = KcompatBroker if request.param == "kcompat" else RealKafka
    settings = {"log.retention.ms": "-1"}  # the records of `fill` are old
    with make(properties=settings) as own, make(properties=settings) as real:
        for broker in (own, real):
            fill(broker)
        with commands_beside((own, real), FILES, tmp_path_factory.mktemp("commands")) as found:
            yield found


@pytest.mark.timeout(600)
@pytest.mark.parametrize("script", [TOPICS, CONFIGS, OTHERS], ids=["topics", "configs", "others"])
def test_the_commands_print_the_same(benches: Benches, script: str) -> None:
    benches.compare(script)
