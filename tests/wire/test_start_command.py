"""`kcompat start` as a process: what it prints, how it ends, what it refuses."""

from __future__ import annotations

import errno
import os
import re
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from support.eventually import limit_s
from support.start_command import started

if TYPE_CHECKING:
    from pathlib import Path

READY = re.compile(r"kcompat is listening on ([^ ]+):(\d+) and stores in (.+)\n")


def ready(process: subprocess.Popen[str]) -> tuple[str, int, str]:
    """Where the broker says it listens and stores."""
    assert process.stdout is not None
    line = process.stdout.readline()
    match = READY.fullmatch(line)
    assert match is not None, (line, process.communicate())
    return match[1], int(match[2]), match[3]


def listening(process: subprocess.Popen[str]) -> list[tuple[str, int]]:
    """Hosts and ports of the brokers, as the first line has them."""
    assert process.stdout is not None
    line = process.stdout.readline()
    match = re.fullmatch(r"kcompat is listening on ([^ ]+) and stores in .+\n", line)
    assert match is not None, (line, process.communicate())
    return [(host, int(port)) for host, _, port in (one.rpartition(":") for one in match[1].split(","))]


LOCAL = ("--override", "listeners=PLAINTEXT://127.0.0.1:0")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_one_line_then_service_until_a_signal(tmp_path: Path, number: signal.Signals) -> None:
    with started(*LOCAL, cwd=tmp_path) as process:
        host, port, directory = ready(process)
        assert directory == str(tmp_path / "kcompat-data")
        with socket.create_connection((host, port), timeout=limit_s(10)):
            pass
        process.send_signal(number)
        out, err = process.communicate(timeout=limit_s(20))
        assert (process.returncode, out, err) == (0, "", "")
    assert (tmp_path / "kcompat-data" / "meta.properties").exists()
    assert (tmp_path / "kcompat-data" / ".kafka_cleanshutdown").exists()


@pytest.mark.parametrize("more", [(), ("--brokers", "2"), ("--brokers", "2", "--processes")])
def test_without_a_host_only_programs_of_this_machine_reach_it(tmp_path: Path, more: tuple[str, ...]) -> None:
    with started("--port", "0", "--memory", *more, cwd=tmp_path) as process:
        address = listening(process)
        assert all(host == "localhost" for host, _ in address)
        for _, port in address:
            with socket.create_connection(("127.0.0.1", port), timeout=limit_s(10)):
                pass
            with socket.socket() as other:  # at another address of this machine
                assert other.connect_ex(("127.0.0.2", port)) == errno.ECONNREFUSED
        process.terminate()
        out, err = process.communicate(timeout=limit_s(20))
        assert (process.returncode, out, err) == (0, "", "")


def test_a_host_opens_it_and_the_line_says_so(tmp_path: Path) -> None:
    with started("--host", "0.0.0.0", "--port", "0", "--memory", cwd=tmp_path) as process:
        ((host, port),) = listening(process)
        assert host == "localhost"
        assert process.stdout is not None
        assert f"is bound to every interface, port {port}; clients" in process.stdout.readline()
        with socket.create_connection(("127.0.0.2", port), timeout=limit_s(10)):
            pass
        process.terminate()
        _, warned = process.communicate(timeout=limit_s(20))
        assert warned.count("asks for no login: anyone who reaches it may do anything") == 1
        assert warned.count("\n") == 1


def test_a_name_that_clients_are_told_in_vain_is_a_warning(tmp_path: Path) -> None:
    told = "--override", "advertised.listeners=PLAINTEXT://foo.invalid:19092"
    with started("--port", "0", "--memory", *told, cwd=tmp_path) as process:
        listening(process)
        assert process.stdout is not None
        assert process.stderr is not None
        assert "clients are told foo.invalid:19092\n" in process.stdout.readline()
        assert "foo.invalid does not resolve on this machine" in process.stderr.readline()
        process.terminate()
        assert process.communicate(timeout=limit_s(20))[1] == ""


def test_a_signal_ends_a_start_that_waits_for_its_store(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        connect = f"zookeeper.connect=127.0.0.1:{silent.getsockname()[1]}"
        forever = "zookeeper.connection.timeout.ms=600000"
        with started(*LOCAL, "--override", connect, "--override", forever, cwd=tmp_path) as process:
            connection, _ = silent.accept()
            with connection:
                process.terminate()
                out, err = process.communicate(timeout=limit_s(20))
    assert (process.returncode, out, err) == (0, "", "")


def test_memory_leaves_nothing_behind(tmp_path: Path) -> None:
    with started(*LOCAL, "--memory", cwd=tmp_path) as process:
        _, _, directory = ready(process)
        assert os.path.isdir(directory)  # noqa: PTH112
        process.terminate()
        process.communicate(timeout=limit_s(20))
    assert not os.path.exists(directory)  # noqa: PTH110
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_broker_left_in_memory_goes_when_the_next_one_starts(tmp_path: Path) -> None:
    with (
        started(*LOCAL, "--memory", cwd=tmp_path) as killed,
        started(*LOCAL, "--memory", cwd=tmp_path) as live,
    ):
        left, used = ready(killed)[2], ready(live)[2]
        killed.kill()
        killed.communicate(timeout=limit_s(20))
        assert os.path.isdir(left)  # noqa: PTH112
        with started(*LOCAL, "--memory", cwd=tmp_path) as process:
            ready(process)
            assert not os.path.exists(left)  # noqa: PTH110
            assert os.path.isdir(used)  # noqa: PTH112
            process.terminate()
            process.communicate(timeout=limit_s(20))
        live.terminate()
        live.communicate(timeout=limit_s(20))
        assert not os.path.exists(used)  # noqa: PTH110


def test_a_second_broker_on_the_same_directory_is_refused(tmp_path: Path) -> None:
    with started(*LOCAL, cwd=tmp_path) as first:
        ready(first)
        with started(*LOCAL, cwd=tmp_path) as second:
            out, err = second.communicate(timeout=limit_s(20))
        assert (second.returncode, out) == (1, "")
        assert err.startswith("kcompat: ")
        assert str(tmp_path / "kcompat-data") in err
        assert err.count("\n") == 1


def test_a_taken_port_is_refused(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with started("--override", f"listeners=PLAINTEXT://127.0.0.1:{port}", cwd=tmp_path) as process:
            out, err = process.communicate(timeout=limit_s(20))
    assert (process.returncode, out) == (1, "")
    assert str(port) in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == [], "nothing was made"


def test_a_data_directory_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine")
    with started(*LOCAL, "--data-dir", "notes", cwd=tmp_path) as process:
        out, err = process.communicate(timeout=limit_s(20))
    assert (process.returncode, out) == (1, "")
    assert err == f"kcompat: The data directory {tmp_path / 'notes'} is a file, not a directory.\n"
    assert (tmp_path / "notes").read_text() == "mine"


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("num.partitons=4", "num.partitons is not a key of Kafka's brokers: did you mean num.partitions?"),
        (
            "sasl.kerberos.service.name=k",
            "sasl.kerberos.service.name=k is not supported: Kerberos (GSSAPI) is not supported",
        ),
    ],
)
def test_a_setting_that_cannot_be_is_refused_in_a_sentence(
    tmp_path: Path, setting: str, sentence: str
) -> None:
    with started(*LOCAL, "--override", setting, cwd=tmp_path) as process:
        out, err = process.communicate(timeout=limit_s(20))
    assert (process.returncode, out, err) == (1, "", f"kcompat: {sentence}\n")
    assert list(tmp_path.iterdir()) == [], "nothing was made"


PRINTS_BEFORE_AND_BEHIND = """
import os, signal, sys
from kcompat.cli.start import run_brokers
from kcompat.config.broker import BrokerConfig

def started(addresses):
    print("before", flush=True)
    os.kill(os.getpid(), signal.SIGTERM)
    return ["behind"]

config = BrokerConfig({"log.dirs": sys.argv[1], "listeners": "PLAINTEXT://localhost:0"})
sys.exit(run_brokers(config, started=started))
"""


def test_what_clients_need_is_there_before_the_line_that_programs_wait_for(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PRINTS_BEFORE_AND_BEHIND, str(tmp_path / "data")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=limit_s(30), check=False)
    before, listening, behind = ended.stdout.splitlines()
    assert (before, behind, ended.returncode) == ("before", "behind", 0), ended.stderr
    assert listening.startswith("kcompat is listening on localhost:")


def test_a_misspelt_key_of_a_file_is_warned_about(tmp_path: Path) -> None:
    (tmp_path / "server.properties").write_text(
        "num.partitons=4\nmetric.reporters=a.B\nlistener.name.back.max.connections=4\n"
    )
    with started("server.properties", *LOCAL, "--memory", cwd=tmp_path) as process:
        ready(process)
        process.terminate()
        _, err = process.communicate(timeout=limit_s(20))
    assert process.returncode == 0
    assert "not known and are ignored: num.partitons (did you mean num.partitions?)" in err
    assert "metric.reporters is accepted but has no effect" in err
    assert "no such listener (its name is in lower case in them): listener.name.back.max.connections" in err
