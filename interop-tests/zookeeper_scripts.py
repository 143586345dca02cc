"""Random requests to a ZooKeeper server, from a seed, and what it answers, in a form that two servers share.

Ids of transactions and times differ between servers: what is kept of them is which of a node's ids are equal.
Sessions are told apart by the number of their client.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import asdict

from kcompat.zookeeper_server.jute import JuteReader, JuteRecord
from kcompat.zookeeper_server.records import (
    ACL,
    AuthPacket,
    BufferResponse,
    Create2Response,
    CreateRequest,
    CreateTTLRequest,
    GetACLResponse,
    GetChildren2Response,
    GetDataResponse,
    Id,
    MultiHeader,
    NoBody,
    NumberResponse,
    OpCode,
    PathModeRequest,
    PathRequest,
    PathResponse,
    PathVersionRequest,
    PathWatchRequest,
    SetACLRequest,
    SetDataRequest,
    SetWatches,
    SetWatches2,
    StatRecord,
    StatResponse,
    TextsResponse,
    WhoAmIResponse,
    encode_multi,
)
from support.zookeeper_client import Reply, ZooKeeperClient

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

CLIENTS: Final = 3
FAR_ZXID: Final = 1 << 60

OPEN: Final = (ACL(31, Id("world", "anyone")),)
_ACLS: Final = (
    *[OPEN] * 12,
    (ACL(1, Id("world", "anyone")),),
    (ACL(31, Id("auth", "")),),
    (ACL(31, Id("auth", None)),),
    (ACL(31, Id("auth", "whatever")), ACL(1, Id("world", "anyone"))),
    (ACL(31, Id("ip", "127.0.0.1")),),
    (ACL(15, Id("ip", "127.0.0.0/8")), ACL(15, Id("ip", "127.0.0.0/8"))),
    (ACL(31, Id("ip", "10.1.2.3/33")),),
    (ACL(31, Id("ip", "10.1.2")),),
    (ACL(31, Id("digest", "me:whatitmaybe")),),
    (ACL(17, Id("digest", "me:a")), ACL(1, Id("world", "anyone"))),
    (ACL(31, Id("digest", "me")),),
    (ACL(31, Id("digest", "a:b:c")),),
    (ACL(31, Id("world", "me")),),
    (ACL(31, Id("nobody", "knows")),),
    (),
)
_DATA: Final = (None, b"", b"x", bytes(1000))
_ODD_PATHS: Final = (
    "a",
    "a/b",
    "//",
    "{base}/",
    "{base}//a",
    "{base}/./a",
    "{base}/a/..",
    "{base}/...",
    "{base}/a\0b",
    "{base}/a\x07",
    "{base}/\u00e4\u20ac",
    "{base}/\ue000",
    "{base}/\ufffd",
)
_SYSTEM_PATHS: Final = ("/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config")

Step = tuple[int, OpCode, JuteRecord | bytes]
"""The number of a client, and what it asks."""


class Script:
    """Requests below `base`, from a seed."""

    def __init__(self, seed: int, base: str) -> None:
        self._random = Random(seed)
        self._base = base

    def steps(self, count: int) -> list[Step]:
        """That many requests of clients in any order."""
        return [(self._random.randrange(CLIENTS), *self._request()) for _ in range(count)]

    def _request(self) -> tuple[OpCode, JuteRecord | bytes]:
        random = self._random
        makers: list[tuple[int, Callable[[], tuple[OpCode, JuteRecord | bytes]]]] = [
            (30, self._change),
            (30, self._read),
            (6, self._multi),
            (2, self._multi_read),
            (4, self._acl),
            (5, self._watch),
            (2, self._who),
            (1, self._garbage),
        ]
        (make,) = random.choices([make for _, make in makers], [weight for weight, _ in makers])
        return make()

    def _path(self, names: str = "abc") -> str:
        random = self._random
        if random.random() < 0.04:
            return random.choice(_ODD_PATHS).replace("{base}", self._base)
        depth = random.choice((1, 1, 1, 2, 2, 3))
        return self._base + "".join(f"/{random.choice(names)}" for _ in range(depth))

    def _version(self) -> int:
        return self._random.choice((-1, -1, -1, 0, 0, 1, 2, -2))

    def _create(self) -> CreateRequest:
        random = self._random
        flags = random.choice((0, 0, 0, 1, 2, 3)) if random.random() < 0.97 else random.choice((5, 6, 7, -1))
        return CreateRequest(self._path("abcp"), random.choice(_DATA), random.choice(_ACLS), flags)

    def _change(self) -> tuple[OpCode, JuteRecord]:
        random = self._random
        match random.randrange(12):
            case 0 | 1 | 2 | 3 | 4:
                return random.choice((OpCode.CREATE, OpCode.CREATE2)), self._create()
            case 5 | 6 | 7:
                path = self._path("abcp") if random.random() < 0.95 else random.choice(_SYSTEM_PATHS)
                return OpCode.DELETE, PathVersionRequest(path, self._version())
            case 8:
                plain = self._create()
                return OpCode.CREATE_TTL, CreateTTLRequest(plain.path, plain.data, plain.acl, 5, 1000)
            case _:
                data = random.choice(_DATA)
                return OpCode.SET_DATA, SetDataRequest(self._path("abcp"), data, self._version())

    def _read(self) -> tuple[OpCode, JuteRecord]:
        random = self._random
        kind = random.choice(
            (
                OpCode.EXISTS,
                OpCode.GET_DATA,
                OpCode.GET_CHILDREN,
                OpCode.GET_CHILDREN2,
                OpCode.GET_ACL,
                OpCode.GET_ALL_CHILDREN_NUMBER,
                OpCode.GET_EPHEMERALS,
                OpCode.SYNC,
            )
        )
        if kind in (OpCode.GET_ACL, OpCode.GET_ALL_CHILDREN_NUMBER, OpCode.GET_EPHEMERALS, OpCode.SYNC):
            path = self._path()
            while kind is not OpCode.GET_ACL and not path.startswith(self._base):
                path = self._path()  # the whole tree is not ours
            return kind, PathRequest(path)
        return kind, PathWatchRequest(self._path(), random.random() < 0.5)

    def _operation(self) -> tuple[OpCode, JuteRecord]:
        while True:
            kind, request = self._change()
            if isinstance(request, CreateRequest) and request.flags not in range(4):
                continue
            if self._random.random() < 0.3:
                return OpCode.CHECK, PathVersionRequest(self._path(), self._version())
            return kind, request

    def _multi(self) -> tuple[OpCode, bytes]:
        operations = [self._operation() for _ in range(self._random.randrange(5))]
        return OpCode.MULTI, encode_multi((MultiHeader(kind, False, -1), row) for kind, row in operations)

    def _multi_read(self) -> tuple[OpCode, bytes]:
        rows = [
            (
                MultiHeader(self._random.choice((OpCode.GET_DATA, OpCode.GET_CHILDREN)), False, -1),
                PathWatchRequest(self._path(), False),
            )
            for _ in range(self._random.randrange(4))
        ]
        return OpCode.MULTI_READ, encode_multi(rows)

    def _acl(self) -> tuple[OpCode, JuteRecord]:
        if self._random.random() < 0.5:
            return OpCode.GET_ACL, PathRequest(self._path())
        return OpCode.SET_ACL, SetACLRequest(
            self._path(), self._random.choice(_ACLS), self._random.choice((-1, -1, 0, 1))
        )

    def _watch(self) -> tuple[OpCode, JuteRecord]:
        random = self._random
        some = [tuple(self._path() for _ in range(random.randrange(3))) for _ in range(3)]
        seen = random.choice((0, FAR_ZXID))
        match random.randrange(5):
            case 0:
                mode = random.choice((0, 1, 1, 2))
                return OpCode.ADD_WATCH, PathModeRequest(self._persistent(mode), mode)
            case 1:
                return OpCode.REMOVE_WATCHES, PathModeRequest(self._persistent(random.randrange(2)), 3)
            case 2:
                return OpCode.REMOVE_WATCHES, PathModeRequest(self._path(), random.choice((1, 2, 3)))
            case 3:
                return OpCode.SET_WATCHES, SetWatches(seen, *some)
            case _:
                return OpCode.SET_WATCHES2, SetWatches2(
                    seen, *some, (self._persistent(0),), (self._persistent(1),)
                )

    def _persistent(self, mode: int) -> str:
        """A path for persistent watches of one mode alone: 3.8 keeps one kind for a client and a path."""
        return self._base if mode else f"{self._base}/p"

    def _who(self) -> tuple[OpCode, JuteRecord]:
        if self._random.random() < 0.5:
            return OpCode.WHO_AM_I, NoBody()
        scheme, auth = self._random.choice((("digest", b"me:secret"), ("digest", b"nobody"), ("ip", b"")))
        return OpCode.AUTH, AuthPacket(0, scheme, auth)

    def _garbage(self) -> tuple[OpCode, bytes]:
        kind = self._random.choice(
            (OpCode.CREATE, OpCode.DELETE, OpCode.GET_DATA, OpCode.MULTI, OpCode.SET_WATCHES, OpCode.EXISTS)
        )
        body = PathRequest(f"{self._base}/a").encode() + self._random.randbytes(self._random.randrange(8))
        return kind, body[: self._random.randrange(6)]


_ANSWERS: Final[Mapping[OpCode, type[JuteRecord]]] = {
    OpCode.CREATE: PathResponse,
    OpCode.CREATE2: Create2Response,
    OpCode.SET_DATA: StatResponse,
    OpCode.SET_ACL: StatResponse,
    OpCode.EXISTS: StatResponse,
    OpCode.GET_DATA: GetDataResponse,
    OpCode.GET_CHILDREN: TextsResponse,
    OpCode.GET_CHILDREN2: GetChildren2Response,
    OpCode.GET_ACL: GetACLResponse,
    OpCode.GET_ALL_CHILDREN_NUMBER: NumberResponse,
    OpCode.GET_EPHEMERALS: TextsResponse,
    OpCode.SYNC: PathResponse,
    OpCode.WHO_AM_I: WhoAmIResponse,
    OpCode.ADD_WATCH: NumberResponse,
    OpCode.SASL: BufferResponse,
}


def play(address: tuple[str, int], base: str, steps: list[Step]) -> list[Any]:
    """Return a server's answers to each step, and the events for each client after it."""
    clients = [ZooKeeperClient(address) for _ in range(CLIENTS)]
    owners = {0: -1} | {client.connect().session_id: number for number, client in enumerate(clients)}
    clients[0].ask(OpCode.CREATE, CreateRequest(base, b"", OPEN, 0))
    seen: list[Any] = []
    for number, kind, request in steps:
        reply = clients[number].ask(kind, request, -4 if kind is OpCode.AUTH else None)
        told = []
        for client in clients:
            client.ask(OpCode.PING, xid=-2)
            told.append([(event.type, event.state, event.path) for event in client.events])
            client.events.clear()
        seen.append((_normal(kind, reply, owners), told))
    for client in clients:
        assert client.close_session().header.err == 0
        client.close()
    return seen


def _normal(kind: OpCode, reply: Reply, owners: Mapping[int, int]) -> Any:
    if reply.header.err or not reply.body:
        assert not reply.body
        return reply.header.xid, reply.header.err
    if kind in (OpCode.MULTI, OpCode.MULTI_READ):
        return reply.header.xid, 0, _rows(JuteReader(reply.body), owners)
    return reply.header.xid, 0, _masked(reply.read(_ANSWERS[kind]), owners)


def _rows(reader: JuteReader, owners: Mapping[int, int]) -> list[Any]:
    rows = []
    while not (header := MultiHeader.decode(reader)).done:
        kind = {OpCode.ERROR: NumberResponse, **_ANSWERS}.get(OpCode(header.type))
        row = None if kind is None else _masked(kind.decode(reader), owners)
        rows.append((header.type, header.err, row))
    assert not reader.left
    return rows


def _masked(record: JuteRecord, owners: Mapping[int, int]) -> Any:
    if isinstance(record, StatRecord):
        known = asdict(record)
        zxids = [known.pop(name) for name in ("czxid", "mzxid", "pzxid")]
        times = known.pop("ctime"), known.pop("mtime")
        same = [zxids[0] == zxids[1], zxids[0] == zxids[2], zxids[1] == zxids[2]]
        owner = owners.get(known.pop("ephemeral_owner"), "another")
        return known, same, times[0] <= times[1], owner
    if isinstance(record, WhoAmIResponse):
        return sorted((info.auth_scheme, info.user) for info in record.client_info)
    masked = {}
    for name, value in asdict(record).items():
        if isinstance(value, JuteRecord):
            masked[name] = _masked(value, owners)
        elif name in ("texts", "children"):
            masked[name] = sorted(value)
        else:
            masked[name] = value
    return masked
