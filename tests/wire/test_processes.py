"""`kcompat start --brokers N --processes`: a cluster whose brokers are processes, and what becomes of it when
one of them, or the command, ends.
"""

from __future__ import annotations

import os
import re
import signal
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.eventually import eventually, limit_s
from support.ports import free_port
from support.raw_client import RawClient
from support.raw_requests import ACKS_ALL, create_topic, describe_topic, produce, read_all
from support.start_command import started
from support.zookeeper_client import ZooKeeperClient

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="no list of processes")

READY = re.compile(r"kcompat is listening on ([^ ]+) and stores in (.+)\n")
LOCAL = ("--override", "listeners=PLAINTEXT://127.0.0.1:0")
STAY = ("--override", "auto.leader.rebalance.enable=false")  # who leads is asked first, and then read from
THREE = ("--brokers", "3", "--processes", *STAY)
TIMEOUT_S = 60
TOPIC = "t"

Address = tuple[str, int]


def addresses(process: subprocess.Popen[str]) -> list[Address]:
    """Where the brokers say that they listen."""
    assert process.stdout is not None
    line = process.stdout.readline()
    match = READY.fullmatch(line)
    assert match is not None, (line, process.communicate())
    return [(host, int(port)) for host, _, port in (one.rpartition(":") for one in match[1].split(","))]


def brokers_of(process: subprocess.Popen[str]) -> list[int]:
    """The processes of the brokers, by id: they are started one after another."""
    return [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


def is_gone(pid: int) -> bool:
    """Whether a process has ended, waited for or not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Exit code and standard error of a command that ends, with all that shares its output."""
    out, err = process.communicate(timeout=limit_s(TIMEOUT_S))
    assert out == ""
    return process.returncode, err


def leader_of(at: list[Address]) -> int:
    """Return the leader of the partition as the first broker knows it; -1 if it knows none."""
    with RawClient(at[0], TIMEOUT_S) as client:
        partitions = describe_topic(client, TOPIC).partitions
    return int(partitions[0].leader_id) if partitions else -1


def produce_in_the_end(at: list[Address], value: bytes) -> None:
    """Produce to all replicas in sync, whoever leads them."""
    batch = build_batch([Record(0, 0, None, value)])

    def is_acknowledged() -> bool:
        if (leader := leader_of(at)) < 0:
            return False
        try:
            with RawClient(at[leader], TIMEOUT_S) as client:
                return bool(produce(client, TOPIC, batch, acks=ACKS_ALL).error_code == 0)
        except ConnectionError:  # of a broker that nobody knows to be dead yet
            return False

    eventually(is_acknowledged, timeout_s=TIMEOUT_S)


def records(at: list[Address], at_least: int) -> list[bytes]:
    """All of them, once it is so many: a new leader shows what was acknowledged when others have asked it."""
    seen: list[bytes] = []

    def is_enough() -> bool:
        if (leader := leader_of(at)) >= 0:
            with RawClient(at[leader], TIMEOUT_S) as client:
                seen[:] = [bytes(record.value or b"") for record in read_all(client, TOPIC)]
        return len(seen) >= at_least

    eventually(is_enough, timeout_s=TIMEOUT_S)
    return seen


def make_topic(at: list[Address]) -> None:
    with RawClient(at[0], TIMEOUT_S) as client:
        controller = client.call(MetadataRequest(topics=[]), 9).controller_id
    with RawClient(at[controller], TIMEOUT_S) as client:
        assert create_topic(client, TOPIC, replicas=3, configs={"min.insync.replicas": "2"}) == 0


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], list[Address]]]:
    with started(*THREE, *LOCAL, "--data-dir", "d", cwd=tmp_path) as process:
        yield process, addresses(process)


def test_a_broker_may_die_and_the_directory_serves_one_process_as_well(tmp_path: Path) -> None:
    first = free_port(row=3)
    ports = ("--override", f"listeners=PLAINTEXT://127.0.0.1:{first}", "--data-dir", "d")
    with started(*THREE, *ports, "--zookeeper-port", "0", cwd=tmp_path) as process:
        at = addresses(process)
        assert at == [("127.0.0.1", first + each) for each in range(3)]
        assert process.stdout is not None
        served = re.fullmatch(
            r"ZooKeeper's clients are served at 127.0.0.1:(\d+)\n", process.stdout.readline()
        )
        assert served is not None
        with ZooKeeperClient(("127.0.0.1", int(served[1]))) as client:
            client.connect()
        make_topic(at)
        produce_in_the_end(at, b"one")
        os.kill(brokers_of(process)[2], signal.SIGKILL)
        assert process.stderr is not None
        assert process.stderr.readline() == "kcompat: broker 2 was killed (SIGKILL); the others go on\n"
        produce_in_the_end(at, b"two")
        process.terminate()
        assert ended(process) == (0, "")
    for broker in range(2):
        assert (tmp_path / "d" / f"broker-{broker}" / ".kafka_cleanshutdown").exists()
    with started("--brokers", "3", *ports, cwd=tmp_path) as process:
        at = addresses(process)
        assert records(at, 2) == [b"one", b"two"]
        process.terminate()
        ended(process)


def test_the_cluster_ends_with_its_store(cluster: tuple[subprocess.Popen[str], list[Address]]) -> None:
    process, _ = cluster
    brokers = brokers_of(process)
    os.kill(brokers[0], signal.SIGKILL)
    code, err = ended(process)
    assert code == 1
    assert err.startswith(
        "kcompat: broker 0 was killed (SIGKILL), and the metadata store with it: the cluster ends\n"
    )
    assert all(line.startswith(("kcompat: ", "broker ")) for line in err.splitlines()), err
    assert all(map(is_gone, brokers))


def test_nobody_outlives_a_command_that_is_killed(
    cluster: tuple[subprocess.Popen[str], list[Address]],
) -> None:
    process, _ = cluster
    brokers = brokers_of(process)
    assert len(brokers) == 3
    process.kill()
    process.wait()
    eventually(lambda: all(map(is_gone, brokers)), timeout_s=TIMEOUT_S)


def test_all_end_in_order_when_the_whole_group_is_asked_to(
    tmp_path: Path, cluster: tuple[subprocess.Popen[str], list[Address]]
) -> None:
    """As a service manager does, which tells every process of a service."""
    process, at = cluster
    make_topic(at)
    produce_in_the_end(at, b"one")
    for broker in brokers_of(process):
        os.kill(broker, signal.SIGTERM)
    code, err = ended(process)
    assert code == 0
    assert "killed" not in err
    for broker in range(3):
        assert (tmp_path / "d" / f"broker-{broker}" / ".kafka_cleanshutdown").exists()


def test_what_one_broker_cannot_do_ends_all_with_a_sentence(tmp_path: Path) -> None:
    with started(*LOCAL, "--data-dir", "d/broker-1", cwd=tmp_path) as other:
        addresses(other)
        with started(*THREE, *LOCAL, "--data-dir", "d", cwd=tmp_path) as process:
            code, err = ended(process)
    assert code == 1
    (sentence,) = [line for line in err.splitlines() if line.startswith("kcompat: ")]
    assert sentence.startswith("kcompat: broker 1: ")
    assert str(tmp_path / "d" / "broker-1") in sentence


def test_a_taken_port_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    first = free_port(row=3)
    with socket.create_server(("127.0.0.1", first + 2)):
        listeners = f"listeners=PLAINTEXT://127.0.0.1:{first}"
        with started(*THREE, "--override", listeners, cwd=tmp_path) as process:
            code, err = ended(process)
    assert code == 1
    assert str(first + 2) in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
