"""A broker compacts: by itself, when it is asked to, after a change of policy, and from the command line."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

import pytest

from kcompat import Broker
from kcompat.errors import UsageError
from kcompat.log.cleaner.cleaner import Compacted
from kcompat.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kcompat.protocol.messages.offset_fetch import OffsetFetchRequest
from support.compacted_topics import compact, create_compacted_topic, fill, fill_with_long_values
from support.eventually import eventually
from support.raw_client import RawClient
from support.raw_requests import commit_offset, create_topic, find_coordinator, read_all

OFTEN = {"log.cleaner.backoff.ms": "20"}
TOPIC = 2


def client_of(broker: Broker) -> RawClient:
    host, _, port = broker.bootstrap_servers.rpartition(":")
    return RawClient((host, int(port)))


def offsets(client: RawClient, topic: str) -> list[int]:
    return [record.offset for record in read_all(client, topic)]


def test_it_compacts_by_itself() -> None:
    with Broker(config=OFTEN) as broker, client_of(broker) as client:
        create_compacted_topic(client, "t")
        fill(client, "t")
        eventually(lambda: len(offsets(client, "t")) < 20)
        assert offsets(client, "t")[-5:] == [45, 46, 47, 48, 49]


def test_a_policy_that_changes_is_obeyed() -> None:
    with Broker(config=OFTEN) as broker, client_of(broker) as client:
        create_topic(client, "t", configs={"segment.bytes": "1000"})
        fill(client, "t")
        assert len(offsets(client, "t")) == 50
        element = IncrementalAlterConfigsRequest.AlterableConfig("cleanup.policy", 0, "compact")
        resource = IncrementalAlterConfigsRequest.AlterConfigsResource(TOPIC, "t", [element])
        client.call(IncrementalAlterConfigsRequest(resources=[resource]), 1)
        eventually(lambda: len(offsets(client, "t")) < 20)


def test_compact_now_and_after_a_restart(tmp_path: Path) -> None:
    with (
        Broker(data_dir=tmp_path, config={"log.cleaner.enable": "false"}) as broker,
        client_of(broker) as client,
    ):
        create_compacted_topic(client, "t")
        fill(client, "t")
        (result,) = broker.compact("t", timeout_s=60)
        assert result == Compacted("t", 0, result.bytes_before, result.bytes_after)
        assert result.bytes_after < result.bytes_before / 5
        assert offsets(client, "t") == [45, 46, 47, 48, 49]
        with pytest.raises(UsageError, match="there is no topic 'absent'"):
            broker.compact("absent")
    with Broker(data_dir=tmp_path) as broker, client_of(broker) as client:
        assert offsets(client, "t") == [45, 46, 47, 48, 49]
        fill(client, "t", 1)
        broker.compact("t", timeout_s=60)
        assert offsets(client, "t") == [50, 51, 52, 53, 54]


def test_a_stop_in_the_middle_leaves_the_log_whole(tmp_path: Path) -> None:
    slow = {"log.cleaner.backoff.ms": "0", "log.cleaner.io.max.bytes.per.second": "200000"}
    with Broker(data_dir=tmp_path, config=slow) as broker, client_of(broker) as client:
        create_compacted_topic(client, "t", segment_bytes=1_000_000)
        fill_with_long_values(client, "t", 20, 60_000)
        eventually(lambda: bool(list(tmp_path.rglob("*.cleaned"))))
    assert not list(tmp_path.rglob("*.cleaned"))
    with (
        Broker(data_dir=tmp_path, config={"log.cleaner.enable": "false"}) as broker,
        client_of(broker) as client,
    ):
        assert len(offsets(client, "t")) == 20


def cleaning_processes() -> set[int]:
    """Return the ids of the cleaner processes of this process, which has the brokers."""
    found = set()
    for path in Path("/proc/self/task").glob("*/children"):
        for pid in map(int, path.read_text().split()):
            with contextlib.suppress(OSError):
                if b"kcompat.log.cleaner.process" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.add(pid)
    return found


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="no list of processes")
def test_a_cleaner_that_was_killed_is_replaced(tmp_path: Path) -> None:
    slow = {"log.cleaner.backoff.ms": "0", "log.cleaner.io.max.bytes.per.second": "200000"}
    with Broker(data_dir=tmp_path, config=slow) as broker, client_of(broker) as client:
        create_compacted_topic(client, "t", segment_bytes=1_000_000)
        fill_with_long_values(client, "t", 20, 60_000)
        killed: set[int] = set()
        for _ in range(3):
            eventually(lambda: bool(cleaning_processes() - killed))
            for pid in cleaning_processes() - killed:
                os.kill(pid, signal.SIGKILL)
                killed.add(pid)
        eventually(lambda: bool(cleaning_processes() - killed))
        assert offsets(client, "t") == list(range(20))


def committed(client: RawClient, group: str, topic: str) -> int:
    topics = [OffsetFetchRequest.OffsetFetchRequestTopic(topic, [0])]
    answer = client.call(OffsetFetchRequest(group_id=group, topics=topics), 5)
    return int(answer.topics[0].partitions[0].committed_offset)


def test_committed_offsets_survive_compaction(tmp_path: Path) -> None:
    """The compacted offsets topic gives the same state as the whole one."""
    one = {"offsets.topic.num.partitions": "1", "log.cleaner.enable": "false"}
    with Broker(data_dir=tmp_path, config=one) as broker, client_of(broker) as client:
        create_topic(client, "t")
        for offset in range(100):
            for group in ("a", "b"):
                find_coordinator(client, group)
                assert commit_offset(client, group, "t", offset) == 0
        (result,) = broker.compact("__consumer_offsets", timeout_s=60)
        assert result.problem is None
        assert result.bytes_after < result.bytes_before / 10
        assert commit_offset(client, "b", "t", 7) == 0
    with Broker(data_dir=tmp_path, config=one) as broker, client_of(broker) as client:
        assert [committed(client, group, "t") for group in ("a", "b")] == [99, 7]


def test_the_command(tmp_path: Path) -> None:
    with (
        Broker(data_dir=tmp_path, config={"log.cleaner.enable": "false"}) as broker,
        client_of(broker) as client,
    ):
        create_compacted_topic(client, "t")
        create_topic(client, "plain")
        fill(client, "t")
    done = compact(tmp_path, "t")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("t-0: ")
    assert " bytes became " in done.stdout
    with Broker(data_dir=tmp_path) as broker, client_of(broker) as client:
        assert offsets(client, "t") == [45, 46, 47, 48, 49]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [(("absent",), "there is no topic absent"), (("plain",), "plain-0 was not compacted")],
)
def test_the_command_refuses(tmp_path: Path, arguments: tuple[str, ...], complaint: str) -> None:
    with Broker(data_dir=tmp_path) as broker, client_of(broker) as client:
        create_topic(client, "plain")
    done = compact(tmp_path, *arguments)
    assert done.returncode == 1
    assert complaint in done.stdout + done.stderr


def test_the_command_leaves_other_directories_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "t-0").mkdir()
    done = compact(tmp_path / "t-0", "t")
    assert (done.returncode, "is no broker's data directory" in done.stderr) == (1, True)
    assert list((tmp_path / "t-0").iterdir()) == []


def test_the_command_makes_no_directory(tmp_path: Path) -> None:
    done = compact(tmp_path / "absent", "t")
    assert (done.returncode, (tmp_path / "absent").exists()) == (1, False)
