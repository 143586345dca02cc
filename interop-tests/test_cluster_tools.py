"""Three kcompat brokers beside three real Kafka 3.9.2: Kafka's tools print the same of both, line by line,
and raw requests about leaders and replicas are answered the same.
"""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from broker_cluster import UNHURRIED, BrokerCluster
from commands import run
from differential import among_three, written_among_three
from differential.catalogue import AMONG_BROKERS, WITH_ZOOKEEPER
from differential.cluster_stage import SCENES, THIRD, Stage
from differential.compare import differences
from support.kafka_jars import jvm
from tool_bench import VERSIONS, insist_on_tools, side_by_side

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from differential.cluster_stage import Scene
    from differential.play import Step
    from tool_bench import Bench, Benches

pytestmark = [
    pytest.mark.timeout(400),
    pytest.mark.thorough("test_kafka_tools.py has Kafka's tools on one broker"),
]

SETTINGS = {
    **UNHURRIED,
    "auto.leader.rebalance.enable": "false",
    "log.dirs": "HOME/data,HOME/other",
    "log.retention.ms": "-1",
    "controlled.shutdown.retry.backoff.ms": "100",
}
"""Leaders move only when a tool says so; there are two directories; old records stay; the last brokers, whose
leaderships nobody can take, end soon.
"""
REPLICA_VERIFICATION_S = 8


def _moves(*rows: tuple[str, int, list[int]]) -> str:
    partitions = [{"topic": topic, "partition": index, "replicas": to} for topic, index, to in rows]
    return json.dumps({"version": 1, "partitions": partitions})


def _in_directories(*rows: tuple[str, int, list[int], list[str]]) -> str:
    """Moves that say of each replica which directory of its broker it goes into."""
    moves = json.loads(_moves(*(row[:3] for row in rows)))
    for row, (*_, replicas, names) in zip(moves["partitions"], rows, strict=True):
        row["log_dirs"] = [
            name if name == "any" else f"HOME{broker_id}/{name}"
            for broker_id, name in zip(replicas, names, strict=True)
        ]
    return json.dumps(moves)


PLACED = {"aV": ([1, 2, 3], [2, 3, 1], [3, 1, 2]), "bV": ([1, 2], [2, 3])}
FILES = {
    "settle.json": _in_directories(
        *(
            (topic, index, replicas, ["data"] * len(replicas))
            for topic, partitions in PLACED.items()
            for index, replicas in enumerate(partitions)
        )
    ),
    "split.json": _in_directories(
        ("aV", 0, [1, 2, 3], ["other", "any", "other"]), ("bV", 1, [2, 3], ["other", "any"])
    ),
    "nodir.json": _in_directories(("bV", 0, [1, 2], ["nowhere", "any"])),
    "move.json": _moves(("bV", 0, [3, 2]), ("aV", 0, [3, 1, 2])),
    "grow.json": _moves(("bV", 0, [3, 2, 1])),
    "nobody.json": _moves(("bV", 0, [3, 9])),
    "nothere.json": _moves(("cV", 0, [3, 2])),
    "elect.json": json.dumps({"partitions": [{"topic": "aV", "partition": index} for index in (0, 1)]}),
    "elect-nothere.json": json.dumps({"partitions": [{"topic": "cV", "partition": 0}]}),
}

MADE = """
topics --create --topic aV --replica-assignment 1:2:3,2:3:1,3:1:2
topics --create --topic bV --replica-assignment 1:2 --config min.insync.replicas=2
topics --create --topic cV --replica-assignment 1:2,3
topics --describe
topics --describe --under-replicated-partitions
topics --alter --topic bV --partitions 2 --replica-assignment 1:2,2:3
topics --alter --topic bV --partitions 3 --replica-assignment 1:2,2:3,3
topics --describe --topic bV
console-producer --topic aV --producer-property acks=all PARSE
console-producer --topic bV --producer-property acks=all PARSE
get-offsets --topic aV
get-offsets --topic bV --time earliest
transactions find-hanging --broker-id 2
"""

SETTLE = "reassign --execute --reassignment-json-file FILES/settle.json"
"""Which of its directories a broker puts a new replica into is anybody's guess."""

WHOLE = """
reassign --verify --reassignment-json-file FILES/settle.json
log-dirs --describe --topic-list aV,bV
reassign --execute --reassignment-json-file FILES/split.json
reassign --verify --reassignment-json-file FILES/split.json
reassign --execute --reassignment-json-file FILES/nodir.json
log-dirs --describe --topic-list aV,bV
log-dirs --describe --topic-list aV --broker-list 1,3
log-dirs --describe --broker-list 2,9
configs --alter --entity-type brokers --entity-name 2 --add-config log.cleaner.threads=2
configs --describe --entity-type brokers --entity-name 2
configs --describe --entity-type brokers --entity-name 3
configs --describe --entity-type brokers
configs --alter --entity-type brokers --entity-name 2 --delete-config log.cleaner.threads
leader-election --election-type preferred --topic aV --partition 0
leader-election --election-type preferred --topic cV --partition 0
leader-election --election-type preferred --all-topic-partitions
leader-election --election-type unclean --topic aV --partition 1
leader-election --election-type preferred --path-to-json-file FILES/elect-nothere.json
reassign --list
reassign --execute --reassignment-json-file FILES/nobody.json
reassign --execute --reassignment-json-file FILES/nothere.json
reassign --execute --reassignment-json-file FILES/move.json
reassign --verify --reassignment-json-file FILES/move.json
reassign --list
topics --describe --topic bV
topics --describe --topic aV
log-dirs --describe --topic-list aV,bV
reassign --cancel --reassignment-json-file FILES/move.json
leader-election --election-type preferred --path-to-json-file FILES/elect.json
topics --describe --topic aV
reassign --execute --reassignment-json-file FILES/grow.json --throttle 100000000
reassign --verify --reassignment-json-file FILES/grow.json
configs --describe --entity-type topics --entity-name bV
configs --describe --entity-type brokers
features upgrade --feature nothere=1
features upgrade --feature nothere=1 --dry-run
features upgrade --metadata 3.9-IV0
features downgrade --feature nothere=1
features downgrade --feature nothere=1 --unsafe
features disable --feature nothere
"""

ONE_IS_AWAY = """
topics --describe
topics --describe --under-replicated-partitions
topics --describe --at-min-isr-partitions
topics --describe --under-min-isr-partitions
topics --create --topic dV --replica-assignment 1:3
topics --describe --topic dV --unavailable-partitions
reassign --execute --reassignment-json-file FILES/move.json
leader-election --election-type preferred --topic aV --partition 1
get-offsets --topic aV
console-producer --topic aV --producer-property acks=all PARSE
"""

ONE_IS_BACK = """
topics --describe --under-replicated-partitions
topics --describe
leader-election --election-type preferred --all-topic-partitions
topics --describe
get-offsets --topic aV
topics --delete --topic dV
topics --list --exclude-internal
"""


@pytest.fixture(scope="module")
def clusters() -> Iterator[tuple[BrokerCluster, BrokerCluster]]:
    """Three brokers of ours, and three of Kafka."""
    insist_on_tools()
    with ExitStack() as undo:
        ours, kafka = (
            undo.enter_context(BrokerCluster((kind,) * 3, SETTINGS)) for kind in ("kcompat", "kafka")
        )
        yield ours, kafka
        for broker in ours.brokers.values():
            assert "Traceback" not in broker.log_tail(1_000_000), broker.log_tail(8000)


@pytest.fixture(params=VERSIONS)
def benches(
    request: pytest.FixtureRequest,
    clusters: tuple[BrokerCluster, BrokerCluster],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Benches]:
    version: str = request.param
    ours, kafka = (cluster.brokers for cluster in clusters)
    files = {name: _of_release(text, version) for name, text in FILES.items()}
    with side_by_side(version, ours, kafka, files, tmp_path_factory.mktemp(f"tools-{version}")) as both:
        yield both


def _of_release(text: str, version: str) -> str:
    """Each release has topics of its own: `aV` is `a3` for that of 3.9.2."""
    return re.sub(r"\b([abcd])V\b", rf"\g<1>{version[0]}", text)


def test_tools_print_what_they_print_with_three_kafkas(
    benches: Benches, clusters: tuple[BrokerCluster, BrokerCluster]
) -> None:
    """With all brokers, while one of them is away, and when it is back."""
    version = benches.ours.version
    benches.compare(_of_release(MADE, version))
    for bench in (benches.ours, benches.kafka):
        assert bench.run(SETTLE).code == "0"
    benches.compare(_of_release(WHOLE, version))
    _with_both(clusters, lambda cluster: cluster.brokers[2].stop())
    try:
        benches.compare(_of_release(ONE_IS_AWAY, version))
    finally:  # other tests need all three
        _with_both(clusters, lambda cluster: cluster.brokers[2].start())
    _with_both(clusters, BrokerCluster.wait_until_in_sync)
    benches.compare(_of_release(ONE_IS_BACK, version))
    if version.startswith("3."):
        ours, kafka = map(_verified_replicas, (benches.ours, benches.kafka))
        assert ours == kafka


def _with_both(clusters: tuple[BrokerCluster, BrokerCluster], act: Callable[[BrokerCluster], object]) -> None:
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(act, clusters))


def _verified_replicas(bench: Bench) -> set[str]:
    """Return the lines of kafka-replica-verification, which Kafka 4 does not have any more, until it is
    ended.
    """
    bootstrap = ",".join(broker.bootstrap for broker in bench.brokers.values())
    arguments = ["--broker-list", bootstrap, "--topics-include", "a3", "--report-interval-ms", "1000"]
    main_class = "org.apache.kafka.tools.ReplicaVerificationTool"
    ended = bench.jvm.run(main_class, arguments, timeout_s=REPLICA_VERIFICATION_S)
    return {re.sub(r"^\S+ \S+: ", "", line) for line in ended.out.splitlines()}


def test_zookeeper_shell_shows_the_same_registries(clusters: tuple[BrokerCluster, BrokerCluster]) -> None:
    ours, kafka = map(_shown_by_zookeeper_shell, clusters)
    assert ours == kafka


def _shown_by_zookeeper_shell(cluster: BrokerCluster) -> list[str]:
    """Return the lines of the ZooKeeper shell, without the lines of its other thread, and without the
    features that a broker supports: Kafka with ZooKeeper has none.
    """
    looks = "ls /\nls /brokers/ids\nls /admin\nls /config\nls /isr_change_notification\nget /brokers/ids/1\n"
    main_class = "org.apache.zookeeper.ZooKeeperMainWithTlsSupportForKafka"
    command = [*jvm("3.9.2"), main_class, "-server", cluster.zookeeper.bootstrap]
    said = re.sub(r'"timestamp":"\d+"', '"timestamp":"TIME"', run(command, looks.encode()))
    said = re.sub(r'"features":\{("[^}]*\},?)*\}', '"features":{}', said)
    for broker_id, broker in cluster.brokers.items():
        said = said.replace(str(broker.port), f"PORT{broker_id}")
    said = said.replace(str(cluster.zookeeper.port), "ZOOKEEPER").replace("localhost", "127.0.0.1")
    return [
        ",".join(sorted(line[1:-1].split(","))) if line.startswith("{") else line
        for line in said.splitlines()
        if line and not line.startswith(("WATCHER::", "WatchedEvent "))
    ]


@pytest.mark.parametrize(
    ("scene", "version"),
    [
        pytest.param(played.scene, version, id=f"{played.scene.__name__}-v{version}")
        for played in SCENES
        for version in played.versions
    ],
)
def test_raw_requests_are_answered_as_by_three_kafkas(
    clusters: tuple[BrokerCluster, BrokerCluster], scene: Scene, version: int
) -> None:
    _compare(clusters, f"{scene.__name__}-{version}", lambda stage: scene(stage, version))


def test_what_the_catalogue_of_one_broker_leaves_out_is_played() -> None:
    assert AMONG_BROKERS.keys() | WITH_ZOOKEEPER <= {played.key for played in SCENES}


def test_requests_that_wait_for_a_replica_end_as_with_three_kafkas(
    clusters: tuple[BrokerCluster, BrokerCluster],
) -> None:
    _compare(clusters, "waiting", written_among_three.unfinished_requests)


def test_while_a_broker_is_away_they_answer_as_three_kafkas(
    clusters: tuple[BrokerCluster, BrokerCluster],
) -> None:
    try:
        _compare(clusters, "away", among_three.without_the_third)
    finally:  # other tests need all three
        _with_both(clusters, lambda cluster: cluster.brokers[THIRD].start())
    _with_both(clusters, BrokerCluster.wait_until_in_sync)


def _compare(
    clusters: tuple[BrokerCluster, BrokerCluster], prefix: str, scene: Callable[[Stage], None]
) -> None:
    def transcript(cluster: BrokerCluster) -> list[Step]:
        stage = Stage(cluster, prefix)
        try:
            scene(stage)
        finally:
            stage.close()
        return stage.transcript

    with ThreadPoolExecutor(2) as pool:
        ours, kafka = pool.map(transcript, clusters)
    assert kafka, "a scene that compares nothing"
    different = [str(each) for each in differences(kafka, ours)]
    assert not different, "\n".join(different)
