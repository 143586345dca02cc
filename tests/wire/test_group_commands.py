"""The console clients and `consumer-groups` against a broker over sockets."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from kcompat import Broker
from kcompat.commands.run import run_command
from kcompat.protocol.messages.find_coordinator import FindCoordinatorRequest
from support.eventually import eventually, limit_s
from support.raw_client import RawClient
from support.raw_producer import RawProducer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with Broker(topics={"orders": 1}) as broker:
        yield broker.bootstrap_servers


def _produce(server: str, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kcompat", "console-producer", "--bootstrap-server", server, *options]
    return subprocess.run(
        command, input=text, text=True, capture_output=True, timeout=limit_s(30), check=False
    )


def test_lines_become_records_of_a_group(server: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    def run(name: str, *words: str) -> tuple[str, str]:
        assert run_command(name, ["--bootstrap-server", server, *words]) == 0
        out, err = capfdbinary.readouterr()
        return out.decode(), err.decode()

    keyed = ("--property", "parse.key=true", "--property", "key.separator=:")
    done = _produce(server, "a:1\nb:2\nno key\n", "--topic", "orders", "--compression-codec", "zstd", *keyed)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "org.apache.kafka.common.KafkaException: No key separator found on line number 3: 'no key'\n"
    )

    read = ("--topic", "orders", "--group", "g", "--from-beginning")
    out, err = run("console-consumer", *read, "--max-messages", "1", "--property", "print.key=true")
    assert (out, err) == ("a\t1\n", "Processed a total of 1 messages\n")
    out, err = run("console-consumer", *read, "--max-messages", "1")
    assert (out, err) == ("2\n", "Processed a total of 1 messages\n")

    (group,) = json.loads(run("consumer-groups", "--describe", "--group", "g", "-o", "json")[0])
    (row,) = group["offsets"]
    assert (group["group"], group["state"], row["offset"], row["lag"]) == ("g", "Empty", 2, 0)
    out, err = run(
        "consumer-groups", "--reset-offsets", "--group", "g", "--all-topics", "--shift-by", "-1", "--execute"
    )
    assert out.splitlines()[2].split() == ["g", "orders", "0", "1"]
    out, _ = run("console-consumer", *read, "--max-messages", "1")
    assert out == "2\n"
    assert run("consumer-groups", "--delete", "--group", "g")[0] == (
        "Deletion of requested consumer groups ('g') was successful.\n"
    )
    assert "g" not in run("consumer-groups", "--list")[0].split()


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_a_group_gets_past_markers_and_aborted_records(
    paid: str, capfdbinary: pytest.CaptureFixture[bytes], isolation: str
) -> None:
    place = ["--bootstrap-server", paid]
    options = ["--topic", "paid", "--from-beginning", "--isolation-level", isolation, "--group", isolation]

    def offsets_after_reading() -> list[tuple[int, int]]:
        assert run_command("console-consumer", [*place, *options, "--timeout-ms", "300"]) == 0
        capfdbinary.readouterr()
        assert run_command("consumer-groups", [*place, "--describe", "--group", isolation, "-o", "json"]) == 0
        (described,) = json.loads(capfdbinary.readouterr().out)
        return [(row["offset"], row["lag"]) for row in described["offsets"]]

    eventually(lambda: offsets_after_reading() == [(4, 0)])


@pytest.fixture(scope="module")
def paid() -> Iterator[str]:
    """A broker whose topic has a record, the marker that commits it, a record, and the one that aborts it."""
    config = {"transaction.state.log.num.partitions": 1}
    with Broker(topics={"paid": 1}, config=config) as broker:
        host, _, port = broker.bootstrap_servers.rpartition(":")
        with RawClient((host, int(port))) as client:
            eventually(lambda: not client.call(FindCoordinatorRequest("payer", 1), 3).error_code)
            payer = RawProducer(client, "payer", "paid")
            eventually(lambda: not payer.send())
            assert payer.commit() == 0
            eventually(lambda: not payer.send())
            assert payer.abort() == 0
            eventually(lambda: payer.state() == "CompleteAbort")
        yield broker.bootstrap_servers


def test_partition_is_read_from_an_offset(server: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert _produce(server, "x\ny\nz", "--topic", "numbers", "--sync").returncode == 0
    place = ["--bootstrap-server", server, "--topic", "numbers", "--partition", "0"]
    shown = ["--property", "print.offset=true", "--timeout-ms", "0"]
    assert run_command("console-consumer", [*place, "--offset", "1", "--max-messages", "2", *shown[:2]]) == 0
    assert capfdbinary.readouterr().out == b"Offset:1\ty\nOffset:2\tz\n"
    assert run_command("console-consumer", [*place, *shown]) == 0
    out, err = capfdbinary.readouterr()
    assert out == b""
    assert b"org.apache.kafka.common.errors.TimeoutException\nProcessed a total of 0 messages\n" in err


@contextmanager
def _consumer(server: str, *options: str) -> Iterator[subprocess.Popen[str]]:
    """A console consumer in a process of its own, which is killed at the end."""
    command = [sys.executable, "-m", "kcompat", "console-consumer", "--bootstrap-server", server, *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.thorough("test_lines_become_records_of_a_group joins a group, commits and leaves it")
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_members_share_partitions_and_one_takes_over(
    capfdbinary: pytest.CaptureFixture[bytes], protocol: str
) -> None:
    with Broker(topics={"shared": 2}) as broker:
        server = broker.bootstrap_servers

        def assigned() -> list[int]:
            assert run_command("consumer-groups", ["--bootstrap-server", server, *describe]) == 0
            (group,) = json.loads(capfdbinary.readouterr().out)
            return sorted(len(member["assignment"]) for member in group["members"])

        describe = ["--describe", "--group", "g", "--members", "-o", "json"]
        options = (
            "--topic",
            "shared",
            "--group",
            "g",
            "--from-beginning",
            "--property",
            "print.partition=true",
            "--consumer-property",
            f"group.protocol={protocol}",
        )
        with _consumer(server, *options) as first, _consumer(server, *options) as second:
            eventually(lambda: broker.groups().get("g") is not None and assigned() == [1, 1])
            second.send_signal(signal.SIGINT)
            out, err = second.communicate(timeout=limit_s(30))
            assert (second.returncode, out, err) == (130, "", "Processed a total of 0 messages\n")
            eventually(lambda: assigned() == [2])
            for partition in (0, 1):
                broker.add("shared", f"record {partition}", partition=partition)
            assert first.stdout is not None
            lines = sorted(first.stdout.readline() for _ in range(2))
            assert lines == ["Partition:0\trecord 0\n", "Partition:1\trecord 1\n"]
            first.terminate()
            _, err = first.communicate(timeout=limit_s(30))
            assert (first.returncode, err) == (143, "Processed a total of 2 messages\n")
        assert broker.groups()["g"].offsets[0].lag == 0


@pytest.mark.thorough("tests of the admin client log in by every mechanism")
def test_clients_log_in_over_tls(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with Broker(topics={"orders": 1}, tls=True, users={"ann": "secret"}) as broker:
        settings = tmp_path / "client.properties"
        settings.write_text(
            "".join(f"{key}={value}\n" for key, value in broker.client_config("ann", library="java").items())
        )
        server = broker.bootstrap_servers
        done = _produce(server, "x\n", "--topic", "orders", "--producer.config", str(settings))
        assert (done.returncode, done.stderr) == (0, "")
        words = ["--bootstrap-server", server, "--topic", "orders", "--from-beginning", "--max-messages", "1"]
        assert run_command("console-consumer", [*words, "--consumer.config", str(settings)]) == 0
        assert capfdbinary.readouterr().out == b"x\n"


@pytest.mark.thorough("tests/unit/commands/console/test_lines.py has lines that come in pieces")
def test_lines_of_a_pipe_are_sent_while_it_is_open(server: str) -> None:
    command = [sys.executable, "-m", "kcompat", "console-producer", "--bootstrap-server", server]
    options = ["--topic", "piped", "--timeout", "50"]
    with subprocess.Popen([*command, *options], stdin=subprocess.PIPE, text=True) as producer:
        assert producer.stdin is not None
        producer.stdin.write("early\n")
        producer.stdin.flush()
        with _consumer(server, "--topic", "piped", "--from-beginning", "--max-messages", "1") as consumer:
            out, _ = consumer.communicate(timeout=limit_s(60))
        producer.stdin.close()
        assert (out, producer.wait(limit_s(30))) == ("early\n", 0)
