"""Effects and answers of requests. Interop tests compare them with those of a real ZooKeeper."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.zookeeper_server.jute import JuteReader
from kcompat.zookeeper_server.records import (
    ACL,
    AuthPacket,
    Code,
    Create2Response,
    CreateRequest,
    CreateTTLRequest,
    GetACLResponse,
    GetDataResponse,
    Id,
    MultiHeader,
    NumberResponse,
    OpCode,
    PathModeRequest,
    PathRequest,
    PathResponse,
    PathVersionRequest,
    PathWatchRequest,
    SetACLRequest,
    SetDataRequest,
    SetWatches2,
    StatResponse,
    TextsResponse,
    encode_multi,
)
from support.zookeeper_client import Reply
from support.zookeeper_service import OPEN, ZooKeeperFixture

if TYPE_CHECKING:
    from kcompat.zookeeper_server.jute import JuteRecord

CREATED, DELETED, CHANGED, CHILDREN = 1, 2, 3, 4


def test_a_node_and_all_there_is_to_know_of_it() -> None:
    fixture = ZooKeeperFixture()
    client = fixture.connected()
    made = client.ask(OpCode.CREATE2, CreateRequest("/a", b"xy", OPEN, 1)).read(Create2Response)
    assert isinstance(made, Create2Response)
    zxid = fixture.store.tree.zxid
    assert made.path == "/a"
    assert made.stat.czxid == made.stat.mzxid == made.stat.pzxid == zxid
    assert (made.stat.data_length, made.stat.num_children) == (2, 0)
    assert made.stat.ephemeral_owner == client.session.session_id
    assert client.ask(OpCode.GET_DATA, PathWatchRequest("/a", False)).read(
        GetDataResponse
    ) == GetDataResponse(b"xy", made.stat)


def test_no_data_is_not_empty_data() -> None:
    client = ZooKeeperFixture().connected()
    client.create("/none", None)
    client.create("/empty", b"")
    for path, data in (("/none", None), ("/empty", b"")):
        answer = client.ask(OpCode.GET_DATA, PathWatchRequest(path, False)).read(GetDataResponse)
        assert isinstance(answer, GetDataResponse)
        assert answer.data == data


def test_sequential_names_count_what_was_ever_made() -> None:
    client = ZooKeeperFixture().connected()
    client.create("/q")
    names = []
    for _ in range(2):
        made = client.ask(OpCode.CREATE, CreateRequest("/q/n-", b"", OPEN, 2)).read(PathResponse)
        assert isinstance(made, PathResponse)
        names.append(made.path)
        client.ask(OpCode.DELETE, PathVersionRequest(made.path, -1))
    assert names == ["/q/n-0000000000", "/q/n-0000000001"]


@pytest.mark.parametrize(
    ("path", "flags", "code"),
    [
        ("/a", 0, Code.NODE_EXISTS),
        ("/x/y", 0, Code.NO_NODE),
        ("a", 0, Code.BAD_ARGUMENTS),
        ("/b/", 0, Code.NO_NODE),
        ("/a/", 0, Code.BAD_ARGUMENTS),
        ("/a/", 2, Code.OK),
        ("/e/x", 0, Code.NO_CHILDREN_FOR_EPHEMERALS),
        ("/n", 4, Code.UNIMPLEMENTED),
        ("/n", 5, Code.UNIMPLEMENTED),
        ("/n", 7, Code.BAD_ARGUMENTS),
    ],
)
def test_creating(path: str, flags: int, code: Code) -> None:
    client = ZooKeeperFixture().connected()
    client.create("/a")
    client.create("/e", flags=1)
    assert client.create(path, flags=flags) == code


def test_nodes_that_live_for_a_time_are_refused() -> None:
    client = ZooKeeperFixture().connected()
    assert (
        client.ask(OpCode.CREATE_TTL, CreateTTLRequest("/a", b"", OPEN, 5, 9)).header.err
        == Code.UNIMPLEMENTED
    )
    assert (
        client.ask(OpCode.CREATE_CONTAINER, CreateRequest("/a", b"", OPEN, 4)).header.err
        == Code.UNIMPLEMENTED
    )


@pytest.mark.parametrize("path", ["/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config", "a", "/a\0"])
def test_what_nobody_deletes(path: str) -> None:
    assert (
        ZooKeeperFixture().connected().ask(OpCode.DELETE, PathVersionRequest(path, -1)).header.err
        == Code.BAD_ARGUMENTS
    )


def test_versions_are_insisted_on() -> None:
    client = ZooKeeperFixture().connected()
    client.create("/a")
    assert client.ask(OpCode.SET_DATA, SetDataRequest("/a", b"", 1)).header.err == Code.BAD_VERSION
    assert client.ask(OpCode.SET_DATA, SetDataRequest("/a", b"", 0)).header.err == Code.OK
    assert client.ask(OpCode.DELETE, PathVersionRequest("/a", 0)).header.err == Code.BAD_VERSION
    assert client.ask(OpCode.SET_ACL, SetACLRequest("/a", OPEN, 1)).header.err == Code.BAD_VERSION
    assert client.ask(OpCode.SET_ACL, SetACLRequest("/a", OPEN, 0)).header.err == Code.OK
    assert client.ask(OpCode.DELETE, PathVersionRequest("/a", 1)).header.err == Code.OK


def test_access_lists_guard_nodes_and_the_making_and_removing_of_their_children() -> None:
    fixture = ZooKeeperFixture()
    owner, other = fixture.connected(), fixture.connected()
    owner.ask(OpCode.AUTH, AuthPacket(0, "digest", b"me:secret"))
    mine = (ACL(31, Id("auth", "")),)
    assert owner.ask(OpCode.CREATE, CreateRequest("/a", b"", mine, 0)).header.err == Code.OK
    assert owner.create("/a/b") == Code.OK
    refused = {
        OpCode.GET_DATA: PathWatchRequest("/a", True),
        OpCode.EXISTS: PathWatchRequest("/a", True),
        OpCode.GET_CHILDREN: PathWatchRequest("/a", True),
        OpCode.GET_ACL: PathRequest("/a"),
        OpCode.SET_DATA: SetDataRequest("/a", b"", -1),
        OpCode.SET_ACL: SetACLRequest("/a", OPEN, -1),
        OpCode.CREATE: CreateRequest("/a/c", b"", OPEN, 0),
        OpCode.DELETE: PathVersionRequest("/a/b", -1),
    }
    for kind, request in refused.items():
        assert other.ask(kind, request).header.err == Code.NO_AUTH, kind
    assert len(fixture.service.watches) == 0
    assert owner.ask(OpCode.DELETE, PathVersionRequest("/a/b", -1)).header.err == Code.OK
    shown = owner.ask(OpCode.GET_ACL, PathRequest("/a")).read(GetACLResponse)
    assert isinstance(shown, GetACLResponse)
    assert [entry.id.scheme for entry in shown.acl] == ["digest"]


def rows(reply: Reply) -> list[tuple[int, int]]:
    reader = JuteReader(reply.body)
    found = []
    while not (header := MultiHeader.decode(reader)).done:
        found.append((header.type, header.err))
        kinds: dict[OpCode, type[JuteRecord]] = {
            OpCode.CREATE: PathResponse,
            OpCode.CREATE2: Create2Response,
            OpCode.SET_DATA: StatResponse,
            OpCode.ERROR: NumberResponse,
            OpCode.GET_DATA: GetDataResponse,
            OpCode.GET_CHILDREN: TextsResponse,
        }
        if header.type in kinds:
            kinds[OpCode(header.type)].decode(reader)
    assert not reader.left
    return found


def test_a_multi_is_made_as_a_whole_with_a_row_for_each_operation() -> None:
    fixture = ZooKeeperFixture()
    client = fixture.connected()
    operations = [
        (OpCode.CREATE, CreateRequest("/a", b"", OPEN, 0)),
        (OpCode.CREATE2, CreateRequest("/a/b", b"", OPEN, 1)),
        (OpCode.CHECK, PathVersionRequest("/a", 0)),
        (OpCode.SET_DATA, SetDataRequest("/a", b"x", 0)),
        (OpCode.DELETE, PathVersionRequest("/a/b", 0)),
    ]
    reply = client.ask(
        OpCode.MULTI, encode_multi((MultiHeader(kind, False, -1), row) for kind, row in operations)
    )
    assert reply.header.err == Code.OK
    assert rows(reply) == [(kind, 0) for kind, _ in operations]
    assert fixture.store.tree.get("/a").data == b"x"


def test_a_multi_that_fails_changes_nothing_and_says_which_operation_it_was() -> None:
    fixture = ZooKeeperFixture()
    client = fixture.connected()
    before = fixture.store.tree.zxid
    operations = [
        (OpCode.CREATE, CreateRequest("/a", b"", OPEN, 0)),
        (OpCode.CHECK, PathVersionRequest("/a", 3)),
        (OpCode.CREATE, CreateRequest("/b", b"", OPEN, 0)),
    ]
    reply = client.ask(
        OpCode.MULTI, encode_multi((MultiHeader(kind, False, -1), row) for kind, row in operations)
    )
    assert reply.header.err == Code.OK
    assert rows(reply) == [(-1, Code.OK), (-1, Code.BAD_VERSION), (-1, Code.RUNTIME_INCONSISTENCY)]
    assert fixture.store.tree.nodes.keys() == {"/"}
    assert fixture.store.tree.zxid == before


def test_reads_together_are_answered_each_for_itself() -> None:
    client = ZooKeeperFixture().connected()
    client.create("/a")
    operations = [
        (OpCode.GET_DATA, PathWatchRequest("/a", False)),
        (OpCode.GET_DATA, PathWatchRequest("/b", False)),
        (OpCode.GET_CHILDREN, PathWatchRequest("/", False)),
    ]
    reply = client.ask(
        OpCode.MULTI_READ, encode_multi((MultiHeader(kind, False, -1), row) for kind, row in operations)
    )
    assert rows(reply) == [(OpCode.GET_DATA, 0), (-1, Code.NO_NODE), (OpCode.GET_CHILDREN, 0)]


def test_watches_are_told_before_the_answer_of_who_made_the_change() -> None:
    fixture = ZooKeeperFixture()
    client = fixture.connected()
    client.ask(OpCode.EXISTS, PathWatchRequest("/a", True))
    client.ask(OpCode.GET_CHILDREN, PathWatchRequest("/", True))
    client.request(OpCode.CREATE, CreateRequest("/a", b"", OPEN, 0))
    *told, reply = client.seen()
    assert told == [(CREATED, "/a"), (CHILDREN, "/")]
    assert isinstance(reply, Reply)
    client.request(OpCode.SET_DATA, SetDataRequest("/a", b"", -1))
    assert [each for each in client.seen() if isinstance(each, tuple)] == []


def test_a_recursive_watch_goes_on_until_it_is_removed() -> None:
    fixture = ZooKeeperFixture()
    client, other = fixture.connected(), fixture.connected()
    assert client.ask(OpCode.ADD_WATCH, PathModeRequest("/a", 1)).read(NumberResponse) == NumberResponse(0)
    assert client.ask(OpCode.ADD_WATCH, PathModeRequest("/a", 2)).header.err == Code.MARSHALLING_ERROR
    for path in ("/a", "/a/b"):
        other.create(path)
    other.ask(OpCode.DELETE, PathVersionRequest("/a/b", -1))
    assert client.seen() == [(CREATED, "/a"), (CREATED, "/a/b"), (DELETED, "/a/b")]
    assert client.ask(OpCode.CHECK_WATCHES, PathModeRequest("/a", 5)).header.err == Code.OK
    assert client.ask(OpCode.CHECK_WATCHES, PathModeRequest("/a", 1)).header.err == Code.NO_WATCHER
    assert client.ask(OpCode.REMOVE_WATCHES, PathModeRequest("/a", 3)).header.err == Code.OK
    assert client.ask(OpCode.REMOVE_WATCHES, PathModeRequest("/a", 3)).header.err == Code.NO_WATCHER
    assert client.ask(OpCode.REMOVE_WATCHES, PathModeRequest("/a", 9)).header.err == Code.MARSHALLING_ERROR
    other.create("/a/c")
    assert client.seen() == []


def test_who_may_not_read_a_node_is_not_told_of_it() -> None:
    fixture = ZooKeeperFixture()
    owner, other = fixture.connected(), fixture.connected()
    owner.ask(OpCode.AUTH, AuthPacket(0, "digest", b"me:secret"))
    for client in (owner, other):
        client.ask(OpCode.ADD_WATCH, PathModeRequest("/", 1))
    mine = (ACL(31, Id("auth", "")),)
    owner.request(OpCode.CREATE, CreateRequest("/a", b"", mine, 0))
    owner.request(OpCode.DELETE, PathVersionRequest("/a", -1))
    assert [each for each in owner.seen() if isinstance(each, tuple)] == [(CREATED, "/a"), (DELETED, "/a")]
    assert other.seen() == []


def test_a_client_that_comes_back_is_told_what_it_missed_and_watches_the_rest() -> None:
    fixture = ZooKeeperFixture()
    client = fixture.connected()
    for path in ("/old", "/changed", "/parent"):
        client.create(path)
    seen = fixture.store.tree.zxid
    client.ask(OpCode.SET_DATA, SetDataRequest("/changed", b"", -1))
    client.create("/parent/child")
    client.create("/new")
    client.request(
        OpCode.SET_WATCHES2,
        SetWatches2(
            seen,
            ("/old", "/changed", "/gone"),
            ("/new", "/not"),
            ("/old", "/parent", "/gone"),
            ("/p",),
            ("/r",),
        ),
    )
    *told, reply = client.seen()
    assert told == [
        (CHANGED, "/changed"),
        (DELETED, "/gone"),
        (CREATED, "/new"),
        (CHILDREN, "/parent"),
        (DELETED, "/gone"),
    ]
    assert isinstance(reply, Reply)
    assert (reply.header.err, reply.body) == (0, b"")
    assert fixture.service.watches.by_watcher()[client.connection] == {"/old", "/not", "/p", "/r"}
    client.connection.disconnected()
    assert len(fixture.service.watches) == 0


def test_ephemerals_and_nodes_are_counted_by_prefix() -> None:
    client = ZooKeeperFixture().connected()
    for path, flags in (("/a", 0), ("/a/x", 1), ("/ab", 1), ("/a/y", 0)):
        client.create(path, flags=flags)
    assert client.ask(OpCode.GET_EPHEMERALS, PathRequest("/")).read(TextsResponse) == TextsResponse(
        ("/a/x", "/ab")
    )
    assert client.ask(OpCode.GET_EPHEMERALS, PathRequest("/ab")).read(TextsResponse) == TextsResponse(
        ("/ab",)
    )
    assert client.ask(OpCode.GET_ALL_CHILDREN_NUMBER, PathRequest("/a")).read(
        NumberResponse
    ) == NumberResponse(2)
    assert client.ask(OpCode.GET_ALL_CHILDREN_NUMBER, PathRequest("/")).read(
        NumberResponse
    ) == NumberResponse(4)
