"""The command-line tools of Kafka 3.9 and 4.3 print the same with kcompat as with Kafka 3.9.2, line by line.

What kcompat does not do yet ends at once with a sentence that says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from real_kafka import RealKafka
from tool_bench import FIRST_OF_VERSIONS, insist_on_tools, side_by_side

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.broker_process import BrokerProcess
    from tool_bench import Benches

TOPICS = """
topics --create --topic a --partitions 3
topics --create --topic a
topics --create --topic a --if-not-exists
topics --create --topic a.b
topics --create --topic a_b
topics --create --topic b1 --config retention.ms=100000 --config cleanup.policy=compact
topics --create --topic b2 --config retention.ms=abc
topics --create --topic b2 --config no.such=1
topics --create --topic b2 --replication-factor 2
topics --create --topic b2 --partitions 0
topics --create --topic b2 --replication-factor 0
topics --create --topic b/2
topics --create --topic b3 --replica-assignment 1,1,1
topics --create --topic b4 --replica-assignment 1:1
topics --create --topic b4 --replica-assignment 9
topics --create --topic b5 --config min.insync.replicas=2
topics --list
topics --list --exclude-internal --topic b.*
topics --describe
topics --describe --topic nothere
topics --describe --topic nothere --if-exists
topics --describe --topic a --partition-size-limit-per-response 1
topics --describe --under-replicated-partitions
topics --describe --unavailable-partitions
topics --describe --under-min-isr-partitions
topics --describe --at-min-isr-partitions
topics --describe --topics-with-overrides
topics --describe --topic-id AAAAAAAAAAAAAAAAAAAAAQ
topics --alter --topic a --partitions 5
topics --alter --topic a --partitions 4
topics --alter --topic a --partitions 6 --replica-assignment 1,1,1,1,1,9
topics --alter --topic nothere --partitions 4
topics --describe --topic a
topics --delete --topic nothere
topics --delete --topic b.*
topics --list
"""

CONFIGS = """
topics --create --topic c1 --partitions 2 --config segment.bytes=2000000
configs --describe --topic c1
configs --describe --topic c1 --all
configs --describe --topic nothere
configs --alter --topic c1 --add-config retention.ms=100,cleanup.policy=[compact,delete]
configs --alter --topic c1 --add-config cleanup.policy=foo
configs --alter --topic c1 --add-config no.such=1
configs --alter --topic c1 --add-config leader.replication.throttled.replicas=[0:1,1:1]
configs --alter --topic c1 --add-config min.cleanable.dirty.ratio=2
configs --alter --topic c1 --add-config compression.type=gzip --delete-config retention.ms
configs --alter --topic c1 --delete-config retention.ms
configs --describe --topic c1
configs --alter --broker 1 --add-config log.cleaner.threads=2
configs --alter --broker 1 --add-config broker.id=3
configs --alter --broker 1 --add-config no.such=3
configs --alter --broker 1 --add-config ssl.keystore.password=secret
configs --alter --broker x --add-config log.cleaner.threads=2
configs --alter --broker-defaults --add-config log.cleaner.threads=1,message.max.bytes=2000000
configs --describe --entity-type brokers
configs --describe --broker-defaults
configs --describe --topic c1 --all
configs --alter --broker 1 --delete-config log.cleaner.threads,ssl.keystore.password
configs --alter --broker 1 --delete-config nothing.there
configs --alter --broker-defaults --delete-config log.cleaner.threads,message.max.bytes
configs --describe --broker-defaults
configs --describe --entity-type client-metrics
topics --delete --topic c1
"""

GROUPS = """
groups --list
groups --delete --group nothere
topics --create --topic g1 --partitions 3
console-producer --topic g1 PARSE
console-consumer --topic g1 --group ga --from-beginning --max-messages 20
console-consumer --topic g1 --group gb --from-beginning --max-messages 20
groups --list --state
groups --list --state empty,stable
groups --list --type
groups --list --type consumer
groups --describe --group ga
groups --describe --group ga --offsets --verbose
groups --describe --group ga --members --verbose
groups --describe --group ga --state --verbose
groups --describe --all-groups --state
groups --reset-offsets --group ga --topic g1 --to-earliest
groups --reset-offsets --group ga --topic g1 --to-earliest --execute
groups --reset-offsets --group ga --topic g1:0,2 --to-offset 3 --execute
groups --reset-offsets --group ga --topic g1 --to-offset 1000 --execute
groups --reset-offsets --group ga --topic g1 --shift-by -2 --execute
groups --reset-offsets --group ga --topic g1 --by-duration PT1H --execute
groups --reset-offsets --group ga --topic g1 --to-datetime 2040-01-01T00:00:00.000 --execute
groups --reset-offsets --group ga --topic g1 --to-current --execute
groups --reset-offsets --group ga --group gb --all-topics --to-offset 2 --export
groups --reset-offsets --group ga --topic nothere --to-earliest --execute
groups --reset-offsets --group gnew --topic g1 --to-earliest --execute
groups --describe --all-groups
groups --delete-offsets --group ga --topic g1:0
groups --delete-offsets --group ga --topic nothere
groups --describe --group ga
streams-reset --application-id ga --input-topics g1 --dry-run
groups --delete --group gb --group nothere
groups --delete --all-groups
groups --list
topics --delete --topic g1
"""

OFFSETS = """
topics --create --topic r1 --partitions 3
console-producer --topic r1 PARSE
get-offsets --topic r1
get-offsets --topic r1 --time earliest
get-offsets --topic r1 --time -2
get-offsets --topic r1 --time earliest-local
get-offsets --topic r1 --time latest-tiered
get-offsets --topic r1 --time 1600000000000
get-offsets --topic r1 --time 9999999999999
get-offsets --topic r1 --partitions 0,2
get-offsets --topic nothere
get-offsets --topic-partitions r1:1-2
get-offsets --exclude-internal-topics
log-dirs --describe --topic-list r1
log-dirs --describe --topic-list nothere
log-dirs --describe --broker-list 9
delete-records --offset-json-file FILES/some.json
delete-records --offset-json-file FILES/beyond.json
delete-records --offset-json-file FILES/twice.json
get-offsets --topic r1 --time earliest
reassign --generate --topics-to-move-json-file FILES/topics.json --broker-list 1
transactions find-hanging --topic r1
transactions list
transactions describe --transactional-id nobody
topics --delete --topic r1
"""

FILES = {
    "some.json": '{"version":1,"partitions":[{"topic":"r1","partition":0,"offset":2}]}',
    "beyond.json": '{"version":1,"partitions":[{"topic":"r1","partition":0,"offset":999}]}',
    "twice.json": '{"version":1,"partitions":[{"topic":"r1","partition":0,"offset":1},'
    '{"topic":"r1","partition":0,"offset":1}]}',
    "topics.json": '{"version":1,"topics":[{"topic":"r1"}]}',
    "client.properties": "client.id=tools\n",
}

SECURITY = """
configs --describe --entity-type clients
configs --describe --entity-type users
configs --describe --entity-type ips
configs --describe --user alice
configs --describe --client-defaults
configs --alter --user alice --delete-config SCRAM-SHA-256
configs --alter --user alice --add-config SCRAM-SHA-256=[iterations=8192,password=secret]
configs --alter --user alice --add-config SCRAM-SHA-512=[password=secret]
configs --alter --user bob --add-config SCRAM-SHA-256=[iterations=4095,password=secret]
configs --alter --user bob --add-config SCRAM-SHA-256=[password=a],SCRAM-SHA-512=[password=b]
configs --alter --user a/b --add-config SCRAM-SHA-256=[password=c]
configs --describe --user alice
configs --describe --entity-type users
configs --alter --user alice --delete-config SCRAM-SHA-256
configs --alter --user alice --delete-config SCRAM-SHA-256
configs --describe --user alice
delegation-tokens --describe --command-config FILES/client.properties
delegation-tokens --create --max-life-time-period -1 --command-config FILES/client.properties
delegation-tokens --renew --renew-time-period -1 --hmac aG1hYw== --command-config FILES/client.properties
delegation-tokens --expire --expiry-time-period -1 --hmac aG1hYw== --command-config FILES/client.properties
"""

QUOTAS = """
configs --alter --user q1 --add-config producer_byte_rate=1048576,consumer_byte_rate=2097152
configs --alter --user q1 --add-config SCRAM-SHA-256=[iterations=8192,password=secret]
configs --alter --user q1 --add-config request_percentage=99.5
configs --describe --user q1
configs --alter --user q1 --delete-config SCRAM-SHA-256
configs --describe --user q1
configs --alter --user q1 --client c1 --add-config controller_mutation_rate=1000
configs --alter --user q1 --client-defaults --add-config producer_byte_rate=1000000
configs --alter --user q1 --client c/2 --add-config request_percentage=50
configs --describe --user q1 --client c1
configs --describe --user q1 --client-defaults
configs --describe --entity-type users --entity-name q1 --entity-type clients
configs --alter --user-defaults --add-config producer_byte_rate=100000000
configs --describe --user-defaults
configs --alter --client c1 --add-config consumer_byte_rate=100000000
configs --alter --client-defaults --add-config consumer_byte_rate=100000000
configs --describe --entity-type clients
configs --describe --entity-type users
configs --describe --client c1
configs --describe --client-defaults
configs --alter --client c1 --add-config producer_byte_rate=0
configs --alter --client c1 --add-config producer_byte_rate=-5
configs --alter --client c1 --add-config producer_byte_rate=1.5
configs --alter --client c1 --add-config producer_byte_rate=many
configs --alter --client c1 --add-config no_such_rate=1
configs --alter --client c1 --add-config connection_creation_rate=1
configs --alter --client c1 --delete-config producer_byte_rate
configs --alter --client c1 --delete-config no_such_rate
configs --alter --ip 10.0.0.1 --add-config connection_creation_rate=100
configs --alter --ip-defaults --add-config connection_creation_rate=1000
configs --alter --ip 10.0.0.1 --add-config connection_creation_rate=0
configs --alter --ip 10.0.0.1 --add-config producer_byte_rate=100
configs --describe --entity-type ips
configs --describe --ip 10.0.0.1
configs --describe --ip-defaults
configs --alter --ip 10.0.0.1 --delete-config connection_creation_rate
configs --alter --ip-defaults --delete-config connection_creation_rate
configs --describe --entity-type ips
configs --alter --client c1 --delete-config consumer_byte_rate
configs --alter --client-defaults --delete-config consumer_byte_rate
configs --alter --user-defaults --delete-config producer_byte_rate
configs --alter --user q1 --delete-config producer_byte_rate,consumer_byte_rate,request_percentage
configs --alter --user q1 --client c1 --delete-config controller_mutation_rate
configs --alter --user q1 --client-defaults --delete-config producer_byte_rate
configs --alter --user q1 --client c/2 --delete-config request_percentage
configs --describe --entity-type clients
configs --describe --entity-type users
"""

REFUSED = {
    "metadata-quorum remove-controller --controller-id 1 --controller-directory-id QUFBQUFBQUFBQUFBQUFBQQ": (
        "The node does not support REMOVE_RAFT_VOTER"
    ),
}
"""Requests that kcompat refuses as yet, and the words in which a tool says so."""


@pytest.fixture(scope="module")
def brokers(new_broker: Callable[..., BrokerProcess]) -> Iterator[tuple[BrokerProcess, BrokerProcess]]:
    """Ours and Kafka 3.9.2, with the same number."""
    insist_on_tools()
    with new_broker(properties={"broker.id": "1"}) as ours, RealKafka() as kafka:
        yield ours, kafka
        assert "Traceback" not in ours.log_tail(1_000_000), ours.log_tail(8000)


@pytest.fixture(scope="module", params=FIRST_OF_VERSIONS)
def benches(
    request: pytest.FixtureRequest,
    brokers: tuple[BrokerProcess, BrokerProcess],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Benches]:
    version: str = request.param
    ours, kafka = ({1: broker} for broker in brokers)
    with side_by_side(version, ours, kafka, FILES, tmp_path_factory.mktemp(f"tools-{version}")) as both:
        yield both


@pytest.mark.parametrize(
    "script",
    [TOPICS, CONFIGS, GROUPS, OFFSETS, SECURITY, QUOTAS],
    ids=("topics", "configs", "groups", "offsets", "security", "quotas"),
)
def test_a_tool_prints_what_it_prints_with_kafka(benches: Benches, script: str) -> None:
    benches.compare(script)


def test_what_is_not_served_is_refused_at_once(benches: Benches, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--target") == "kafka":
        pytest.skip("Kafka serves it")
    for command, words in REFUSED.items():
        ended = benches.ours.run(command)
        assert ended.code not in ("0", "hangs"), (command, ended)
        assert words in ended.out + ended.err, (command, ended)
