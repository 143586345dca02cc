from __future__ import annotations

import pytest

from kcompat.zookeeper_server.four_letter_words import WORDS
from kcompat.zookeeper_server.records import OpCode, PathModeRequest, PathWatchRequest
from kcompat.zookeeper_server.service import ServerConfig
from support.zookeeper_service import ZooKeeperFixture


def ask(fixture: ZooKeeperFixture, word: bytes) -> str:
    client = fixture.client()
    client.send(word[:2])
    client.send(word[2:] + b"\n")
    assert client.is_closed
    return client.sent.decode()


def test_the_server_is_well_and_can_be_written() -> None:
    fixture = ZooKeeperFixture()
    assert ask(fixture, b"ruok") == "imok"
    assert ask(fixture, b"isro") == "rw"
    assert not fixture.service.connections


def test_what_is_no_word_is_the_length_of_a_frame() -> None:
    client = ZooKeeperFixture().client()
    client.send(b"nope")
    assert client.is_closed
    assert not client.sent


def test_a_word_after_the_first_frame_is_no_word() -> None:
    client = ZooKeeperFixture().connected()
    client.send(b"ruok")
    assert client.is_closed
    assert not client.sent


def test_counters_show_what_happened_and_are_reset() -> None:
    fixture = ZooKeeperFixture()
    client = fixture.connected()
    client.create("/a", b"1234", flags=1)
    client.ask(OpCode.GET_DATA, PathWatchRequest("/a", True))
    shown = dict(line.split("\t") for line in ask(fixture, b"mntr").splitlines())
    assert shown["zk_version"].startswith("3.8.4-")
    assert shown["zk_server_state"] == "standalone"
    assert (shown["zk_znode_count"], shown["zk_ephemerals_count"], shown["zk_watch_count"]) == ("2", "1", "1")
    assert (shown["zk_packets_received"], shown["zk_global_sessions"]) == ("3", "1")
    assert ask(fixture, b"srst") == "Server stats reset.\n"
    assert "Received: 0\n" in ask(fixture, b"srvr")
    assert f"sid={client.session.session_id:#x},lop=GET_DATA" in ask(fixture, b"cons")
    assert ask(fixture, b"crst") == "Connection stats reset.\n"
    assert client.connection.statistics.received == 0


def test_watches_are_listed_by_session_and_by_path() -> None:
    fixture = ZooKeeperFixture()
    first, second = fixture.connected(), fixture.connected()
    first.ask(OpCode.EXISTS, PathWatchRequest("/a", True))
    first.ask(OpCode.ADD_WATCH, PathModeRequest("/b", 1))
    second.ask(OpCode.EXISTS, PathWatchRequest("/a", True))
    ids = [f"{client.session.session_id:#x}" for client in (first, second)]
    assert ask(fixture, b"wchs") == "2 connections watching 2 paths\nTotal watches:3\n\n"
    assert ask(fixture, b"wchc") == f"{ids[0]}\n\t/a\n\t/b\n{ids[1]}\n\t/a\n\n"
    assert ask(fixture, b"wchp") == f"/a\n\t{ids[0]}\n\t{ids[1]}\n/b\n\t{ids[0]}\n\n"


def test_sessions_are_listed_with_their_ephemerals() -> None:
    fixture = ZooKeeperFixture()
    client = fixture.connected(4000)
    client.create("/mine", flags=1)
    session = f"{client.session.session_id:#x}"
    shown = ask(fixture, b"dump")
    assert "Session Sets (1)/(1):\n1 expire in 4" in shown
    assert f"Sessions with Ephemerals (1):\n{session}:\n\t/mine\n" in shown
    assert f"sessionId: {session}\n" in shown


def test_the_configuration_and_the_environment() -> None:
    fixture = ZooKeeperFixture(ServerConfig(client_port=12345, data_dir="/somewhere"))
    shown = dict(line.split("=", 1) for line in ask(fixture, b"conf").splitlines())
    assert (shown["clientPort"], shown["dataDir"], shown["tickTime"]) == ("12345", "/somewhere", "2000")
    assert (shown["minSessionTimeout"], shown["maxSessionTimeout"]) == ("4000", "40000")
    assert ask(fixture, b"envi").startswith("Environment:\nzookeeper.version=3.8.4-")


@pytest.mark.parametrize("word", sorted(WORDS))
def test_every_word_answers_an_idle_server(word: bytes) -> None:
    assert ask(ZooKeeperFixture(), word)
