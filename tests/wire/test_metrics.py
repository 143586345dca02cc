"""The metrics port: exact counts, the panels of public dashboards, readiness."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from kcompat.observe.page import FAMILIES
from kcompat.protocol.messages.api_versions import ApiVersionsRequest
from kcompat.protocol.messages.list_offsets import ListOffsetsRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.dashboards import GRAFANA, STRIMZI
from support.eventually import eventually, limit_s
from support.raw_requests import (
    commit_offset,
    create_topic,
    delete_topic,
    fetch,
    fetch_request,
    find_coordinator,
    produce,
)
from support.start_command import started
from support.watched_broker import watched_broker

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from support.dashboards import Query
    from support.watched_broker import Page, WatchedBroker

_BY_TOPIC = "kafka_server_brokertopicmetrics_"
_REQUESTS = "kafka_network_requestmetrics_"
BATCH = build_batch([Record(0, 1_700_000_000_000, b"key", value) for value in (b"one", b"two", b"three")])
SIZE = len(BATCH)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WatchedBroker]:
    with watched_broker("--memory", cwd=tmp_path_factory.mktemp("watched")) as running:
        yield running


@pytest.fixture(scope="module")
def page(broker: WatchedBroker) -> Page:
    """The metrics after a small workload: five batches of three records, one refused, two read."""
    with broker.client() as client:
        client.call(ApiVersionsRequest("tests", "1.2"), 3)
        create_topic(client, "orders", 2)
        create_topic(client, "small", 1, {"max.message.bytes": "60"})
        for partition in (0, 0, 0, 1, 1):
            assert produce(client, "orders", BATCH, partition).error_code == 0
        assert produce(client, "small", BATCH).error_code == 10
        assert len(fetch(client, "orders", 0).records) == 3 * SIZE
        client.call(fetch_request("orders", 9, max_wait_ms=50), 11)
        client.call(ListOffsetsRequest(topics=[]), 0)
        while find_coordinator(client, "readers"):
            pass
        assert commit_offset(client, "readers", "orders", 3) == 0
        with broker.client(client_id="broker-1-fetcher-0") as follower:
            follower.call(fetch_request("orders", 0), 11)
        return broker.page()


@pytest.mark.parametrize("dashboard", [STRIMZI, GRAFANA], ids=["strimzi", "grafana"])
def test_each_panel_of_public_dashboards_finds_data(page: Page, dashboard: Sequence[Query]) -> None:
    def finds_data(query: Query) -> bool:
        return any(
            set(query.labels) <= sample.labels.keys()
            and all(sample.labels[name] == value for name, value in query.values)
            for sample in page.samples.get(query.metric, ())
        )

    assert [query for query in dashboard if not finds_data(query)] == []


def test_records_and_bytes_are_counted_exactly(page: Page) -> None:
    orders = {
        name: page.value(f"{_BY_TOPIC}{name}_total", topic="orders")
        for name in ("messagesin", "bytesin", "bytesout", "totalproducerequests", "failedproducerequests")
    }
    assert orders == {
        "messagesin": 15,
        "bytesin": 5 * SIZE,
        "bytesout": 3 * SIZE + 3 * SIZE,
        "totalproducerequests": 5,
        "failedproducerequests": 0,
    }
    assert page.value(f"{_BY_TOPIC}totalproducerequests_total", topic="small") == 1
    assert page.value(f"{_BY_TOPIC}bytesrejected_total", topic="small") == SIZE
    ours = page.value(f"{_BY_TOPIC}messagesin_total", topic="__consumer_offsets")
    assert page.value(f"{_BY_TOPIC}messagesin_total") == 15 + ours


def test_logs_and_partitions_have_their_numbers(page: Page) -> None:
    first = {"topic": "orders", "partition": "0"}
    assert page.value("kafka_log_log_size", **first) == 3 * SIZE
    assert page.value("kafka_log_log_logendoffset", **first) == 9
    assert page.value("kafka_log_log_numlogsegments", **first) == 1
    assert page.value("kafka_cluster_partition_insyncreplicascount", **first) == 1
    count = page.value("kafka_server_replicamanager_partitioncount")
    assert count == page.value("kafka_server_replicamanager_leadercount") == 3 + 50
    assert page.value("kafka_controller_kafkacontroller_globalpartitioncount") == count
    assert page.value("kafka_coordinator_group_groupmetadatamanager_numgroups") == 1
    assert page.value("kafka_coordinator_group_groupmetadatamanager_numoffsets") == 1


def test_requests_are_counted_by_version_and_timed(page: Page) -> None:
    assert page.value(f"{_REQUESTS}requests_total", request="Produce", version="9") == 6
    assert page.value(f"{_REQUESTS}requests_total", request="FetchConsumer", version="11") == 2
    assert page.value(f"{_REQUESTS}requests_total", request="FetchFollower", version="11") == 1
    assert page.value(f"{_REQUESTS}requests_total", request="Fetch", version="11") == 3
    assert page.value(f"{_REQUESTS}totaltimems_count", request="FetchConsumer") == 2
    waited = page.value(f"{_REQUESTS}remotetimems", request="FetchConsumer", quantile="0.99")
    assert 40 <= waited <= page.value(f"{_REQUESTS}totaltimems", request="FetchConsumer", quantile="0.99")
    assert 0 < page.value(f"{_REQUESTS}localtimems", request="Produce", quantile="0.50") < 1000


def test_old_versions_are_counted_by_the_software_of_the_client(page: Page) -> None:
    named = {"clientSoftwareName": "tests", "clientSoftwareVersion": "1.2"}
    deprecated = page.samples[f"{_REQUESTS}deprecatedrequests_total"]
    assert deprecated == [({"request": "ListOffsets", "version": "0", **named}, 1)]
    softwares = page.samples["kafka_server_socket_server_metrics_connections_software"]
    assert [each.value for each in softwares if named.items() <= each.labels.items()] == [1]


def test_each_metric_has_the_labels_and_the_type_that_it_declares(page: Page) -> None:
    declared = {family.name: family for family in FAMILIES}
    assert page.samples.keys() <= declared.keys()
    for name, samples in page.samples.items():
        family = declared[name]
        for sample in samples:
            assert set(family.labels) - set(family.optional) <= sample.labels.keys() <= set(family.labels), (
                name
            )
        assert page.types[name.removesuffix("_total")] == family.kind.value


def test_counts_of_a_deleted_topic_stay_in_the_total(broker: WatchedBroker, page: Page) -> None:
    assert page.value("kafka_controller_kafkacontroller_globaltopiccount") == 3
    with broker.client() as client:
        create_topic(client, "passing")
        produce(client, "passing", BATCH)
        before = broker.page().value(f"{_BY_TOPIC}bytesin_total")
        delete_topic(client, "passing")

    def is_gone() -> bool:
        samples = broker.page().samples[f"{_BY_TOPIC}bytesin_total"]
        return all(each.labels.get("topic") != "passing" for each in samples)

    eventually(is_gone)
    assert broker.page().value(f"{_BY_TOPIC}bytesin_total") >= before


def test_a_running_broker_is_alive_and_ready(broker: WatchedBroker) -> None:
    assert broker.ask("/healthz")[0] == 200
    assert broker.ask("/readyz") == (200, '{"status":"ready"}')
    assert broker.ask("/other")[0] == 404


def test_pages_of_the_web_cannot_read_the_metrics(broker: WatchedBroker) -> None:
    """A page whose name resolves to this machine (DNS rebinding), and a page of another origin."""
    refused = "the metrics port is not reached by the name 'page.example': use localhost\n"
    assert broker.ask("/metrics", Host="page.example") == (403, refused)
    assert broker.ask("/metrics", Origin="http://page.example")[0] == 403
    assert broker.ask("/healthz", Host="localhost")[0] == 200


def test_a_port_that_is_open_is_reached_by_any_name(tmp_path: Path) -> None:
    with watched_broker("--memory", "--metrics-host", "0.0.0.0", cwd=tmp_path) as opened:
        assert opened.ask("/healthz", Host="kafka-0.kafka.svc.cluster.local")[0] == 200


def test_a_broker_with_a_late_replica_is_not_ready(tmp_path: Path) -> None:
    """Each of three brokers has a port of its own, and the followers say which replica is late."""
    late = ("--override", "replica.lag.time.max.ms=500")
    with watched_broker("--memory", *late, brokers=3, cwd=tmp_path) as three, three.client() as client:
        create_topic(client, "copied", 1, replicas=3)
        eventually(lambda: [three.ask("/readyz", each)[0] for each in range(3)] == [200] * 3)
        fault = three.control.post("/brokers/shrink-isr", topic="copied", to=1)
        pages = [three.page(each) for each in range(3)]
        leaders = [page.value("kafka_server_replicamanager_leadercount") for page in pages]
        assert sorted(leaders) == [0, 0, 1]
        active = "kafka_controller_kafkacontroller_activecontrollercount"
        assert sum(page.value(active) for page in pages) == 1
        leader = leaders.index(1)
        assert pages[leader].value("kafka_server_replicamanager_underreplicatedpartitions") == 1
        assert pages[leader].value("kafka_server_replicamanager_isrshrinks_total") >= 1
        assert three.ask("/readyz", leader)[0] == 200
        status, answer = three.ask("/readyz", (leader + 1) % 3)
        assert (status, json.loads(answer)) == (
            503,
            {"status": "not ready", "reasons": ["replicas of this broker are not in sync: copied-0"]},
        )
        three.control.delete(f"/faults/{fault['id']}")
        eventually(lambda: [three.ask("/readyz", each)[0] for each in range(3)] == [200] * 3)
        expands = three.page(leader).value("kafka_server_replicamanager_isrexpands_total")
        assert expands >= 1


def test_a_port_in_use_is_refused_in_one_sentence(broker: WatchedBroker, tmp_path: Path) -> None:
    taken = broker.urls[0].rpartition(":")[2]
    with started("--port", "0", "--memory", "--metrics-port", taken, cwd=tmp_path) as process:
        _, err = process.communicate(timeout=limit_s(30))
    assert process.returncode == 1
    assert err == f"kcompat: The metrics port cannot listen on 127.0.0.1:{taken}: Address already in use.\n"
