"""`kcompat trace` and flight records, with brokers as a user starts them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Protocol

import pytest

from kcompat import Broker
from kcompat.cli.main import main
from kcompat.instrumentation.recording.flight_file import flight_files
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.eventually import eventually, limit_s
from support.ports import free_port
from support.raw_client import RawClient
from support.raw_requests import create_topic, fetch, produce
from support.start_command import started

if TYPE_CHECKING:
    from pathlib import Path

BATCH = bytes(build_batch([Record(0, 1000, b"key", b"value")]))
KCOMPAT = (sys.executable, "-m", "kcompat")


def address(servers: str) -> tuple[str, int]:
    host, _, port = servers.rpartition(":")
    return host, int(port)


def talk(servers: str, client_id: str = "app") -> None:
    """Create a topic twice, write and read."""
    with RawClient(address(servers), client_id=client_id) as client:
        create_topic(client, "orders")
        create_topic(client, "orders")
        produce(client, "orders", BATCH)
        fetch(client, "orders", 0)


def announced(process: subprocess.Popen[str]) -> str:
    """The address that a broker prints when it is ready."""
    assert process.stdout is not None
    return process.stdout.readline().removeprefix("kcompat is listening on ").split(" ")[0]


class Shown(Protocol):
    """A function that runs the command in this process and returns the lines of its output, without times
    and durations.
    """

    def __call__(self, *arguments: str | Path) -> list[str]: ...


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str]) -> Shown:
    """Run the command on files, and return what it prints."""

    def run(*arguments: str | Path) -> list[str]:
        assert main(["trace", *map(str, arguments)]) == 0
        output, errors = capsys.readouterr()
        assert errors == ""
        return [re.sub(r"^[0-9:.]{12} | in [0-9.]+ ms$", "", line) for line in output.splitlines()]

    return run


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The flight record of an embedded broker."""
    directory = tmp_path_factory.mktemp("record")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KCOMPAT_RECORD", str(directory))
        with Broker() as broker:
            talk(broker.bootstrap_servers)
    return directory


def test_a_flight_record_is_printed_one_line_a_request(record: Path, shown: Shown) -> None:
    found = [line for line in shown(record) if not line.startswith("127.0.0.1")]
    assert found == [
        "app CreateTopics v4 orders: ok",
        "app CreateTopics v4 orders: orders TOPIC_ALREADY_EXISTS",
        "app Produce v9 orders: ok",
        "app Fetch v11 orders: ok",
    ]
    (file,) = flight_files(record)
    assert shown(file) == shown(record)


def test_filters_choose_requests(record: Path, shown: Shown) -> None:
    assert shown(record, "--errors") == ["app CreateTopics v4 orders: orders TOPIC_ALREADY_EXISTS"]
    assert shown(record, "--api", "produce") == ["app Produce v9 orders: ok"]
    assert shown(record, "--client", "another") == []
    assert len(shown(record, "--topic", "orders")) == 4


def test_all_fields_and_records_are_shown_deep(record: Path, shown: Shown) -> None:
    text = "\n".join(shown(record, "--deep", "--api", "fetch"))
    for line in ("    request:", "      max_wait_ms: 0", "          key: 'key'", "          value: 'value'"):
        assert line in text


def test_misuse_is_answered_in_a_sentence(
    record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments, sentence in (
        ((record, "--api", "Fetsch"), "'Fetsch' is not the name of an API: use one of Produce, Fetch,"),
        ((tmp_path / "none",), "cannot be read: No such file or directory"),
        ((tmp_path,), "holds no flight record"),
        (("--data-dir", tmp_path), f"no broker runs on {tmp_path}: name its directory with --data-dir"),
    ):
        assert main(["trace", *map(str, arguments)]) == 1
        output, errors = capsys.readouterr()
        assert output == ""
        assert sentence in errors
        assert errors.count("\n") == 1


def test_live_requests_are_printed_until_ctrl_c(tmp_path: Path) -> None:
    with (
        Broker(data_dir=tmp_path) as broker,
        subprocess.Popen(
            [*KCOMPAT, "trace", "--data-dir", str(tmp_path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as command,
    ):
        assert command.stdout is not None
        assert command.stderr is not None
        thread, node = broker._running()
        eventually(lambda: bool(thread.do(lambda: list(node.hooks.observers))), "the command listens")
        talk(broker.bootstrap_servers, "live")
        seen = [command.stdout.readline() for _ in range(5)]
        assert "opened" in seen[0]
        assert "live Produce v9 orders: ok in" in seen[3]
        command.send_signal(signal.SIGINT)
        assert command.wait(limit_s(30)) == 0
        assert command.stderr.read() == ""
        # the broker notices at its next sign of life that the reader has left
        eventually(lambda: not thread.do(lambda: list(node.hooks.observers)), "nothing is recorded")


@pytest.mark.thorough("test_live_requests_are_printed_until_ctrl_c shows how the command runs")
def test_a_trace_ends_with_its_broker(tmp_path: Path) -> None:
    with Broker(data_dir=tmp_path) as broker:
        command = subprocess.Popen(
            [*KCOMPAT, "trace", "--data-dir", str(tmp_path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        thread, node = broker._running()
        eventually(lambda: bool(thread.do(lambda: list(node.hooks.observers))), "the command listens")
    _, errors = command.communicate(timeout=limit_s(30))
    assert (command.returncode, errors) == (0, "kcompat: the broker has stopped\n")


@pytest.mark.thorough("the unit tests of the queue show it")
def test_a_reader_that_stands_still_does_not_hold_the_broker_up(tmp_path: Path) -> None:
    with (
        Broker(data_dir=tmp_path) as broker,
        subprocess.Popen(
            [*KCOMPAT, "trace", "--deep", "--data-dir", str(tmp_path)], stdout=subprocess.PIPE, text=True
        ) as command,
        RawClient(address(broker.bootstrap_servers), client_id="busy") as client,
    ):
        thread, node = broker._running()
        eventually(lambda: bool(thread.do(lambda: list(node.hooks.observers))), "the command listens")
        create_topic(client, "big")
        command.send_signal(signal.SIGSTOP)
        batch = bytes(build_batch([Record(0, 1000, None, os.urandom(500_000))]))
        for _ in range(40):
            assert produce(client, "big", batch).error_code == 0
        command.send_signal(signal.SIGCONT)
        assert command.stdout is not None
        for _ in range(3):
            client.call(MetadataRequest(topics=[]), 9)
        assert any(" entries left out" in line for line in iter(command.stdout.readline, ""))
        command.send_signal(signal.SIGINT)
        command.stdout.read()


def test_a_killed_broker_leaves_a_record(tmp_path: Path, shown: Shown) -> None:
    with started("--port", "0", "--record", "record", "--data-dir", "data", cwd=tmp_path) as process:
        talk(announced(process))
        process.kill()
    assert "app Fetch v11 orders: ok" in shown(tmp_path / "record")


@pytest.mark.thorough("test_live_requests_are_printed_until_ctrl_c shows it for one broker")
def test_brokers_in_processes_are_traced_and_recorded_together(tmp_path: Path) -> None:
    data = tmp_path / "data"
    arguments = ("--brokers", "2", "--processes", "--port", str(free_port(2)), "--record", "record")
    with started(*arguments, "--data-dir", "data", cwd=tmp_path) as process:
        servers = announced(process).split(",")
        with (tmp_path / "shown").open("w") as shown:
            command = subprocess.Popen([*KCOMPAT, "trace", "--data-dir", str(data)], stdout=shown)

        def both_are_shown() -> bool:
            for server in servers:
                with RawClient(address(server)) as client:
                    client.call(MetadataRequest(topics=[]), 9)
            text = (tmp_path / "shown").read_text()
            return "broker 0 " in text and "broker 1 " in text

        eventually(both_are_shown, "the requests to both are shown")
        command.send_signal(signal.SIGINT)
        assert command.wait(limit_s(30)) == 0
    assert {path.name.split("broker-")[1] for path in flight_files(tmp_path / "record")} == {
        "0.kcflight",
        "1.kcflight",
    }
