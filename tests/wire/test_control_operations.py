"""The operations of the control port: one HTTP request each for what `kcompat.Broker` offers in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.controlled_broker import ControlledBroker, controlled_broker
from support.eventually import eventually
from support.raw_requests import commit_offset, describe_topic, find_coordinator, produce

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.control_client import ControlClient
    from support.raw_client import RawClient

BATCH: Final = build_batch([Record(0, 1, None, b"value")])


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlledBroker]:
    with controlled_broker(cwd=tmp_path_factory.mktemp("control")) as broker:
        yield broker


@pytest.fixture
def control(broker: ControlledBroker) -> Iterator[ControlClient]:
    yield broker.control
    broker.control.delete("/faults")


@pytest.fixture
def client(broker: ControlledBroker) -> Iterator[RawClient]:
    yield from broker.clients()


def test_topics_are_created_and_listed(control: ControlClient) -> None:
    created = control.post("/topics", name="made", partitions=2, configs={"cleanup.policy": "compact"})
    assert (created["name"], len(created["partitions"])) == ("made", 2)
    assert created["overrides"] == {"cleanup.policy": "compact"}
    assert created in control.get("/topics")["topics"]
    assert control.get("/topics/made") == created
    control.delete("/topics/made")
    assert control.refusal("DELETE", "/topics/made")[0] == 404


def test_a_topic_that_cannot_be_created_is_refused(control: ControlClient) -> None:
    control.post("/topics", name="twice")
    assert control.refusal("POST", "/topics", {"name": "twice"}) == (
        409,
        "TOPIC_ALREADY_EXISTS: Topic 'twice' already exists.",
    )
    status, sentence = control.refusal("POST", "/topics", {"name": "new", "configs": {"retention": "1"}})
    assert (status, sentence[:15]) == (409, "INVALID_CONFIG:")


def test_records_come_back_as_they_were_added(control: ControlClient) -> None:
    records = [
        {"key": "k", "value": "grün", "headers": [{"name": "h", "value": "1"}, {"name": "n", "value": None}]},
        {"key": {"base64": "/w=="}, "value": None, "headers": [], "timestamp": 5},
    ]
    added = control.post("/topics/kept/records", records=records)["records"]
    assert [(each["partition"], each["offset"]) for each in added] == [(0, 0), (0, 1)]
    found = control.get("/topics/kept/records")["records"]
    assert [{name: each[name] for name in ("key", "value", "headers")} for each in found] == [
        {name: each[name] for name in ("key", "value", "headers")} for each in records
    ]
    assert [each["timestamp"] for each in found] == [added[0]["timestamp"], 5]
    assert control.get("/topics/kept/records", start=1, partition=0)["records"] == found[1:]
    assert control.get("/topics/kept/records", limit=1) == {"records": found[:1], "more": True}


def test_records_are_added_as_json(control: ControlClient) -> None:
    control.post("/topics/json/records", records=[{"key": {"json": [1]}, "value": {"json": {"id": 1}}}])
    (found,) = control.get("/topics/json/records")["records"]
    assert (found["key"], found["value"]) == ("[1]", '{"id":1}')


def test_expected_records_are_awaited(control: ControlClient) -> None:
    control.post("/topics/expected/records", records=[{"value": "before"}])
    path = f"/expectations/{control.post('/expectations', topic='expected', count=1)['id']}/await"
    control.post("/topics/expected/records", records=[{"value": "after"}])
    assert [each["value"] for each in control.post(path)["records"]] == ["after"]
    assert control.refusal("POST", path)[0] == 404


def test_records_that_were_not_expected_are_shown(control: ControlClient) -> None:
    path = f"/expectations/{control.post('/expectations', topic='other', count=2, timeout_s=0)['id']}/await"
    control.post("/topics/other/records", records=[{"value": "only"}])
    status, sentence = control.refusal("POST", path)
    first, second = sentence.splitlines()
    assert (status, first) == (417, "expected 2 records in 'other' within 0 s, but 1 came:")
    assert "only" in second
    assert control.refusal("POST", "/expectations", {"topic": "other"}) == (
        400, "the number of records is missing: give count or at_least",
    )  # fmt: skip


def test_requests_about_a_topic_that_does_not_exist(control: ControlClient) -> None:
    for path in ("/topics/absent", "/topics/absent/records"):
        assert control.refusal("GET", path) == (404, "there is no topic 'absent': create it first")


def test_a_fault_strikes_until_it_is_over(control: ControlClient, client: RawClient) -> None:
    control.post("/topics", name="struck")
    fault = control.post(
        "/faults/fail", api="Produce", error="NOT_LEADER_OR_FOLLOWER", topic="struck", times=2
    )
    assert fault["description"] == "Produce of struck fails with NOT_LEADER_OR_FOLLOWER, at most 2"
    assert [produce(client, "struck", BATCH).error_code for _ in range(3)] == [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NONE,
    ]
    assert control.get(f"/faults/{fault['id']}") == {**fault, "struck": 2, "in_force": False}


def test_a_fault_strikes_until_it_is_deleted(control: ControlClient, client: RawClient) -> None:
    control.post("/topics", name="deleted")
    faults = [
        control.post("/faults/fail", api="Produce", error="KAFKA_STORAGE_ERROR"),
        control.post("/faults/throttle", ms=1, client_id="nobody"),
    ]
    assert control.get("/faults")["faults"] == faults
    assert produce(client, "deleted", BATCH).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    path = f"/faults/{faults[0]['id']}"
    assert control.delete(path) is None
    assert produce(client, "deleted", BATCH).error_code == ErrorCode.NONE
    assert [each["id"] for each in control.get("/faults")["faults"]] == [faults[1]["id"]]
    for method in ("GET", "DELETE"):
        status, sentence = control.refusal(method, path)
        assert (status, sentence) == (
            404,
            f"there is no fault {faults[0]['id']!r}: GET /faults lists those that were not deleted",
        )


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        ("delay", {"ms": 0.1}),
        ("drop", {"served": False}),
        ("disconnect", {"served": True}),
        ("throttle", {"ms": 1}),
    ],
)
def test_faults_of_each_kind(control: ControlClient, kind: str, arguments: dict[str, Any]) -> None:
    fault = control.post(f"/faults/{kind}", api="Fetch", rate=0.5, seed=1, **arguments)
    assert fault["description"].startswith("Fetch ")
    assert (fault["struck"], fault["in_force"]) == (0, True)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (
            {"api": "Prodce", "error": "NOT_COORDINATOR"},
            "'Prodce' is not an API that brokers serve: did you mean",
        ),
        ({"api": "Produce", "error": "NOT_LEADER"}, "'NOT_LEADER' is not an error of Kafka: did you mean"),
        ({"api": "Produce", "error": "NOT_COORDINATOR", "broker": 7}, "no broker 7 is running: use one of 1"),
        ({"api": "Produce"}, "The request is not understood: Object missing required field `error`"),
    ],
)
def test_a_fault_that_cannot_be_is_refused(control: ControlClient, body: Any, sentence: str) -> None:
    status, found = control.refusal("POST", "/faults/fail", body)
    assert status == 400
    assert found.startswith(sentence)


def test_requests_are_listed_with_their_outcome(control: ControlClient, client: RawClient) -> None:
    control.post("/topics", name="seen")
    with_fault = control.post("/faults/fail", api="Produce", error="NOT_LEADER_OR_FOLLOWER", times=1)
    assert with_fault["in_force"]
    produce(client, "seen", BATCH)
    produce(client, "seen", BATCH)
    failed, served = control.get("/requests", api="Produce", topic="seen", client_id="raw")["requests"]
    (error,) = failed["errors"]
    assert (error["error"], error["topic"], error["partition"]) == ("NOT_LEADER_OR_FOLLOWER", "seen", 0)
    assert (served["outcome"], served["topics"], served["request"]) == ("ok", ["seen"], None)
    query = {"topic": "seen", "errors_only": "true", "deep": "true", "limit": 1}
    (deep,) = control.get("/requests", **query)["requests"]
    assert deep["request"]["topic_data"][0]["name"] == "seen"
    assert control.refusal("GET", "/requests?api=Prodce")[0] == 400


def test_groups_are_listed(control: ControlClient, client: RawClient) -> None:
    control.post("/topics", name="read")
    control.post("/topics/read/records", records=[{"value": "1"}, {"value": "2"}])
    find_coordinator(client, "readers")
    assert commit_offset(client, "readers", "read", 1) == ErrorCode.NONE
    (group,) = (each for each in control.get("/groups")["groups"] if each["id"] == "readers")
    assert (group["state"], group["members"]) == ("Empty", [])
    assert [(each["topic"], each["committed"], each["lag"]) for each in group["offsets"]] == [("read", 1, 1)]


def test_a_topic_is_compacted(control: ControlClient) -> None:
    control.post("/topics", name="compacted", configs={"cleanup.policy": "compact"})
    for value in ("old", "new"):
        control.post("/topics/compacted/records", records=[{"key": "k", "value": value}])
    (log,) = control.post("/topics/compacted/compact")["logs"]
    assert (log["partition"], log["problem"]) == (0, None)
    assert [each["value"] for each in control.get("/topics/compacted/records")["records"]] == ["new"]
    assert control.refusal("POST", "/topics/absent/compact")[0] == 404


def test_a_disk_is_full_until_the_fault_is_deleted(control: ControlClient, client: RawClient) -> None:
    control.post("/topics", name="stored")
    fault = control.post("/disk/fill")
    assert fault["description"].endswith(" is full")
    assert produce(client, "stored", BATCH).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    control.delete(f"/faults/{fault['id']}")
    assert control.refusal("POST", "/disk/slow", {"ms": 1, "directory": "/absent"})[0] == 400


def test_members_and_producers_that_do_not_exist(control: ControlClient) -> None:
    assert control.refusal("POST", "/groups/expire-member", {"group": "absent"}) == (
        400, "the group 'absent' has no members: let a consumer join it first",
    )  # fmt: skip
    for path in ("/transactions/fence-producer", "/transactions/hang"):
        status, sentence = control.refusal("POST", path, {"transactional_id": "absent"})
        assert (status, sentence[:38]) == (400, "there is no transactional id 'absent':")


def test_a_reset_and_a_snapshot_are_one_request_each(control: ControlClient) -> None:
    control.post("/reset")
    assert control.get("/topics") == {"topics": []}
    control.post("/topics/marked/records", records=[{"value": "before"}])
    path = f"/snapshots/{control.post('/snapshots')['id']}"
    control.post("/topics/marked/records", records=[{"value": "after"}])
    assert control.post(f"{path}/restore") is None
    assert [each["value"] for each in control.get("/topics/marked/records")["records"]] == ["before"]
    control.delete(path)
    assert control.refusal("POST", f"{path}/restore")[0] == 404
    assert control.refusal("DELETE", path)[0] == 404


def test_a_fault_and_the_record_of_requests_outlive_a_reset(
    control: ControlClient, broker: ControlledBroker
) -> None:
    control.post("/reset")
    fault = control.post("/faults/fail", api="Produce", error="KAFKA_STORAGE_ERROR")
    control.post("/reset")
    control.post("/topics", name="again")
    (error,) = (produce(client, "again", BATCH).error_code for client in broker.clients())
    assert error == ErrorCode.KAFKA_STORAGE_ERROR
    assert control.get(f"/faults/{fault['id']}")["struck"] == 1
    assert control.get("/requests", topic="again", errors_only="true")["requests"] != []


def test_the_time_of_the_machine_cannot_be_moved(control: ControlClient) -> None:
    assert control.get("/clock")["is_manual"] is False
    status, sentence = control.refusal("POST", "/clock/advance", {"days": 1})
    assert (status, sentence) == (
        400, "the time is that of the machine: start the broker with a manual clock",
    )  # fmt: skip
    assert control.post("/expire") is None


def test_a_manual_clock_is_moved_ahead(tmp_path: Path) -> None:
    options = ("--clock", "manual", "--override", "log.retention.hours=1")
    with controlled_broker(*options, cwd=tmp_path) as broker:
        control = broker.control
        control.post("/topics/old/records", records=[{"value": "1"}])
        before = control.get("/clock")
        after = control.post("/clock/advance", hours=2, ms=0.5)
        assert before["is_manual"]
        assert after["now_ms"] - before["now_ms"] >= 2 * 3_600_000
        assert control.get("/topics/old/records")["records"] == []
        body = {"days": 36525, "hours": 1}
        assert control.refusal("POST", "/clock/advance", body) == (
            400, "the time is moved by 100 years at most",
        )  # fmt: skip


def isrs(control: ControlClient, topic: str) -> list[int]:
    """Return the number of replicas in sync of each partition."""
    return [len(each["isr"]) for each in control.get(f"/topics/{topic}")["partitions"]]


@pytest.mark.thorough("each operation has a test of its own; this one looks at clusters")
def test_the_brokers_of_a_cluster_are_controlled_together(tmp_path: Path) -> None:
    with controlled_broker("--brokers", "2", cwd=tmp_path) as brokers:
        control = brokers.control
        control.post("/topics", name="spread", partitions=2, replication_factor=2)
        added = [{"value": "a", "partition": 0}, {"value": "b", "partition": 1}]
        control.post("/topics/spread/records", records=added)
        values = [each["value"] for each in control.get("/topics/spread/records")["records"]]
        assert values == ["a", "b"]
        control.post("/faults/fail", api="Metadata", error="UNKNOWN_SERVER_ERROR", topic="spread")
        control.post(
            "/faults/fail", api="Metadata", error="INVALID_TOPIC_EXCEPTION", topic="spread", broker=1
        )
        errors = [describe_topic(client, "spread").error_code for client in brokers.clients()]
        assert errors == [ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.UNKNOWN_SERVER_ERROR]
        assert [each["struck"] for each in control.get("/faults")["faults"]] == [2, 1]
        assert [each["id"] for each in control.get("/brokers")["brokers"]] == [0, 1]
        assert control.post("/brokers/kill", broker=1) is None
        assert [each["id"] for each in control.get("/brokers")["brokers"]] == [0]
        assert control.refusal("POST", "/brokers/kill", {"broker": 1})[1] == (
            "broker 1 is not running: start it first"
        )
        control.post("/brokers/start", broker=1)
        assert control.refusal("POST", "/brokers/stop", {"broker": 2})[1] == (
            "there is no broker 2: the cluster has 0 to 1"
        )
        eventually(lambda: isrs(control, "spread") == [2, 2], "broker 1 is in sync again")
        shrunk = control.post("/brokers/shrink-isr", topic="spread", partition=1)
        eventually(lambda: isrs(control, "spread") == [2, 1], "the leader knows its ISR")
        control.delete(f"/faults/{shrunk['id']}")
        lost = control.post("/brokers/lose-leader", topic="spread")
        assert lost["description"].endswith(" is killed")
        assert len(control.get("/brokers")["brokers"]) == 1
        control.delete(f"/faults/{lost['id']}")
        assert len(control.get("/brokers")["brokers"]) == 2
        control.post("/brokers/isolate", broker=1)
        control.post("/brokers/heal")
        assert control.refusal("POST", "/reset") == (
            400, "there are several brokers: snapshots are those of one broker alone",
        )  # fmt: skip
