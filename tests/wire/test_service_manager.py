"""The systemd unit: its command serves before it says so to systemd, and stops cleanly."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from configparser import ConfigParser
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest

from support.broker_process import answers_api_versions
from support.eventually import limit_s
from support.places import REPOSITORY
from support.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

UNIT = REPOSITORY / "deploy" / "kcompat.service"
INSTALLED = "/opt/kcompat/bin/kcompat"
PROPERTIES = "/etc/kcompat/server.properties"


def command_of_unit(properties: Path) -> list[str]:
    """Return the unit's command with the kcompat of this clone."""
    unit = ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment]  # keys keep their case
    unit.read(UNIT)
    assert unit["Service"]["Type"] == "notify"
    words = shlex.split(unit["Service"]["ExecStart"])
    assert words.count(INSTALLED) == words.count(PROPERTIES) == 1
    words[words.index(PROPERTIES)] = str(properties)
    assert words[0] == INSTALLED
    return [sys.executable, "-m", "kcompat", *words[1:]]


@contextmanager
def manager(address: str) -> Iterator[socket.socket]:
    """A socket that receives the states of a service, as systemd has it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ours:
        ours.bind(f"\0{address[1:]}" if address.startswith("@") else address)
        ours.settimeout(limit_s(30))
        yield ours


def serve(address: str, port: int, tmp_path: Path, more: Sequence[str] = ()) -> None:
    """Run the unit's command, and see that it serves when it is ready, and says when it stops."""
    properties = tmp_path / "server.properties"
    properties.write_text(f"listeners=PLAINTEXT://127.0.0.1:{port}\nlog.dirs={tmp_path / 'data'}\n")
    environment = {**os.environ, "NOTIFY_SOCKET": address}
    command = [*command_of_unit(properties), *more]
    with manager(address) as ours, subprocess.Popen(command, env=environment) as broker:
        try:
            assert ours.recv(100) == b"READY=1"
            assert answers_api_versions(port)
            broker.send_signal(signal.SIGTERM)
            assert ours.recv(100) == b"STOPPING=1"
            assert broker.wait(limit_s(30)) == 0
        finally:
            broker.kill()


def test_a_broker_is_a_service(tmp_path: Path) -> None:
    serve(str(tmp_path / "notify"), free_port(), tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="an abstract name is Linux's")
@pytest.mark.thorough("test_a_broker_is_a_service has a broker alone")
def test_brokers_in_processes_are_one_service_at_an_abstract_name(tmp_path: Path) -> None:
    # Two ports that follow each other, as the members take.
    port = next(port for port in iter(free_port, None) if not answers_api_versions(port + 1))
    serve(f"@{tmp_path}", port, tmp_path, ["--brokers", "2", "--processes"])


def report_to(address: str) -> str:
    """Report to a service manager that a service is ready; return what is logged."""
    code = (
        "from contextlib import AsyncExitStack\n"
        "from kcompat.cli.service_manager import report_service\n"
        "report_service(AsyncExitStack())\n"
    )
    environment = {**os.environ, "NOTIFY_SOCKET": address}
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=limit_s(30),
    )
    return ran.stderr


def test_a_manager_that_has_gone_is_no_fault_of_the_broker(tmp_path: Path) -> None:
    assert "The service manager cannot be told READY=1" in report_to(str(tmp_path / "gone"))


def test_a_manager_that_does_not_read_does_not_hold_the_broker_up(tmp_path: Path) -> None:
    address = str(tmp_path / "notify")
    with manager(address), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        other.setblocking(False)
        with suppress(BlockingIOError):
            while True:
                other.sendto(b"WATCHDOG=1", address)
        assert "The service manager cannot be told READY=1" in report_to(address)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    """The unit with an interpreter that exists in place of the installed command."""
    placed = tmp_path / UNIT.name
    placed.write_text(UNIT.read_text().replace(INSTALLED, sys.executable))
    ran = subprocess.run(["systemd-analyze", "verify", placed], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout + ran.stderr) == (0, "")
