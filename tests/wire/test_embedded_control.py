"""The control port of embedded brokers, beside their methods in Python."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kcompat import Broker, Cluster
from kcompat.errors import StartError, UsageError
from kcompat.instrumentation.control.operations import OPERATIONS
from support.control_client import ControlClient
from support.fuzzing import examples

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat.instrumentation.control.operation import HttpOperation


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(control_port=0, clock="manual") as broker:
        yield broker


@pytest.fixture(scope="module")
def control(broker: Broker) -> ControlClient:
    return ControlClient(broker.control_url)


def test_python_and_http_see_the_same_broker(broker: Broker, control: ControlClient) -> None:
    control.post("/topics", name="shared")
    broker.add("shared", "from Python")
    control.post("/topics/shared/records", records=[{"value": "by HTTP"}])
    assert [each.text for each in broker.records("shared")] == ["from Python", "by HTTP"]
    number = control.post("/snapshots")["id"]
    mark = broker.snapshot()
    broker.reset()
    assert control.get("/topics")["topics"] == []
    broker.restore(mark)
    control.post(f"/snapshots/{number}/restore")
    assert len(control.get("/topics/shared/records")["records"]) == 2
    before_ms = broker.now_ms
    control.post("/clock/advance", days=1)
    assert broker.now_ms - before_ms >= 86_400_000
    assert broker.requests() == []


def test_an_answer_with_large_records_ends_before_the_last(control: ControlClient) -> None:
    configs = {"max.message.bytes": "20000000"}
    control.post("/topics", name="large", configs=configs)
    for _ in range(3):
        control.post("/topics/large/records", records=[{"value": "x" * 9_000_000}])
    first = control.get("/topics/large/records")
    assert ([each["offset"] for each in first["records"]], first["more"]) == ([0, 1], True)
    rest = control.get("/topics/large/records", start=2)
    assert ([each["offset"] for each in rest["records"]], rest["more"]) == ([2], False)


def test_what_is_described_is_served_and_nothing_more(control: ControlClient) -> None:
    """The answer to a method that a path does not have names those that it has."""
    described = control.get("/openapi.json")["paths"]
    served = {}
    for path in described:
        status, headers, _ = control.ask("OPTIONS", path)
        assert status == 405, path
        served[path] = set(headers["allow"].split(", ")) - {"HEAD"}
    assert served == {path: {method.upper() for method in methods} for path, methods in described.items()}
    assert sum(map(len, served.values())) == len(OPERATIONS)


def test_the_port_is_closed_at_the_stop_and_open_after_the_next_start() -> None:
    broker = Broker(control_port=0)
    with pytest.raises(UsageError, match="not started"):
        _ = broker.control_url
    urls = []
    for _ in range(2):
        with broker:
            urls.append(broker.control_url)
            assert ControlClient(urls[-1]).get("/topics") == {"topics": []}
        with socket.socket() as late:
            assert late.connect_ex(("127.0.0.1", int(urls[-1].rpartition(":")[2]))) != 0


def test_a_port_in_use_is_told_and_nothing_is_left() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        broker = Broker(control_port=taken.getsockname()[1])
        with pytest.raises(
            StartError, match=r"The control port cannot listen on 127\.0\.0\.1:\d+: Address already"
        ):
            broker.start()
        with pytest.raises(UsageError, match="not started"):
            _ = broker.bootstrap_servers


@pytest.mark.parametrize("port", [-1, 65536, "8082", True])
def test_what_is_no_port_is_refused(port: Any) -> None:
    with pytest.raises(UsageError, match="is not a port"):
        Broker(control_port=port)


def test_a_broker_without_a_control_port_says_how_to_get_one() -> None:
    with Broker() as broker, pytest.raises(UsageError, match="ask for one with control_port=0"):
        _ = broker.control_url


def test_a_cluster_has_one_for_all_brokers() -> None:
    with Cluster(2, control_port=0, topics={"spread": 4}) as cluster:
        control = ControlClient(cluster.control_url)
        assert {each["leader"] for each in control.get("/topics/spread")["partitions"]} == {0, 1}


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner), max_leaves=5
)
HARMLESS = [each for each in OPERATIONS if each.name not in ("fail_disk", "advance_clock", "await_records")]
"""The operations after which the broker can go on, without those that may take minutes."""


@given(operation=st.sampled_from(HARMLESS), data=st.data())
@settings(
    max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
def test_no_request_is_a_fault_of_the_broker(
    control: ControlClient, operation: HttpOperation, data: st.DataObject
) -> None:
    names = operation.request.__struct_fields__
    body = data.draw(st.dictionaries(st.sampled_from(names), JSON) if names else st.just({}))
    path = operation.path
    for name in operation.in_path:
        body.pop(name, None)
        path = path.replace(
            f"{{{name}}}", data.draw(st.sampled_from(["shared", "absent", "1", "%00", "%2F"]))
        )
    status, _, answer = control.send(operation.method, path, body)
    assert status < 500, answer
    control.delete("/faults")
