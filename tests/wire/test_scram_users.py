"""SCRAM users of whole brokers: kept over restarts, known to every broker, there before the first start."""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING

import pytest

from kcompat import Broker, Cluster
from kcompat.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from kcompat.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from support.eventually import eventually
from support.raw_client import RawClient
from support.start_command import started

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

Deletion = AlterUserScramCredentialsRequest.ScramCredentialDeletion
Upsertion = AlterUserScramCredentialsRequest.ScramCredentialUpsertion

LOCAL = ("--override", "listeners=PLAINTEXT://127.0.0.1:0", "--data-dir", "d")
ADDED = ("--add-scram", "SCRAM-SHA-256=[name=alice,password=secret]", "--add-scram",
         "SCRAM-SHA-512=[name=bob,iterations=8192,password=secret]")  # fmt: skip


def client_of(addresses: str, broker: int = 0) -> RawClient:
    """Return a client of one of the brokers at these addresses."""
    host, _, port = addresses.split(",")[broker].rpartition(":")
    return RawClient((host, int(port)))


def set_users(client: RawClient, *names: str, mechanism: int = 1) -> None:
    """Give each user a credential."""
    changes = [Upsertion(name, mechanism, 4096, b"salt", b"salted") for name in names]
    answer = client.call(AlterUserScramCredentialsRequest(upsertions=changes), 0)
    assert [row.error_code for row in answer.results] == [0] * len(names)


def delete_users(client: RawClient, *names: str) -> None:
    """Delete the credential of each user."""
    changes = [Deletion(name, 1) for name in names]
    answer = client.call(AlterUserScramCredentialsRequest(deletions=changes), 0)
    assert [row.error_code for row in answer.results] == [0] * len(names)


def users(client: RawClient) -> dict[str, list[tuple[int, int]]]:
    """Return mechanisms and iterations of all users."""
    answer = client.call(DescribeUserScramCredentialsRequest(None), 0)
    return {
        row.user: [(info.mechanism, info.iterations) for info in row.credential_infos]
        for row in answer.results
    }


def test_all_users_are_there_after_restarts_that_follow_deletions(tmp_path: Path) -> None:
    """Kafka 3.9.2 in KRaft mode loses all of them in some of these restarts."""
    expected: set[str] = set()
    for life in range(4):
        with Broker(data_dir=tmp_path) as broker, client_of(broker.bootstrap_servers) as client:
            assert set(users(client)) == expected
            new = [f"user-{life}-{number}" for number in range(6)]
            set_users(client, *new)
            gone = [*new[::3], *sorted(expected)[::2]]
            delete_users(client, *gone)
            expected = (expected | set(new)) - set(gone)
            assert set(users(client)) == expected
    with Broker(data_dir=tmp_path) as broker, client_of(broker.bootstrap_servers) as client:
        assert set(users(client)) == expected


def test_users_are_there_after_a_kill(tmp_path: Path) -> None:
    for expected in ({}, {"bob": [(1, 4096)]}):
        with started(*LOCAL, cwd=tmp_path) as process, client_of(address_of(process)) as client:
            assert users(client) == expected
            if not expected:
                set_users(client, "alice", "bob")
                delete_users(client, "alice")
            process.send_signal(signal.SIGKILL)


def test_every_broker_knows_a_user_and_changes_at_several_brokers_add_up() -> None:
    with (
        Cluster(3) as cluster,
        client_of(cluster.bootstrap_servers) as one,
        client_of(cluster.bootstrap_servers, 1) as two,
        client_of(cluster.bootstrap_servers, 2) as three,
    ):
        for number in range(5):
            changes = [
                AlterUserScramCredentialsRequest(
                    upsertions=[Upsertion("alice", mechanism, 4096 + number, b"s", b"p")]
                )
                for mechanism in (1, 2)
            ]
            for client, change in zip((one, two), changes, strict=True):
                client.send(change, 0)
            for client in (one, two):
                answer = client.receive(AlterUserScramCredentialsRequest, 0)
                assert [row.error_code for row in answer.results] == [0]
            wanted = {"alice": [(1, 4096 + number), (2, 4096 + number)]}
            for client in (one, two, three):
                eventually(lambda client=client, wanted=wanted: users(client) == wanted)
        set_users(one, "bob")
        delete_users(two, "bob")  # decided on what is stored, whether or not broker 1 has heard of it yet
        eventually(lambda: "bob" not in users(three))


def address_of(process: subprocess.Popen[str]) -> str:
    """Return the addresses that a started command prints."""
    assert process.stdout is not None
    line = process.stdout.readline()
    match = re.fullmatch(r"kcompat is listening on ([^ ]+) and stores in .+\n", line)
    assert match is not None, (line, process.communicate())
    return match[1]


def test_a_new_cluster_begins_with_the_users_of_the_command_line(tmp_path: Path) -> None:
    with started(*LOCAL, *ADDED, cwd=tmp_path) as process, client_of(address_of(process)) as client:
        assert users(client) == {"alice": [(1, 4096)], "bob": [(2, 8192)]}
        delete_users(client, "alice")
    with started(*LOCAL, *ADDED, cwd=tmp_path) as process, client_of(address_of(process)) as client:
        assert users(client) == {"bob": [(2, 8192)]}


@pytest.mark.thorough("the same of a broker alone")
def test_brokers_in_processes_begin_with_them_too(tmp_path: Path) -> None:
    three = ("--brokers", "2", "--processes")
    with started(*LOCAL, *three, *ADDED, cwd=tmp_path) as process:
        addresses = address_of(process)
        for broker in range(2):
            with client_of(addresses, broker) as client:
                assert users(client).keys() == {"alice", "bob"}


def test_a_malformed_user_is_refused_without_its_password(tmp_path: Path) -> None:
    with started(*LOCAL, "--add-scram", "SCRAM-SHA-256=[password=hidden]", cwd=tmp_path) as process:
        out, err = process.communicate()
    assert (process.returncode, out, err) == (1, "", "kcompat: an --add-scram has no name\n")
