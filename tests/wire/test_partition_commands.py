"""`acls`, `transactions`, `leader-election` and `reassign-partitions` against brokers over sockets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from kcompat import Cluster
from kcompat.commands.run import run_command
from support.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

AUTHORIZER = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "super.users": "User:ANONYMOUS",
}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with Cluster(2, config=AUTHORIZER) as cluster:
        yield cluster.bootstrap_servers


def _run(name: str, server: str, capsys: pytest.CaptureFixture[str], words: list[str], code: int = 0) -> str:
    assert run_command(name, ["--bootstrap-server", server, *words]) == code
    return capsys.readouterr().out


def test_acls_are_added_listed_and_removed(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    add = ["--add", "--consumer", "--topic", "orders", "--group", "g", "--allow-principal", "User:ann"]
    added = _run("acls", server, capsys, add)
    resource = "ResourcePattern(resourceType=TOPIC, name=orders, patternType=LITERAL)"
    assert f"Adding ACLs for resource `{resource}`: \n \t(principal=User:ann, host=*, operation=READ" in added
    assert "already exists." in _run("acls", server, capsys, add)
    found = json.loads(_run("acls", server, capsys, ["--list", "--topic", "orders", "-o", "json"]))
    assert [entry["operation"] for entry in found[0]["entries"]] == ["READ", "DESCRIBE"]
    _run("acls", server, capsys, ["--remove", "--topic", "orders", "--force"])
    left = _run("acls", server, capsys, ["--list", "--principal", "User:ann"])
    assert "name=orders" not in left
    assert "ResourcePattern(resourceType=GROUP, name=g, patternType=LITERAL)" in left


def test_partitions_are_moved_and_led(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _run("topics", server, capsys, ["--create", "--topic", "moved", "--replica-assignment", "1,1"])
    topics, moves = tmp_path / "topics.json", tmp_path / "moves.json"
    topics.write_text('{"topics": [{"topic": "moved"}]}')
    generate = ["--generate", "--topics-to-move-json-file", str(topics), "--broker-list", "0"]
    moves.write_text(_run("reassign-partitions", server, capsys, [*generate, "-o", "json"]))
    file = ["--reassignment-json-file", str(moves)]

    started = _run("reassign-partitions", server, capsys, ["--execute", *file, "--throttle", "1000000"])
    assert "The inter-broker throttle limit was set to 1000000 B/s" in started
    assert started.endswith("Successfully started partition reassignments for moved-0,moved-1\n")

    def shown() -> str:
        return _run("reassign-partitions", server, capsys, ["--verify", *file])

    eventually(lambda: shown().count("is completed.") == 2)
    done = shown()
    assert (
        "Clearing broker-level throttles on brokers 0,1\nClearing topic-level throttles on topic moved\n"
        in done
    )
    assert _run("reassign-partitions", server, capsys, ["--list"]) == "No partition reassignments found.\n"
    place = ["--topic", "moved", "--partition", "0"]
    assert _run("leader-election", server, capsys, ["--election-type", "preferred", *place]) == (
        "Valid replica already elected for partitions moved-0\n"
    )


def test_transactions_are_described(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    _run("topics", server, capsys, ["--create", "--topic", "written"])
    assert _run("transactions", server, capsys, ["list"]) == (
        "TransactionalId\tCoordinator\tProducerId\tTransactionState\t\n"
    )
    place = ["--topic", "written", "--partition", "0"]
    assert _run("transactions", server, capsys, ["-o", "json", "describe-producers", *place]) == "[]\n"
    assert _run("transactions", server, capsys, ["find-hanging", "--topic", "written"]).startswith("Topic\t")
    _run("transactions", server, capsys, ["describe", "--transactional-id", "nobody"], code=1)
