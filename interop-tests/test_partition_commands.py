"""ACLs, transactions, elections and reassignments: the commands print what Kafka's scripts print."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pytest

from command_parity import Side, by_command, by_script, compare, make_topics, write_files
from real_kafka import RealKafka
from support.kcompat_broker import KcompatBroker
from test_transaction_tools import HANGING, OPEN, UNVERIFIED, fill
from tool_bench import insist_on_tools
from tools_jvm import ToolsJvm, compile_runner

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from support.broker_process import BrokerProcess

pytestmark = pytest.mark.thorough("tests/wire/test_partition_commands.py runs each command without a JVM")

ACLS = """
acls --bootstrap-server BOOT --list
acls --bootstrap-server BOOT --add --allow-principal User:bob --operation Read --topic one
acls --bootstrap-server BOOT --add --allow-principal User:bob --operation Read --topic one
acls --bootstrap-server BOOT --add --allow-principal User:bob --allow-principal User:eve --allow-host 10.0.0.1 --operation Read --operation Write --topic one
acls --bootstrap-server BOOT --add --deny-principal User:mal --topic two --group g
acls --bootstrap-server BOOT --add --allow-principal User:p --producer --topic prod
acls --bootstrap-server BOOT --add --allow-principal User:p --producer --topic prod --transactional-id tx --idempotent
acls --bootstrap-server BOOT --add --allow-principal User:c --consumer --topic prod --group cg
acls --bootstrap-server BOOT --add --allow-principal User:c --consumer --producer --topic both --group cg2
acls --bootstrap-server BOOT --add --allow-principal User:c --consumer --topic prod
acls --bootstrap-server BOOT --add --allow-principal User:c --producer
acls --bootstrap-server BOOT --add --allow-principal User:c --idempotent --topic x
acls --bootstrap-server BOOT --add --allow-principal User:a --cluster --operation ClusterAction
acls --bootstrap-server BOOT --add --allow-principal User:a --cluster --operation Read
acls --bootstrap-server BOOT --add --allow-principal User:a --operation Read --topic pre --resource-pattern-type prefixed
acls --bootstrap-server BOOT --add --allow-principal User:a --operation Read --topic pre --resource-pattern-type match
acls --bootstrap-server BOOT --add --allow-principal User:a --operation Read --topic pre --resource-pattern-type nonsense
acls --bootstrap-server BOOT --add --allow-principal User:a --operation nonsense --topic pre
acls --bootstrap-server BOOT --add --allow-principal bad --operation Read --topic pre
acls --bootstrap-server BOOT --add --operation Read --topic pre
acls --bootstrap-server BOOT --add --allow-principal User:a --operation Read
acls --bootstrap-server BOOT --add --allow-principal User:a --delegation-token tok --operation Describe
acls --bootstrap-server BOOT --add --allow-principal User:a --user-principal User:u --operation CreateTokens
acls --bootstrap-server BOOT --list
acls --bootstrap-server BOOT --list --topic one
acls --bootstrap-server BOOT --list --topic pre.fix --resource-pattern-type match
acls --bootstrap-server BOOT --list --topic pre --resource-pattern-type any
acls --bootstrap-server BOOT --list --principal User:bob
acls --bootstrap-server BOOT --list --principal User:bob --topic one --principal User:eve
acls --bootstrap-server BOOT --list --cluster
acls --bootstrap-server BOOT --list --group *
acls --bootstrap-server BOOT --list --add --topic one
acls --bootstrap-server BOOT
acls --list
acls --bootstrap-server BOOT --list --producer
acls --bootstrap-server BOOT --add --principal User:x --topic one
acls --bootstrap-server BOOT --remove --allow-principal User:bob --operation Read --topic one --force
acls --bootstrap-server BOOT --remove --topic one --force
acls --bootstrap-server BOOT --remove --topic nothing --force
acls --bootstrap-server BOOT --remove --allow-principal User:p --producer --topic prod --force
acls --bootstrap-server BOOT --remove --force
acls --bootstrap-server BOOT --remove --topic * --resource-pattern-type any --force
acls --bootstrap-server BOOT --list
acls --bootstrap-server BOOT --list --command-config /nowhere
acls --bootstrap-server nowhere.invalid:1 --list
acls --help
"""  # noqa: E501

PARTITIONS = """
transactions --bootstrap-server BOOT list
transactions --bootstrap-server BOOT describe --transactional-id nope
transactions --bootstrap-server BOOT describe
transactions --bootstrap-server BOOT describe-producers --topic one --partition 0
transactions --bootstrap-server BOOT describe-producers --topic one --partition x
transactions --bootstrap-server BOOT describe-producers --topic one
transactions --bootstrap-server BOOT abort --topic one --partition 0
transactions --bootstrap-server BOOT abort --topic one --partition 0 --start-offset 3
transactions --bootstrap-server BOOT abort --topic one --partition 0 --producer-id 3
transactions --bootstrap-server BOOT abort --topic one --partition 0 --producer-id 3 --producer-epoch 0
transactions --bootstrap-server BOOT abort --topic one --partition 0 --producer-id 3 --producer-epoch 0 --coordinator-epoch 0
transactions --bootstrap-server BOOT find-hanging
transactions --bootstrap-server BOOT find-hanging --topic one
transactions --bootstrap-server BOOT find-hanging --topic missing
transactions --bootstrap-server BOOT find-hanging --partition 0
transactions --bootstrap-server BOOT find-hanging --broker-id 1
transactions --bootstrap-server BOOT nonsense
transactions --bootstrap-server BOOT
transactions list
transactions
transactions --bootstrap-server BOOT --command-config /nowhere list
transactions --bootstrap-server nowhere.invalid:1 list
leader-election --bootstrap-server BOOT --election-type preferred --all-topic-partitions
leader-election --bootstrap-server BOOT --election-type preferred --topic one --partition 0
leader-election --bootstrap-server BOOT --election-type PREFERRED --topic missing --partition 0
leader-election --bootstrap-server BOOT --election-type unclean --topic one --partition 0
leader-election --bootstrap-server BOOT --election-type nonsense --topic one --partition 0
leader-election --bootstrap-server BOOT --topic one --partition 0
leader-election --election-type preferred --topic one --partition 0
leader-election
leader-election --bootstrap-server BOOT --election-type preferred
leader-election --bootstrap-server BOOT --election-type preferred --topic one
leader-election --bootstrap-server BOOT --election-type preferred --partition 0 --all-topic-partitions
leader-election --bootstrap-server BOOT --election-type preferred --topic one --partition 0 --all-topic-partitions
leader-election --bootstrap-server BOOT --election-type preferred --path-to-json-file FILES/le.json
leader-election --bootstrap-server BOOT --election-type preferred --path-to-json-file FILES/le2.json
leader-election --bootstrap-server BOOT --election-type preferred --path-to-json-file FILES/le3.json
leader-election --bootstrap-server BOOT --election-type preferred --path-to-json-file FILES/le4.json
leader-election --bootstrap-server BOOT --election-type preferred --path-to-json-file FILES/le5.json
leader-election --bootstrap-server BOOT --election-type preferred --path-to-json-file /nowhere
leader-election --help
reassign-partitions --bootstrap-server BOOT --list
reassign-partitions --bootstrap-server BOOT --generate --topics-to-move-json-file FILES/tm.json --broker-list 1
reassign-partitions --bootstrap-server BOOT --generate --topics-to-move-json-file FILES/tm.json --broker-list 1,1
reassign-partitions --bootstrap-server BOOT --generate --topics-to-move-json-file FILES/tm.json --broker-list 5
reassign-partitions --bootstrap-server BOOT --generate --topics-to-move-json-file FILES/tm.json --broker-list x
reassign-partitions --bootstrap-server BOOT --generate --topics-to-move-json-file FILES/tm2.json --broker-list 1
reassign-partitions --bootstrap-server BOOT --generate --topics-to-move-json-file FILES/tm3.json --broker-list 1
reassign-partitions --bootstrap-server BOOT --generate --topics-to-move-json-file FILES/tm4.json --broker-list 1
reassign-partitions --bootstrap-server BOOT --generate --topics-to-move-json-file FILES/tm5.json --broker-list 1
reassign-partitions --bootstrap-server BOOT --generate --topics-to-move-json-file FILES/tm.json
reassign-partitions --bootstrap-server BOOT --generate --broker-list 1
reassign-partitions --bootstrap-server BOOT --execute --reassignment-json-file FILES/r1.json
reassign-partitions --bootstrap-server BOOT --execute --reassignment-json-file FILES/r1.json --throttle 100000
reassign-partitions --bootstrap-server BOOT --execute --reassignment-json-file FILES/r1.json --replica-alter-log-dirs-throttle 100000
reassign-partitions --bootstrap-server BOOT --execute --reassignment-json-file FILES/r2.json
reassign-partitions --bootstrap-server BOOT --execute --reassignment-json-file FILES/r3.json
reassign-partitions --bootstrap-server BOOT --execute --reassignment-json-file FILES/r4.json
reassign-partitions --bootstrap-server BOOT --execute --reassignment-json-file FILES/r5.json
reassign-partitions --bootstrap-server BOOT --execute --reassignment-json-file FILES/r6.json
reassign-partitions --bootstrap-server BOOT --execute --reassignment-json-file FILES/r7.json
reassign-partitions --bootstrap-server BOOT --execute --reassignment-json-file FILES/r8.json
reassign-partitions --bootstrap-server BOOT --execute --reassignment-json-file FILES/r9.json
reassign-partitions --bootstrap-server BOOT --execute --reassignment-json-file FILES/r10.json
reassign-partitions --bootstrap-server BOOT --execute --reassignment-json-file FILES/r11.json
reassign-partitions --bootstrap-server BOOT --execute --reassignment-json-file /nowhere
reassign-partitions --bootstrap-server BOOT --execute
reassign-partitions --bootstrap-server BOOT --verify --reassignment-json-file FILES/r1.json
reassign-partitions --bootstrap-server BOOT --verify --reassignment-json-file FILES/r2.json --preserve-throttles
reassign-partitions --bootstrap-server BOOT --verify --reassignment-json-file FILES/r9.json
reassign-partitions --bootstrap-server BOOT --verify --reassignment-json-file FILES/r10.json
reassign-partitions --bootstrap-server BOOT --cancel --reassignment-json-file FILES/r1.json
reassign-partitions --bootstrap-server BOOT --cancel --reassignment-json-file FILES/r10.json
reassign-partitions --bootstrap-server BOOT
reassign-partitions --list
reassign-partitions --bootstrap-server BOOT --list --verify
reassign-partitions --bootstrap-server BOOT --list --throttle 5
reassign-partitions --bootstrap-server nowhere.invalid:1 --list
reassign-partitions --help
"""  # noqa: E501

FILES = {
    "le.json": '{"partitions":[{"topic":"one","partition":0},{"topic":"two","partition":1}]}',
    "le2.json": '{"partitions":[{"topic":"one","partition":0},{"topic":"one","partition":0}]}',
    "le3.json": '{"nothing":[]}',
    "le4.json": "{nonsense",
    "le5.json": '{"partitions":[{"topic":"one"}]}',
    "tm.json": '{"topics":[{"topic":"one"},{"topic":"two"}],"version":1}',
    "tm2.json": '{"topics":[{"topic":"missing"}],"version":1}',
    "tm3.json": '{"topics":[{"topic":"one"},{"topic":"one"}],"version":1}',
    "tm4.json": "nonsense",
    "tm5.json": '{"topics":[],"version":9}',
    "r1.json": '{"version":1,"partitions":[{"topic":"one","partition":0,"replicas":[1]}]}',
    "r2.json": '{"version":1,"partitions":[{"topic":"one","partition":0,"replicas":[5]}]}',
    "r3.json": '{"version":1,"partitions":[{"topic":"one","partition":4,"replicas":[1]}]}',
    "r4.json": '{"version":1,"partitions":[]}',
    "r5.json": '{"version":1,"partitions":[{"topic":"one","partition":0,"replicas":[]}]}',
    "r6.json": '{"version":1,"partitions":[{"topic":"one","partition":0,"replicas":[1,1]}]}',
    "r7.json": (
        '{"version":1,"partitions":['
        '{"topic":"one","partition":0,"replicas":[1]},{"topic":"one","partition":0,"replicas":[1]}]}'
    ),
    "r8.json": (
        '{"version":1,"partitions":[{"topic":"one","partition":0,"replicas":[1],"log_dirs":["/a","/b"]}]}'
    ),
    "r9.json": (
        '{"version":1,"partitions":[{"topic":"one","partition":0,"replicas":[1],"log_dirs":["/nowhere"]}]}'
    ),
    "r10.json": '{"version":1,"partitions":[{"topic":"missing","partition":0,"replicas":[1]}]}',
    "r11.json": '{"version":1,"partitions":[{"topic":"one","replicas":[1]}]}',
}

AUTHORIZERS = {
    "kcompat": "kafka.security.authorizer.AclAuthorizer",
    "kafka": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
}


@pytest.fixture(scope="module", params=AUTHORIZERS)
def kind(request: pytest.FixtureRequest) -> str:
    """The kind of broker that both sides have."""
    insist_on_tools()
    return request.param


@contextmanager
def two_of(kind: str, properties: Mapping[str, str]) -> Iterator[tuple[BrokerProcess, BrokerProcess]]:
    """Two equal brokers of a kind, one for the scripts and one for the commands."""

    def broker() -> BrokerProcess:
        if kind == "kafka":
            return RealKafka(properties=properties)
        return KcompatBroker({"broker.id": "1", **properties})

    with broker() as one, broker() as other:
        yield one, other


@pytest.fixture(scope="module")
def two_brokers(kind: str) -> Iterator[tuple[BrokerProcess, BrokerProcess]]:
    authorizer = {"authorizer.class.name": AUTHORIZERS[kind], "super.users": "User:ANONYMOUS"}
    with two_of(kind, authorizer) as (one, other):
        make_topics(one, other)
        yield one, other


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(tmp_path_factory.mktemp("files"), FILES)


def test_acls_print_what_scripts_print(
    two_brokers: tuple[BrokerProcess, BrokerProcess], files: Path, tmp_path: Path
) -> None:
    compile_runner("4.3.0", tmp_path)
    with closing(ToolsJvm("4.3.0", tmp_path)) as jvm:
        kafka = Side(two_brokers[0], files, by_script(jvm, "4.3.0"))
        compare(ACLS, kafka, Side(two_brokers[1], files, by_command))


def test_commands_on_partitions_print_what_scripts_print(
    two_brokers: tuple[BrokerProcess, BrokerProcess], files: Path, tmp_path: Path
) -> None:
    compile_runner("3.9.2", tmp_path)
    with closing(ToolsJvm("3.9.2", tmp_path)) as jvm:
        kafka = Side(two_brokers[0], files, by_script(jvm, "3.9.2"))
        compare(PARTITIONS, kafka, Side(two_brokers[1], files, by_command))


def test_transactions_print_what_scripts_print(kind: str, tmp_path: Path) -> None:
    lines = (OPEN + HANGING).replace("transactions ", "transactions --bootstrap-server BOOT ")
    with two_of(kind, UNVERIFIED) as (one, other):
        fill(one, other)
        compile_runner("3.9.2", tmp_path)
        with closing(ToolsJvm("3.9.2", tmp_path)) as jvm:
            kafka = Side(one, tmp_path, by_script(jvm, "3.9.2"))
            compare(lines, kafka, Side(other, tmp_path, by_command))
