"""`kcompat doctor` names what is wrong, and finds nothing wrong where nothing is."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from kcompat import Broker, Cluster
from kcompat.doctor.diagnosis import diagnose
from support.broken_setups import SETUPS
from support.eventually import limit_s
from support.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kcompat.doctor.finding import Finding

MOST_LAG = 10
IN_EACH_RUN = ("unknown_name", "nobody", "http_port", "other_protocol", "tls_on_plain", "wrong_password")
"""Set-ups that `make test` has; the others have the same way through the code up to their own check."""


def findings_of(properties: dict[str, str]) -> list[Finding]:
    """Return the findings for a client."""
    return list(diagnose(properties, MOST_LAG))


@pytest.mark.parametrize(
    ("setup", "names"),
    [
        pytest.param(
            setup,
            names,
            id=setup.__name__,
            marks=[]
            if setup.__name__ in IN_EACH_RUN
            else pytest.mark.thorough("test_a_broken_setup_is_named[nobody]"),
        )
        for setup, names in SETUPS.items()
    ],
)
def test_a_broken_setup_is_named(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    setup: Callable[[Path, ExitStack], dict[str, str]],
    names: list[str],
) -> None:
    with ExitStack() as undo:
        found = findings_of(setup(tmp_path, undo))
    assert [each.name for each in found] == names, found
    assert found[0].what
    assert found[0].advice.endswith(".")
    assert "secret" not in found[0].what
    assert "during authentication" not in found[0].what
    assert "AdminClient" not in capsys.readouterr().err


def test_a_silent_port_is_named_in_a_few_seconds() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        at = f"127.0.0.1:{silent.getsockname()[1]}"
        began = time.monotonic()
        [found] = diagnose({"bootstrap.servers": at, "request.timeout.ms": "60000"}, timeout_s=0.1)
        assert time.monotonic() - began < limit_s(5)
    assert found.name == "silent-port"


def test_an_address_of_ipv6_has_brackets() -> None:
    at = f"[::1]:{free_port()}"
    [found] = findings_of({"bootstrap.servers": at})
    assert found.what.endswith(f" {at}")


@pytest.mark.parametrize("tls", [False, True])
def test_a_healthy_broker_gets_no_finding(tls: bool, caplog: pytest.LogCaptureFixture) -> None:
    with Broker(tls=tls, users={"alice": "secret"}, topics={"orders": 3}) as broker:
        properties = broker.client_config("alice", library="java")
        assert findings_of({key: str(value) for key, value in properties.items()}) == []
    assert not tls or not caplog.messages


def test_addresses_that_cannot_be_used_do_not_hide_a_cluster() -> None:
    with Broker() as broker:
        servers = f"127.0.0.1:{free_port()},{broker.bootstrap_servers}"
        found = findings_of({"bootstrap.servers": servers, "batch.size": "999999999"})
    assert [each.name for each in found] == ["nothing-listens", "setting-beyond-limit"]


def test_a_healthy_cluster_gets_no_finding() -> None:
    with Cluster(3, topics={"orders": 3}) as cluster:
        assert findings_of({"bootstrap.servers": cluster.bootstrap_servers}) == []


def test_the_command_prints_findings_and_advice(tmp_path: Path) -> None:
    def run(*words: str) -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, "-m", "kcompat", "doctor", *words],
            capture_output=True,
            text=True,
            timeout=limit_s(60),
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    nowhere = f"127.0.0.1:{free_port()}"
    code, text, _ = run(nowhere)
    assert (code, text) == (
        1,
        f"ERROR nothing-listens: nothing listens at {nowhere}.\n"
        "  Start the broker, or use the port of one of its listeners.\n",
    )
    code, text, _ = run(nowhere, "-o", "json")
    (found,) = json.loads(text)["findings"]
    assert (code, found["name"], found["severity"]) == (1, "nothing-listens", "error")
    assert run("nowhere")[0::2] == (
        2,
        "kcompat: Invalid url in bootstrap.servers: nowhere: "
        "name brokers as HOST:PORT, with commas between them\n",
    )
    missing = str(tmp_path / "missing.properties")
    sentence = f"kcompat: {missing} cannot be read: No such file or directory\n"
    assert run(nowhere, "--command-config", missing)[0::2] == (2, sentence)
    with Broker() as broker:
        address = broker.bootstrap_servers
        assert run(address) == (0, f"{address}: nothing is wrong.\n", "")
        file = tmp_path / "client.properties"
        file.write_text("batch.size=999999999\n")
        assert run(address, "--command-config", str(file))[0] == 1
