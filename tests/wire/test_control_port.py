"""The control port of `kcompat start` and of the container: who reaches it, and what it refuses."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from kcompat.instrumentation.control.application import MAX_BODY
from kcompat.instrumentation.control.openapi import as_text
from kcompat.instrumentation.control.operations import OPERATIONS
from support.control_client import ControlClient
from support.controlled_broker import controlled_broker
from support.eventually import limit_s
from support.ports import free_port
from support.start_command import started

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def control(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlClient]:
    with controlled_broker(cwd=tmp_path_factory.mktemp("control")) as broker:
        yield broker.control


def test_the_description_is_served(control: ControlClient) -> None:
    status, headers, body = control.ask("GET", "/openapi.json")
    assert (status, headers["content-type"], body) == (200, "application/json", as_text(OPERATIONS))


def test_an_unknown_path_and_method_are_refused(control: ControlClient) -> None:
    assert control.refusal("GET", "/absent")[0] == 404
    assert control.refusal("DELETE", "/topics")[0] == 405
    status, headers, body = control.ask("HEAD", "/topics")
    assert (status, headers["content-type"], body) == (200, "application/json", b"")


def test_a_large_body_is_refused(control: ControlClient) -> None:
    status, _, answer = control.ask("POST", "/topics", b" " * (MAX_BODY + 1))
    assert (status, json.loads(answer)["detail"]) == (413, f"a body has at most {MAX_BODY:,} bytes")


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ({"Host": "evil.example"}, "not reached by the name 'evil.example'"),
        ({"Origin": "http://evil.example"}, "does not serve pages of 'http://evil.example'"),
    ],
)
def test_web_pages_are_refused(control: ControlClient, headers: dict[str, str], reason: str) -> None:
    status, _, answer = control.ask("POST", "/topics", b'{"name": "evil"}', headers)
    assert status == 403
    assert reason in json.loads(answer)["detail"]
    assert "evil" not in {each["name"] for each in control.get("/topics")["topics"]}


def test_only_this_machine_reaches_it(control: ControlClient) -> None:
    port = int(control.url.rpartition(":")[2])
    with socket.socket() as other:  # another address of this machine
        assert other.connect_ex(("127.0.0.2", port)) != 0


def test_a_port_in_use_is_refused_before_anything_is_stored(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with started("--port", "0", "--control-port", str(port), cwd=tmp_path) as process:
            out, err = process.communicate(timeout=limit_s(20))
    assert (process.returncode, out) == (1, "")
    assert err == f"kcompat: The control port cannot listen on 127.0.0.1:{port}: Address already in use.\n"
    assert list(tmp_path.iterdir()) == []


def test_a_variable_opens_it_in_a_container(tmp_path: Path) -> None:
    port = free_port()
    variables = {
        "KAFKA_LISTENERS": "PLAINTEXT://127.0.0.1:0",
        "KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://127.0.0.1:9092",
        "KAFKA_LOG_DIRS": str(tmp_path / "data"),
        "KCOMPAT_CONTROL_PORT": str(port),
    }
    settings = [f"{name}={value}" for name, value in variables.items()]
    command = [sys.executable, "-m", "kcompat", "container", "run", *settings]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as broker:
        try:
            assert broker.stdout is not None
            assert broker.stdout.readline().startswith("kcompat is listening on ")
            said = iter(broker.stdout.readline, "")
            assert f"the control port is http://localhost:{port}\n" in said
            control = ControlClient(f"http://127.0.0.1:{port}")
            assert control.get("/topics") == {"topics": []}
            status, _, _ = control.ask("GET", "/topics", headers={"Host": f"kafka:{port}"})
            assert status == 200
        finally:
            broker.terminate()
