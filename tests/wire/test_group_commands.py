"""The console clients and `consumer-groups` against a broker over sockets."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from kcompat import Broker
from kcompat.commands.run import run_command
from support.eventually import limit_s

if TYPE_CHECKING:
    from collections.abc import Iterator


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

    (group,) = json.loads(run("consumer-groups", "--describe", "--all-groups", "-o", "json")[0])
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
    assert run("consumer-groups", "--list")[0] == ""


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
