"""`kcompat console-producer`, `console-consumer` and `consumer-groups` print what Kafka's scripts print."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from command_parity import Side, by_command, by_script, compare, make_topics, write_files
from real_kafka import RealKafka
from support.kcompat_broker import KcompatBroker
from tool_bench import insist_on_tools
from tools_jvm import ToolsJvm, compile_runner

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.broker_process import BrokerProcess

pytestmark = pytest.mark.thorough("tests/wire/test_group_commands.py runs each command without a JVM")

PREPARED = """
console-producer --bootstrap-server BOOT --topic one <<< a\\nb\\nc\\nd\\ne\\nf\\n
console-producer --bootstrap-server BOOT --topic two --property parse.key=true --property key.separator=: <<< k1:v1\\nk2:v2\\nk3:v3\\nk4:v4\\nk5:v5\\n
console-consumer --bootstrap-server BOOT --topic one --group g1 --from-beginning --max-messages 6
console-consumer --bootstrap-server BOOT --topic two --group g2 --from-beginning --max-messages 5
"""  # noqa: E501

GROUPS = """
consumer-groups --bootstrap-server BOOT --list
consumer-groups --bootstrap-server BOOT --list --state
consumer-groups --bootstrap-server BOOT --list --state stable,empty
consumer-groups --bootstrap-server BOOT --list --state nonsense
consumer-groups --bootstrap-server BOOT --list --type
consumer-groups --bootstrap-server BOOT --list --type classic
consumer-groups --bootstrap-server BOOT --list --type consumer
consumer-groups --bootstrap-server BOOT --list --type nonsense
consumer-groups --bootstrap-server BOOT --list --type Classic --state Empty
consumer-groups --bootstrap-server BOOT --describe --group g1
consumer-groups --bootstrap-server BOOT --describe --group g1 --verbose
consumer-groups --bootstrap-server BOOT --describe --group g1 --members
consumer-groups --bootstrap-server BOOT --describe --group g1 --members --verbose
consumer-groups --bootstrap-server BOOT --describe --group g1 --state
consumer-groups --bootstrap-server BOOT --describe --group g1 --state --verbose
consumer-groups --bootstrap-server BOOT --describe --group nope
consumer-groups --bootstrap-server BOOT --describe --group nope --members
consumer-groups --bootstrap-server BOOT --describe --group nope --state
consumer-groups --bootstrap-server BOOT --describe --all-groups
consumer-groups --bootstrap-server BOOT --describe --all-groups --state
consumer-groups --bootstrap-server BOOT --describe --all-groups --members
consumer-groups --bootstrap-server BOOT --describe
consumer-groups --bootstrap-server BOOT --describe --group g1 --members --state
consumer-groups --bootstrap-server BOOT --describe --group g1 --state stable
consumer-groups --bootstrap-server BOOT --describe --group g1 --topic one
consumer-groups --bootstrap-server BOOT --list --group g1
consumer-groups --bootstrap-server BOOT --members
consumer-groups --bootstrap-server BOOT
consumer-groups --list
consumer-groups --bootstrap-server BOOT --list --describe --group x
consumer-groups --bootstrap-server BOOT --describe --group g1 --all-groups
consumer-groups --bootstrap-server BOOT --list --command-config /nowhere
consumer-groups --bootstrap-server nowhere.invalid:9092 --list
consumer-groups --bootstrap-server 127.0.0.1:1 --list --timeout 1500
consumer-groups --bootstrap-server BOOT --reset-offsets --group g1 --topic one --to-earliest
consumer-groups --bootstrap-server BOOT --reset-offsets --group g1 --topic one --to-earliest --dry-run
consumer-groups --bootstrap-server BOOT --reset-offsets --group g1 --topic one --to-earliest --dry-run --execute
consumer-groups --bootstrap-server BOOT --reset-offsets --group g1 --topic one --to-earliest --execute
consumer-groups --bootstrap-server BOOT --reset-offsets --group g1 --topic one --to-latest --execute
consumer-groups --bootstrap-server BOOT --reset-offsets --group g1 --topic one --to-offset 3 --execute
consumer-groups --bootstrap-server BOOT --reset-offsets --group g1 --topic one --to-offset 300 --execute
consumer-groups --bootstrap-server BOOT --reset-offsets --group g1 --topic one --to-offset -5 --dry-run
consumer-groups --bootstrap-server BOOT --reset-offsets --group g1 --topic one --shift-by -2 --execute
consumer-groups --bootstrap-server BOOT --reset-offsets --group g1 --topic one --shift-by -200 --execute
consumer-groups --bootstrap-server BOOT --reset-offsets --group g1 --topic two --shift-by 1 --dry-run
consumer-groups --bootstrap-server BOOT --reset-offsets --group g1 --topic one --to-current --dry-run
consumer-groups --bootstrap-server BOOT --reset-offsets --group g1 --topic two --to-current --dry-run
consumer-groups --bootstrap-server BOOT --reset-offsets --group g1 --topic one --to-datetime 2020-01-01T00:00:00.000 --dry-run
consumer-groups --bootstrap-server BOOT --reset-offsets --group g1 --topic one --to-datetime 2090-01-01T00:00:00.000 --dry-run
consumer-groups --bootstrap-server BOOT --reset-offsets --group g1 --topic one --to-datetime nonsense --dry-run
consumer-groups --bootstrap-server BOOT --reset-offsets --group g1 --topic one --to-datetime 2020-01-01 --dry-run
consumer-groups --bootstrap-server BOOT --reset-offsets --group g1 --topic one --to-datetime 2020-01-01T00:00:00 --dry-run
consumer-groups --bootstrap-server BOOT --reset-offsets --group g1 --topic one --to-datetime 2020-01-01T00:00:00.000Z --dry-run
consumer-groups --bootstrap-server BOOT --reset-offsets --group g1 --topic one --to-datetime 2020-01-01T00:00:00.000+02:00 --dry-run
consumer-groups --bootstrap-server BOOT --reset-offsets --group g1 --topic one --by-duration PT1H --dry-run
consumer-groups --bootstrap-server BOOT --reset-offsets --group g1 --topic one --by-duration P1DT2H --dry-run
consumer-groups --bootstrap-server BOOT --reset-offsets --group g1 --topic one --by-duration nonsense --dry-run
consumer-groups --bootstrap-server BOOT --reset-offsets --group g1 --topic one
consumer-groups --bootstrap-server BOOT --reset-offsets --group g1 --to-earliest
consumer-groups --bootstrap-server BOOT --reset-offsets --group g1 --to-earliest --to-latest --topic one --dry-run
consumer-groups --bootstrap-server BOOT --reset-offsets --to-earliest --topic one --dry-run
consumer-groups --bootstrap-server BOOT --reset-offsets --group g2 --topic two:0 --to-earliest --dry-run
consumer-groups --bootstrap-server BOOT --reset-offsets --group g2 --topic two:0,1 --to-earliest --dry-run
consumer-groups --bootstrap-server BOOT --reset-offsets --group g2 --topic two:7 --to-earliest --dry-run
consumer-groups --bootstrap-server BOOT --reset-offsets --group g2 --topic two:x --to-earliest --dry-run
consumer-groups --bootstrap-server BOOT --reset-offsets --group g2 --topic two: --to-earliest --dry-run
consumer-groups --bootstrap-server BOOT --reset-offsets --group g2 --topic missing --to-earliest --dry-run
consumer-groups --bootstrap-server BOOT --reset-offsets --group g2 --topic missing:0 --to-earliest --dry-run
consumer-groups --bootstrap-server BOOT --reset-offsets --group g2 --topic two --topic missing:0 --shift-by -1 --dry-run
consumer-groups --bootstrap-server BOOT --reset-offsets --group g2 --all-topics --to-earliest --dry-run
consumer-groups --bootstrap-server BOOT --reset-offsets --group newgroup --topic one --to-earliest --execute
consumer-groups --bootstrap-server BOOT --reset-offsets --group g2 --all-topics --to-latest --dry-run --export
consumer-groups --bootstrap-server BOOT --reset-offsets --group g1 --group g2 --all-topics --to-latest --dry-run
consumer-groups --bootstrap-server BOOT --reset-offsets --group g1 --from-file FILES/plan.csv --dry-run
consumer-groups --bootstrap-server BOOT --reset-offsets --group g1 --from-file FILES/plan2.csv --dry-run
consumer-groups --bootstrap-server BOOT --reset-offsets --group g1 --group g2 --from-file FILES/plan2.csv --dry-run
consumer-groups --bootstrap-server BOOT --reset-offsets --group g3 --from-file FILES/plan2.csv --dry-run
consumer-groups --bootstrap-server BOOT --reset-offsets --group g1 --from-file FILES/gone.csv --dry-run
consumer-groups --bootstrap-server BOOT --reset-offsets --group g1 --from-file /nowhere --dry-run
consumer-groups --bootstrap-server BOOT --reset-offsets --group g1 --topic one --shift-by x --dry-run
consumer-groups --bootstrap-server BOOT --delete-offsets --group g1 --topic one
consumer-groups --bootstrap-server BOOT --delete-offsets --group g2 --topic two:0
consumer-groups --bootstrap-server BOOT --delete-offsets --group g2 --topic two:9
consumer-groups --bootstrap-server BOOT --delete-offsets --group g2 --topic missing
consumer-groups --bootstrap-server BOOT --delete-offsets --group nope --topic two
consumer-groups --bootstrap-server BOOT --delete-offsets --group g2
consumer-groups --bootstrap-server BOOT --delete --group nope
consumer-groups --bootstrap-server BOOT --delete --group g1 --group nope
consumer-groups --bootstrap-server BOOT --delete --group g1
consumer-groups --bootstrap-server BOOT --delete
consumer-groups --bootstrap-server BOOT --delete --group g2 --topic two
consumer-groups --bootstrap-server BOOT --delete --all-groups
consumer-groups --bootstrap-server BOOT --delete --all-groups
consumer-groups --bootstrap-server BOOT --list
consumer-groups --bootstrap-server BOOT --describe --all-groups
consumer-groups --help
consumer-groups --bootstrap-server BOOT --nonsense
consumer-groups --bootstrap-server BOOT --list --timeout x
"""  # noqa: E501

PRODUCERS = """
console-producer --bootstrap-server BOOT --topic one <<< a\\nb\\nc\\n
console-producer --bootstrap-server BOOT --topic one --property parse.key=true --property key.separator=: <<< k1:v1\\nk2:v2\\nnokey\\n
console-producer --bootstrap-server BOOT --topic one --property parse.key=true --property key.separator=: --property ignore.error=true <<< k1:v1\\nk2:v2\\nnokey\\n
console-producer --bootstrap-server BOOT --topic newone --property parse.headers=true --property parse.key=true --property null.marker=NULL <<< h1:v1,h2:v2\\tkk\\tvv\\nNULL\\tNULL\\tNULL\\nh:NULL\\tq\\tr\\n
console-producer --bootstrap-server BOOT --topic two --property parse.headers=true <<< h1\\tv\\n
console-producer --bootstrap-server BOOT --topic two --property headers.delimiter=, <<< h1\\tv\\n
console-producer --bootstrap-server BOOT --topic one --compression-codec <<< z\\n
console-producer --bootstrap-server BOOT --topic one --compression-codec nonsense <<< z\\n
console-producer --bootstrap-server BOOT --topic one --compression-codec zstd --sync <<< z1\\nz2\\n
console-producer --bootstrap-server BOOT --topic one --request-required-acks 0 <<< acks0\\n
console-producer --bootstrap-server BOOT --topic one --request-required-acks 7 <<< acks0\\n
console-producer --bootstrap-server BOOT --topic one --producer-property enable.idempotence=true --request-required-acks 1 <<< acks0\\n
console-producer --bootstrap-server BOOT --topic one --producer-property nonsense <<< acks0\\n
console-producer --bootstrap-server BOOT --topic one --producer-property max.request.size=10 <<< longer than ten\\n
console-producer --bootstrap-server BOOT <<< x\\n
console-producer --topic x <<< x\\n
console-producer --bootstrap-server nowhere --topic x <<< x\\n
console-producer --bootstrap-server nowhere.invalid:9092 --topic x <<< x\\n
console-producer --bootstrap-server BOOT --topic b@d <<< x\\n
console-producer --bootstrap-server BOOT --topic one --line-reader Nonsense <<< x\\n
console-producer --bootstrap-server BOOT --topic one --max-block-ms abc <<< x\\n
console-producer --bootstrap-server BOOT --topic one --producer.config /nowhere <<< x\\n
console-producer --broker-list BOOT --topic one <<< bl\\n
console-producer --help
console-producer --bootstrap-server BOOT --topic newone <<< x\\n
"""  # noqa: E501

CONSUMERS = """
console-consumer --bootstrap-server BOOT --topic one --from-beginning --timeout-ms 3000
console-consumer --bootstrap-server BOOT --topic one --from-beginning --max-messages 2
console-consumer --bootstrap-server BOOT --topic newone --from-beginning --timeout-ms 3000 --property print.key=true --property print.headers=true --property print.partition=true --property print.offset=true --property null.literal=NIL
console-consumer --bootstrap-server BOOT --topic one --partition 0 --offset 2 --max-messages 2 --property print.timestamp=true --property print.key=true
console-consumer --bootstrap-server BOOT --topic one --partition 0 --offset earliest --max-messages 1
console-consumer --bootstrap-server BOOT --topic one --partition 0 --timeout-ms 500
console-consumer --bootstrap-server BOOT --topic one --partition 7 --offset 0 --timeout-ms 500
console-consumer --bootstrap-server BOOT --topic one --partition 0 --offset 9999 --timeout-ms 1500
console-consumer --bootstrap-server BOOT --topic one --offset 2
console-consumer --bootstrap-server BOOT --topic one --partition 0 --offset -3
console-consumer --bootstrap-server BOOT --topic one --partition 0 --offset x
console-consumer --bootstrap-server BOOT --partition 0
console-consumer --bootstrap-server BOOT
console-consumer --bootstrap-server BOOT --topic a --include b
console-consumer --topic a
console-consumer --bootstrap-server BOOT --topic one --group g1 --from-beginning --timeout-ms 4000
console-consumer --bootstrap-server BOOT --topic one --group g1 --timeout-ms 4000
console-consumer --bootstrap-server BOOT --include t.* --from-beginning --timeout-ms 4000
console-consumer --bootstrap-server BOOT --topic one --group g1 --partition 0
console-consumer --bootstrap-server BOOT --topic one --group g1 --consumer-property group.id=g2
console-consumer --bootstrap-server BOOT --topic one --from-beginning --consumer-property auto.offset.reset=latest
console-consumer --bootstrap-server BOOT --topic one --isolation-level nonsense --timeout-ms 1000
console-consumer --bootstrap-server BOOT --topic one --isolation-level read_committed --from-beginning --timeout-ms 3000 --formatter org.apache.kafka.tools.consumer.NoOpMessageFormatter
console-consumer --bootstrap-server BOOT --topic one --formatter org.apache.kafka.tools.consumer.LoggingMessageFormatter --from-beginning --max-messages 1
console-consumer --bootstrap-server BOOT --topic one --formatter kafka.tools.DefaultMessageFormatter --from-beginning --max-messages 1
console-consumer --bootstrap-server BOOT --topic one --formatter Nonsense --from-beginning --max-messages 1
console-consumer --bootstrap-server BOOT --topic missing --timeout-ms 2000
console-consumer --bootstrap-server BOOT --topic one --property print.key=true --property key.deserializer=org.apache.kafka.common.serialization.LongDeserializer --from-beginning --timeout-ms 2000
console-consumer --bootstrap-server BOOT --topic one --property print.key=true --property value.deserializer=org.apache.kafka.common.serialization.StringDeserializer --from-beginning --max-messages 1
console-consumer --bootstrap-server BOOT --topic one --max-messages 0
console-consumer --bootstrap-server BOOT --topic one --max-messages x
console-consumer --bootstrap-server nowhere.invalid:9092 --topic x --timeout-ms 1000
console-consumer --bootstrap-server 127.0.0.1:1 --topic x --timeout-ms 1000
console-consumer --help
console-consumer --bootstrap-server BOOT --nonsense
"""  # noqa: E501

PLANS = {"plan.csv": "one,0,2\n", "plan2.csv": "g1,one,0,2\ng2,two,1,1\n", "gone.csv": "missing,0,1\n"}


@pytest.fixture(params=[KcompatBroker, RealKafka], ids=["kcompat", "kafka"])
def two_brokers(request: pytest.FixtureRequest) -> Iterator[tuple[BrokerProcess, BrokerProcess]]:
    insist_on_tools()
    with request.param() as one, request.param() as other:
        make_topics(one, other)
        yield one, other


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(tmp_path_factory.mktemp("files"), PLANS)


def test_console_clients_print_what_scripts_print(
    two_brokers: tuple[BrokerProcess, BrokerProcess], files: Path, tmp_path: Path
) -> None:
    compile_runner("3.9.2", tmp_path)
    with closing(ToolsJvm("3.9.2", tmp_path)) as jvm:
        kafka = Side(two_brokers[0], files, by_script(jvm, "3.9.2"))
        ours = Side(two_brokers[1], files, by_command)
        compare(PRODUCERS + CONSUMERS, kafka, ours)


def test_consumer_groups_print_what_scripts_print(
    two_brokers: tuple[BrokerProcess, BrokerProcess], files: Path, tmp_path: Path
) -> None:
    compile_runner("4.3.0", tmp_path)
    with closing(ToolsJvm("4.3.0", tmp_path)) as jvm:
        kafka = Side(two_brokers[0], files, by_script(jvm, "4.3.0"))
        ours = Side(two_brokers[1], files, by_command)
        compare(PREPARED + GROUPS, kafka, ours)
