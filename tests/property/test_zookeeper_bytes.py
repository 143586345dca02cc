"""Whatever bytes come, in whatever pieces: ZooKeeper's port answers in frames and keeps its invariants."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kcompat.zookeeper_server.jute import JuteReader, frame
from kcompat.zookeeper_server.records import (
    AuthPacket,
    ConnectRequest,
    CreateRequest,
    MultiHeader,
    OpCode,
    PathModeRequest,
    PathVersionRequest,
    PathWatchRequest,
    ReplyHeader,
    RequestHeader,
    SetDataRequest,
    encode_multi,
)
from support.fuzzing import examples
from support.zookeeper_service import OPEN, FakeClient, ZooKeeperFixture

PATHS = st.sampled_from(["/", "/a", "/a/b", "/a/", "x", "", "/\0", "/zookeeper"])
KINDS = st.one_of(st.sampled_from(OpCode), st.integers(-20, 120))
CREATES = st.builds(CreateRequest, PATHS, st.none() | st.binary(max_size=5), st.just(OPEN), st.integers(0, 7))
OPERATIONS = st.one_of(
    CREATES.map(lambda each: (OpCode.CREATE, each)),
    st.builds(PathVersionRequest, PATHS, st.integers(-1, 1)).map(lambda each: (OpCode.DELETE, each)),
    st.builds(SetDataRequest, PATHS, st.binary(max_size=5), st.integers(-1, 1)).map(
        lambda each: (OpCode.SET_DATA, each)
    ),
)
BODIES = st.one_of(
    st.binary(max_size=30),
    CREATES.map(CreateRequest.encode),
    st.builds(PathWatchRequest, PATHS, st.booleans()).map(PathWatchRequest.encode),
    st.builds(PathModeRequest, PATHS, st.integers(0, 6)).map(PathModeRequest.encode),
    st.builds(AuthPacket, st.just(0), st.sampled_from(["digest", "ip", "x"]), st.binary(max_size=5)).map(
        AuthPacket.encode
    ),
    st.lists(OPERATIONS, max_size=3).map(
        lambda rows: encode_multi((MultiHeader(kind, False, -1), row) for kind, row in rows)
    ),
)


def request(kind: int, body: bytes) -> bytes:
    header = RequestHeader(7, kind).encode()
    return (len(header) + len(body)).to_bytes(4, "big") + header + body


CONNECTING = frame(ConnectRequest(0, 0, 4000, 0, b""))
STREAMS = st.one_of(
    st.binary(max_size=40),
    st.lists(
        st.one_of(
            st.builds(request, KINDS, BODIES), st.builds(request, KINDS, BODIES), st.binary(max_size=9)
        ),
        max_size=12,
    ).map(lambda frames: CONNECTING + b"".join(frames)),
)


def play(fixture: ZooKeeperFixture, data: bytes, cuts: list[int]) -> FakeClient:
    client = fixture.client()
    start = 0
    for end in (*sorted(cut % (len(data) + 1) for cut in cuts), len(data)):
        if not client.is_closed:
            client.send(data[start:end])
            fixture.clock.advance()
        start = end
    return client


@settings(max_examples=examples(300), deadline=None)
@given(STREAMS, st.lists(st.integers(0, 2000), max_size=6))
def test_any_bytes_in_any_pieces(data: bytes, cuts: list[int]) -> None:
    fixture, other = ZooKeeperFixture(), ZooKeeperFixture()
    client, whole = play(fixture, data, cuts), play(other, data, [])
    assert client.sent == whole.sent, "pieces make no difference"
    assert client.is_closed == whole.is_closed
    assert fixture.store.tree.nodes == other.store.tree.nodes
    if client.connection.session is not None:
        assert JuteReader(client.next_frame()).left
        while client.sent:
            ReplyHeader.decode(JuteReader(client.next_frame()))
    assert client.is_closed == (client.connection not in fixture.service.connections)
    if client.is_closed:
        assert len(fixture.service.watches) == 0
    fixture.store.tree.check_invariants()
    fixture.clock.advance(20_000)
    assert client.is_closed
    assert not fixture.store.tree.sessions
    assert not fixture.store.tree.ephemerals()
