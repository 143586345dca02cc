"""`kcompat.Broker`: a broker inside this process, and what a test may do with it without thinking."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import threading
from typing import TYPE_CHECKING, Any

import pytest

from kcompat import Broker, Cluster
from kcompat.embedded.thread import LoopThread
from kcompat.errors import ConfigError, StartError, StartTimeoutError, UsageError
from kcompat.net.listener import ListenerError
from kcompat.protocol.messages.metadata import MetadataRequest
from support.eventually import limit_s
from support.ports import free_port
from support.raw_client import RawClient

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _own_temporary_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def partitions(broker: Broker, topic: str) -> int:
    """How many partitions a topic has that is made by asking for it."""
    host, _, port = broker.bootstrap_servers.rpartition(":")
    with RawClient((host.strip("[]"), int(port))) as client:
        wanted = MetadataRequest.MetadataRequestTopic(name=topic)
        response: Any = client.call(MetadataRequest(topics=[wanted], allow_auto_topic_creation=True), 12)
    (row,) = response.topics
    return len(row.partitions)


def has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


def test_two_at_once(tmp_path: Path) -> None:
    with Broker(config={"num.partitions": "2"}) as one, Broker(config={"num.partitions": "3"}) as other:
        assert (partitions(one, "t"), partitions(other, "t")) == (2, 3)
    assert list(tmp_path.iterdir()) == []


def test_values_need_not_be_text() -> None:
    with Broker(config={"num.partitions": 2, "log.preallocate": True}) as broker:
        assert partitions(broker, "t") == 2


def test_a_broker_that_never_starts_leaves_nothing(tmp_path: Path) -> None:
    Broker().stop()
    with pytest.raises(ConfigError, match="zero"):
        Broker(config={"num.partitions": "zero"})
    assert list(tmp_path.iterdir()) == []


def test_start_again_after_a_stop(tmp_path: Path) -> None:
    broker = Broker(config={"num.partitions": "2"})
    for _ in range(2):
        with broker:
            assert partitions(broker, "t") == 2
    assert list(tmp_path.iterdir()) == []


def test_a_start_that_failed_can_be_stopped_and_tried_again(tmp_path: Path) -> None:
    with Broker() as first:
        port = int(first.bootstrap_servers.rpartition(":")[2])
        second = Broker(port=port)
        with pytest.raises(ListenerError, match="already in use"):
            second.start()
        second.stop()
    with second:
        assert partitions(second, "t") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("data_dir", ["", "a,b", "a "])
def test_a_directory_that_log_dirs_cannot_name_is_refused(data_dir: str) -> None:
    with pytest.raises(ConfigError, match=f"^The data directory '{data_dir}' cannot be used"):
        Broker(data_dir=data_dir)


def test_a_start_that_is_given_up_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(StartTimeoutError, match="did not start within 0 s"):
        Broker().start(timeout_s=0)
    assert [thread.name for thread in threading.enumerate() if thread.name == "kcompat"] == []
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_longer_waited_for_may_tidy_up() -> None:
    told = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(10):
                await asyncio.sleep(0)
            told.append("tidied")

    thread = LoopThread()
    with pytest.raises(TimeoutError):
        thread.call(work(), timeout_s=0.01)
    thread.close()
    assert told == ["tidied"]


IN_A_FORKED_CHILD = """
import os, socket, sys
from kcompat import Broker

with Broker() as broker:
    (directory,) = os.listdir(os.environ["TMPDIR"])
    child = os.fork()
    if child == 0:
        sys.exit(7)  # leaves the block, and runs what is registered for the end of the process
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), os.listdir(os.environ["TMPDIR"]) == [directory])
    host, port = broker.bootstrap_servers.split(":")
    socket.create_connection((host, int(port))).close()
print(os.listdir(os.environ["TMPDIR"]))
"""


def test_a_forked_child_that_leaves_the_block_leaves_the_broker_alone(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", IN_A_FORKED_CHILD],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=limit_s(30),
        check=False,
    )
    assert (done.stdout, done.stderr) == ("7 True\n[]\n", "")


OUTLIVED_BY_A_FORKED_CHILD = """
import os, socket, sys
from kcompat import Broker

broker = Broker(data_dir=sys.argv[1]).start()
host, port = broker.bootstrap_servers.split(":")
client = socket.create_connection((host, int(port)), timeout=10)
client.sendall(b"\\0\\0\\0\\x0a\\0\\x12\\0\\0\\0\\0\\0\\7\\xff\\xff")  # ApiVersions, so that it is accepted
print(client.recv(4096)[4:8])
ends, never = os.pipe()
child = os.fork()
if child == 0:
    os.close(never)
    os.read(ends, 1)  # until the parent has ended it
    os._exit(0)
broker.stop()
print(client.recv(1))
with Broker(port=int(port), data_dir=sys.argv[1]) as again:
    print(again.bootstrap_servers == f"{host}:{port}")
os.close(never)
os.waitpid(child, 0)
"""


def test_a_forked_child_that_outlives_the_broker_holds_nothing_of_it(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", OUTLIVED_BY_A_FORKED_CHILD, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=limit_s(30),
        check=False,
    )
    assert (done.stdout, done.stderr) == ("b'\\x00\\x00\\x00\\x07'\nb''\nTrue\n", "")


def test_an_ipv6_address_is_written_as_clients_take_it() -> None:
    if not has_ipv6():
        pytest.skip("no IPv6 on this machine")
    with Broker(host="::1") as broker:
        assert broker.bootstrap_servers.startswith("[::1]:")
        assert partitions(broker, "t") == 1


def test_a_second_start_is_refused_and_changes_nothing() -> None:
    with Broker() as broker:
        with pytest.raises(UsageError, match="the broker is started already: stop it before"):
            broker.start()
        assert partitions(broker, "t") == 1


def test_a_topic_that_is_not_there_cannot_be_compacted() -> None:
    with Broker() as broker, pytest.raises(UsageError, match="there is no topic 't': create it"):
        broker.compact("t")


def test_a_start_that_fails_raises_a_start_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Broker(data_dir=tmp_path / "data"), pytest.raises(StartError, match=r"data"):
        Broker(data_dir=tmp_path / "data").start()
    absent = {"zookeeper.connect": "127.0.0.1:1", "zookeeper.connection.timeout.ms": 1}
    with pytest.raises(StartError, match=r"no ZooKeeper at 127\.0\.0\.1:1"):
        Broker(config=absent).start()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    with pytest.raises(StartError, match=r"No temporary directory can be made .*: set TMPDIR"):
        Broker().start()


def test_a_cluster_that_cannot_start_leaves_its_directories_to_the_next(
    tmp_path: Path,
) -> None:
    port = free_port(2)
    with socket.create_server(("127.0.0.1", port + 1)), pytest.raises(StartError):
        Cluster(2, data_dir=tmp_path, port=port).start()
    with Cluster(2, data_dir=tmp_path, port=port) as cluster:
        assert len(cluster.bootstrap_servers.split(",")) == 2


def test_brokers_of_a_cluster_say_what_cannot_be() -> None:
    with Cluster(2) as cluster:
        with pytest.raises(UsageError, match="there is no broker 2: the cluster has 0 to 1"):
            cluster.isolate(2)
        gone = cluster.brokers[1]
        gone.kill()
        with pytest.raises(UsageError, match="broker 1 is not running: start it first"):
            gone.kill()
        with pytest.raises(UsageError, match="broker 1 is not running: start it first"):
            _ = gone.bootstrap_servers


CALLED_IN_A_FORKED_CHILD = """
import os, sys
from kcompat import Broker, Cluster
from kcompat.errors import UsageError

with Broker() as broker:
    child = os.fork()
    if child == 0:
        try:
            broker.compact("t")
        except UsageError as error:
            print(error, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""


def test_a_forked_child_that_calls_its_parents_broker_is_told_so() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CALLED_IN_A_FORKED_CHILD],
        capture_output=True,
        text=True,
        timeout=limit_s(30),
        check=False,
    )
    assert done.stdout.startswith("brokers run in the process that started them")
    assert done.stderr == ""
