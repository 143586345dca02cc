"""Kafka's commands without a JVM, against a broker over sockets."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from kcompat import Broker
from kcompat.admin.client import AdminClient
from kcompat.admin.errors import JavaError
from kcompat.admin.settings import ClientSettings
from kcompat.cli.main import main
from kcompat.commands.run import run_command
from kcompat.protocol.messages.metadata import MetadataRequest
from support import broken_setups
from support.eventually import limit_s
from support.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import TypeAlias

    Setup: TypeAlias = Callable[[Path, ExitStack], dict[str, str]]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with Broker() as broker:
        yield broker.bootstrap_servers


def test_topics_are_made_listed_described_extended_and_deleted(
    server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def topics(*words: str, code: int = 0) -> str:
        assert run_command("topics", ["--bootstrap-server", server, *words]) == code
        return capsys.readouterr().out

    made = topics("--create", "--topic", "orders", "--partitions", "2", "--config", "retention.ms=1000")
    assert made == "Created topic orders.\n"
    assert topics("--list", "--topic", "ord.*") == "orders\n"
    assert topics("--create", "--topic", "orders", "--if-not-exists") == ""
    assert topics("--create", "--topic", "orders", code=1) == (
        "Error while executing topic command : Topic 'orders' already exists.\n"
    )
    topics("--alter", "--topic", "ord.*", "--partitions", "3")
    (shown,) = json.loads(topics("--describe", "--topic", "orders", "-o", "json"))
    assert (shown["topic"], shown["partitionCount"]) == ("orders", 3)
    assert shown["configs"] == {"retention.ms": "1000"}
    assert [each["leader"] for each in shown["partitions"]] == [1, 1, 1]
    assert f"Topic: orders\tTopicId: {shown['topicId']}\tPartitionCount: 3" in topics("--describe")
    assert topics("--delete", "--topic", "orders") == ""
    assert json.loads(topics("--list", "--topic", "orders", "-o", "json")) == []


def asked(server: str, capsys: pytest.CaptureFixture[str], name: str, *words: str, code: int = 0) -> str:
    """Run a command that takes `--bootstrap-server`, and return its standard output."""
    assert run_command(name, ["--bootstrap-server", server, *words]) == code
    return capsys.readouterr().out


def test_configs_quotas_and_users_are_changed_and_shown(
    server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def configs(*words: str, code: int = 0) -> str:
        return asked(server, capsys, "configs", *words, code=code)

    asked(server, capsys, "topics", "--create", "--topic", "configured")
    done = configs(
        "--alter", "--topic", "configured", "--add-config", "retention.ms=5,cleanup.policy=[compact]"
    )
    assert done == "Completed updating config for topic configured.\n"
    shown = configs("--describe", "--topic", "configured")
    assert "  retention.ms=5 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=5}\n" in shown
    configs("--alter", "--topic", "configured", "--delete-config", "nothing.here", code=1)
    configs("--alter", "--user", "u", "--add-config", "producer_byte_rate=20000000")
    assert configs("--describe", "--user", "u") == (
        "Quota configs for user-principal 'u' are producer_byte_rate=2.0E7\n"
    )
    configs("--alter", "--user", "s", "--add-config", "SCRAM-SHA-256=[iterations=4096,password=secret]")
    (user,) = json.loads(configs("--describe", "--user", "s", "-o", "json"))["scramUsers"]
    assert user["mechanisms"] == [{"mechanism": "SCRAM-SHA-256", "iterations": 4096}]


def test_errors_do_not_repeat_passwords(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--bootstrap-server", server, "--alter", "--user", "s", "--add-config"]
    assert run_command("configs", [*words, "SCRAM-SHA-512=[iterations=100000,password=secret]"]) == 1
    printed = capsys.readouterr().err
    assert "Too many iterations" in printed
    assert "secret" not in printed


def test_offsets_are_printed_and_records_deleted(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked(server, capsys, "topics", "--create", "--topic", "kept", "--partitions", "2")
    assert asked(server, capsys, "get-offsets", "--topic-partitions", "kept:1-") == "kept:1:0\n"
    file = tmp_path / "offsets.json"
    file.write_text('{"partitions": [{"topic": "kept", "partition": 0, "offset": -1}], "version": 1}')
    done = asked(server, capsys, "delete-records", "--offset-json-file", str(file))
    assert done.endswith("completed:\npartition: kept-0\tlow_watermark: 0\n")
    for partition, offset in ((2**31, 0), (0, 2**63)):
        file.write_text(
            json.dumps({"partitions": [{"topic": "kept", "partition": partition, "offset": offset}]})
        )
        asked(server, capsys, "delete-records", "--offset-json-file", str(file), code=1)
    file.write_text('{"partitions": [{"topic": "kept", "partition": 0, "offset": 7}], "version": 1}')
    assert "OffsetOutOfRangeException" in asked(
        server, capsys, "delete-records", "--offset-json-file", str(file)
    )


def test_the_cluster_its_directories_features_and_versions(
    server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = json.loads(asked(server, capsys, "log-dirs", "--describe", "-o", "json"))
    assert [each["broker"] for each in shown["brokers"]] == [1]
    assert "\n\tProduce(0): 0 to " in asked(server, capsys, "broker-api-versions")
    assert "Feature: group.version\tSupportedMinVersion: 0\t" in asked(server, capsys, "features", "describe")
    assert run_command("cluster", ["cluster-id", "--bootstrap-server", server]) == 0
    assert capsys.readouterr().out.startswith("Cluster ID: ")
    assert run_command("cluster", ["list-endpoints", "-b", server, "-o", "json"]) == 0
    (endpoint,) = json.loads(capsys.readouterr().out)
    assert f"{endpoint['host']}:{endpoint['port']}" == server


def test_one_reachable_address_of_several_is_enough(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    servers = f"127.0.0.1:{free_port()},{server},127.0.0.1:{free_port()}"
    assert main(["get-offsets", "--bootstrap-server", servers, "--topic", "nothing.here"]) == 1
    printed = capsys.readouterr().err
    assert printed.endswith(
        "Error occurred: Could not match any topic-partitions with the specified filters\n"
    )


def test_a_word_that_is_not_utf_8_is_read_as_in_java(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    printed = asked(server, capsys, "topics", "--create", "--topic", "caf\udce9", code=1)
    assert "Topic name is invalid: 'caf\ufffd' contains" in printed


def test_an_output_that_lacks_a_character_shows_another_one(server: str) -> None:
    command = [sys.executable, "-m", "kcompat", "topics", "--bootstrap-server", server]
    done = subprocess.run(
        [*command, "--create", "--topic", "caf\xe9"],
        capture_output=True,
        env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "1"},
        timeout=limit_s(60),
        check=False,
    )
    assert done.returncode == 1
    assert b"Topic name is invalid: 'caf?' contains" in done.stdout


@pytest.mark.parametrize("words", ["topics --list", "console-producer --topic written"])
def test_closed_streams_are_empty_ones(server: str, words: str) -> None:
    command = f'exec "$0" -m kcompat {words} --bootstrap-server {server} <&- >&-'
    done = subprocess.run(
        ["sh", "-c", command, sys.executable], stderr=subprocess.PIPE, timeout=limit_s(60), check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_producer_waits_for_a_broker_no_longer_than_it_is_told() -> None:
    nowhere = f"127.0.0.1:{free_port()}"
    command = [sys.executable, "-m", "kcompat", "console-producer", "--bootstrap-server", nowhere]
    done = subprocess.run(
        [*command, "--topic", "orders", "--max-block-ms", "300"],
        input="a line\n",
        capture_output=True,
        text=True,
        timeout=limit_s(30),
        check=False,
    )
    assert "TimeoutException: Topic orders not present in metadata after 300 ms." in done.stderr


def in_each_run(setup: Setup) -> bool:
    return setup in (broken_setups.nobody, broken_setups.tls_on_plain)


FAILURES: dict[Setup, str] = {
    broken_setups.nobody: "nothing listens at 127.0.0.1:",
    broken_setups.http_port: "speaks HTTP",
    broken_setups.plain_on_tls: "speaks TLS, and the client does not. Set security.protocol=SSL",
    broken_setups.tls_on_plain: "speaks no TLS, and the client does. Use the port of a listener with TLS",
    broken_setups.untrusted: "is not trusted: ",
    broken_setups.without_login: "asks for a login by PLAIN",
    broken_setups.wrong_password: "refuses the login: ",
    broken_setups.advertised_closed: "nothing listens at 127.0.0.1:",
}
"""Parts of the last line where a client gets no answer."""


@pytest.mark.parametrize(
    ("setup", "said"),
    [
        pytest.param(
            setup,
            said,
            id=setup.__name__,
            marks=[] if in_each_run(setup) else pytest.mark.thorough("the same of nobody and tls_on_plain"),
        )
        for setup, said in FAILURES.items()
    ],
)
def test_the_last_line_says_why_there_was_no_answer(
    setup: Setup, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    describe_in_vain(setup, tmp_path)
    *_, last = capsys.readouterr().err.splitlines()
    assert last.startswith("kcompat: ")
    assert said in last


def describe_in_vain(setup: Setup, tmp_path: Path) -> None:
    """Run a command with the client of a set-up that keeps it from working."""
    with ExitStack() as undo:
        properties = setup(tmp_path, undo) | {"default.api.timeout.ms": "300", "request.timeout.ms": "300"}
        servers = properties.pop("bootstrap.servers")
        file = tmp_path / "client.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
        words = ["log-dirs", "--describe", "--bootstrap-server", servers, "--command-config", str(file)]
        assert main(words) == 1


def test_the_look_at_a_port_is_no_other_refused_login(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    describe_in_vain(broken_setups.wrong_password, tmp_path)
    refused = [each for each in caplog.messages if "login refused" in each]
    assert refused
    assert {each.partition(" [")[0] for each in refused} == {
        "127.0.0.1: login refused: unknown user or wrong password"
    }


def test_the_last_line_names_a_broker_that_is_not_there(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "client.properties"
    file.write_text("default.api.timeout.ms=300\nrequest.timeout.ms=300\n")
    words = ["transactions", "--bootstrap-server", server, "--command-config", str(file)]
    place = ["--topic", "orders", "--partition", "0", "--broker-id", "99"]
    assert main([*words, "describe-producers", *place]) == 1
    *_, last = capsys.readouterr().err.splitlines()
    assert last.startswith("kcompat: broker 99 is not in the cluster, which has broker 1. ")


def test_a_consumer_ends_in_its_time_where_nothing_answers(capsys: pytest.CaptureFixture[str]) -> None:
    setup_s = 10  # socket.connection.setup.timeout.ms
    with socket.create_server(("127.0.0.1", 0)) as silent:
        servers = f"127.0.0.1:{silent.getsockname()[1]}"
        before = time.monotonic()
        words = ["--bootstrap-server", servers, "--topic", "orders", "--timeout-ms", "100"]
        assert main(["console-consumer", *words]) == 0
        assert time.monotonic() - before < setup_s
    assert capsys.readouterr().err.endswith(
        "Processed a total of 0 messages\n"
        f"kcompat: {servers} accepts connections and does not answer a request. "
        "Check what listens there; a proxy may have no broker behind it.\n"
    )


@pytest.mark.parametrize(
    "words",
    [
        "topics --describe --topic nothing.here",
        "consumer-groups --describe --group nothing.here",
        "acls --list",
        "get-offsets --topic nothing.here",
    ],
)
def test_errors_are_not_mixed_with_json(server: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    name, *rest = words.split()
    assert asked(server, capsys, name, *rest, "-o", "json", code=1) == ""


READS = """
topics --list
topics --describe
configs --describe --topic shown
configs --describe --user ann
get-offsets
log-dirs --describe
features describe
features version-mapping
broker-api-versions
cluster cluster-id
cluster list-endpoints
consumer-groups --list
consumer-groups --describe --all-groups
consumer-groups --describe --all-groups --members
consumer-groups --reset-offsets --group readers --topic shown --to-earliest --dry-run
transactions list
transactions find-hanging --topic shown
transactions describe-producers --topic shown --partition 0
reassign-partitions --list
leader-election --election-type preferred --all-topic-partitions
console-consumer --topic shown --group readers --from-beginning --max-messages 1
"""


def test_all_that_is_read_can_be_read_as_json(capfd: pytest.CaptureFixture[str]) -> None:
    with Broker(topics={"shown": 1}) as broker:
        broker.add("shown", "a value", key="a key")
        for line in reversed(READS.strip().splitlines()):  # the consumer first, which makes a group
            name, *words = line.split()
            place = words[:1] if name == "cluster" else []
            where = ["--bootstrap-server", broker.bootstrap_servers]
            assert run_command(name, [*place, *where, *words[len(place) :], "-o", "json"]) == 0, line
            printed = capfd.readouterr().out
            assert printed.count("\n") == 1, line
            assert json.loads(printed) is not None, line


@pytest.mark.parametrize("action", [["transactions", "list"], ["features", "describe"]])
def test_json_may_be_asked_for_behind_the_action(
    server: str, action: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    name, word = action
    printed = asked(server, capsys, name, word, "-o", "json")
    assert printed == asked(server, capsys, name, "-o", "json", word)
    json.loads(printed)


def test_a_call_ends_in_its_time_where_no_broker_answers() -> None:
    default_s = 60
    before = time.monotonic()
    with AdminClient(ClientSettings({"bootstrap.servers": f"127.0.0.1:{free_port()}"})) as admin:
        with pytest.raises(JavaError, match="Timed out"):
            admin.ask(MetadataRequest([]), 1, timeout_ms=100)
        with pytest.raises(JavaError, match="Timed out"):
            admin.ask_coordinator(0, "g", MetadataRequest([]), request_ms=100)
    assert time.monotonic() - before < default_s
