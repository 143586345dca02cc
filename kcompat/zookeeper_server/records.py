"""The records that ZooKeeper and its clients exchange, named as in ZooKeeper's `zookeeper.jute`.

The server answers with them, tests ask with them. Where several messages have the same fields they share one
record here.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final

from kcompat.zookeeper_server.jute import Int, JuteRecord, Long, MalformedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kcompat.store.tree import StoredNode
    from kcompat.zookeeper_server.jute import JuteReader

MAX_BUFFER: Final = 0xFFFFF
"""Bytes of the largest frame, ZooKeeper's default of `jute.maxbuffer`."""


class OpCode(IntEnum):
    """Kinds of requests: `RequestHeader.type`."""

    CREATE = 1
    DELETE = 2
    EXISTS = 3
    GET_DATA = 4
    SET_DATA = 5
    GET_ACL = 6
    SET_ACL = 7
    GET_CHILDREN = 8
    SYNC = 9
    PING = 11
    GET_CHILDREN2 = 12
    CHECK = 13
    MULTI = 14
    CREATE2 = 15
    RECONFIG = 16
    CHECK_WATCHES = 17
    REMOVE_WATCHES = 18
    CREATE_CONTAINER = 19
    DELETE_CONTAINER = 20
    CREATE_TTL = 21
    MULTI_READ = 22
    AUTH = 100
    SET_WATCHES = 101
    SASL = 102
    GET_EPHEMERALS = 103
    GET_ALL_CHILDREN_NUMBER = 104
    SET_WATCHES2 = 105
    ADD_WATCH = 106
    WHO_AM_I = 107
    CLOSE_SESSION = -11
    ERROR = -1


class Code(IntEnum):
    """Results of a request (`ReplyHeader.err`), named as in ZooKeeper's `KeeperException`."""

    OK = 0
    SYSTEM_ERROR = -1
    RUNTIME_INCONSISTENCY = -2
    MARSHALLING_ERROR = -5
    UNIMPLEMENTED = -6
    BAD_ARGUMENTS = -8
    NO_NODE = -101
    NO_AUTH = -102
    BAD_VERSION = -103
    NO_CHILDREN_FOR_EPHEMERALS = -108
    NODE_EXISTS = -110
    NOT_EMPTY = -111
    SESSION_EXPIRED = -112
    INVALID_ACL = -114
    AUTH_FAILED = -115
    NO_WATCHER = -121
    RECONFIG_DISABLED = -123


class ConnectRequest(JuteRecord, frozen=True):
    """The first frame of a connection. `session_id` 0 asks for a new session; times are in ms."""

    protocol_version: Int
    last_zxid_seen: Long
    timeout_ms: Int
    session_id: Long
    password: bytes | None


class ConnectResponse(JuteRecord, frozen=True):
    """The answer to a `ConnectRequest`; a `session_id` of 0 says that the session has ended."""

    protocol_version: Int
    timeout_ms: Int
    session_id: Long
    password: bytes | None


class ReadOnly(JuteRecord, frozen=True):
    """The flag that clients since 3.4 send after a `ConnectRequest`, and get after its response."""

    read_only: bool


class RequestHeader(JuteRecord, frozen=True):
    """Header of every request."""

    xid: Int
    type: Int


class ReplyHeader(JuteRecord, frozen=True):
    """Header of every reply and every `WatcherEvent`."""

    xid: Int
    zxid: Long
    err: Int


class StatRecord(JuteRecord, frozen=True):
    """The facts of a node beside its data: versions, transaction ids, times."""

    czxid: Long
    mzxid: Long
    ctime: Long
    mtime: Long
    version: Int
    cversion: Int
    aversion: Int
    ephemeral_owner: Long
    data_length: Int
    num_children: Int
    pzxid: Long

    @classmethod
    def of(cls, node: StoredNode) -> StatRecord:
        """Return the `StatRecord` of a node."""
        return cls(
            node.czxid,
            node.mzxid,
            node.ctime_ms,
            node.mtime_ms,
            node.version,
            node.cversion,
            node.aversion,
            node.ephemeral_owner,
            len(node.data or b""),
            len(node.children),
            node.pzxid,
        )


class Id(JuteRecord, frozen=True):
    """Identity in an authentication scheme. Some clients send None for an empty text."""

    scheme: str | None
    id: str | None


class ACL(JuteRecord, frozen=True):
    """One entry of an access list: permissions of an identity."""

    perms: Int
    id: Id


class WatcherEvent(JuteRecord, frozen=True):
    """Notification of a change of a watched node."""

    type: Int
    state: Int
    path: str


class AuthPacket(JuteRecord, frozen=True):
    """Credential of the client; `type` is ignored."""

    type: Int
    scheme: str
    auth: bytes | None


class GetSASLRequest(JuteRecord, frozen=True):
    """Step of a SASL exchange."""

    token: bytes | None


class CreateRequest(JuteRecord, frozen=True):
    """`flags` 1 is ephemeral, 2 sequential, 3 both; 4 a container, 5 and 6 a node that lives for a time."""

    path: str
    data: bytes | None
    acl: tuple[ACL, ...]
    flags: Int


class CreateTTLRequest(JuteRecord, frozen=True):
    """A node that lives for `ttl` ms."""

    path: str
    data: bytes | None
    acl: tuple[ACL, ...]
    flags: Int
    ttl: Long


class NoBody(JuteRecord, frozen=True):
    """A request without fields."""


class PathRequest(JuteRecord, frozen=True):
    """A request with a path alone."""

    path: str


class PathWatchRequest(JuteRecord, frozen=True):
    """A read that may set a watch."""

    path: str
    watch: bool


class PathVersionRequest(JuteRecord, frozen=True):
    """The request of `delete` and `check`."""

    path: str
    version: Int


class SetDataRequest(JuteRecord, frozen=True):
    """Body of `setData`; `version` -1 matches any."""

    path: str
    data: bytes | None
    version: Int


class SetACLRequest(JuteRecord, frozen=True):
    """Body of `setACL`; `version` is that of the access control list, `StatRecord.aversion`."""

    path: str
    acl: tuple[ACL, ...]
    version: Int


class SetWatches(JuteRecord, frozen=True):
    """The watches of a client that was connected elsewhere, and the last transaction it has seen."""

    relative_zxid: Long
    data_watches: tuple[str, ...]
    exist_watches: tuple[str, ...]
    child_watches: tuple[str, ...]


class SetWatches2(SetWatches, frozen=True):
    """`SetWatches` with the persistent watches of the client."""

    persistent_watches: tuple[str, ...]
    persistent_recursive_watches: tuple[str, ...]


class PathModeRequest(JuteRecord, frozen=True):
    """`addWatch` with a mode; `checkWatches` and `removeWatches` with a kind of watch."""

    path: str
    mode: Int


class PathResponse(JuteRecord, frozen=True):
    """The response to `create` and `sync`."""

    path: str


class Create2Response(JuteRecord, frozen=True):
    """Response to `create2`: path and Stat."""

    path: str
    stat: StatRecord


class StatResponse(JuteRecord, frozen=True):
    """The response to `exists`, `setData` and `setACL`."""

    stat: StatRecord


class GetDataResponse(JuteRecord, frozen=True):
    """Response to `getData`: data and Stat."""

    data: bytes | None
    stat: StatRecord


class GetACLResponse(JuteRecord, frozen=True):
    """The access list of a node, and its Stat."""

    acl: tuple[ACL, ...]
    stat: StatRecord


class TextsResponse(JuteRecord, frozen=True):
    """The response to `getChildren` and `getEphemerals`."""

    texts: tuple[str, ...]


class GetChildren2Response(JuteRecord, frozen=True):
    """Response to `getChildren2`: children and Stat."""

    children: tuple[str, ...]
    stat: StatRecord


class NumberResponse(JuteRecord, frozen=True):
    """The response to `getAllChildrenNumber`; an error code in `addWatch` and in rows of `multi`."""

    number: Int


class ClientInfo(JuteRecord, frozen=True):
    """Identity that a client has proved."""

    auth_scheme: str
    user: str


class WhoAmIResponse(JuteRecord, frozen=True):
    """Response to `whoAmI`: all identities of the client."""

    client_info: tuple[ClientInfo, ...]


class BufferResponse(JuteRecord, frozen=True):
    """The response to `sasl`."""

    token: bytes | None


class MultiHeader(JuteRecord, frozen=True):
    """Header of every row of a `multi`; `done` marks the end."""

    type: Int
    done: bool
    err: Int


MULTI_END: Final = MultiHeader(-1, True, -1)


def decode_multi(
    reader: JuteReader, kinds: Mapping[OpCode, type[JuteRecord]]
) -> list[tuple[OpCode, JuteRecord]]:
    """Decode the operations of a `multi` or `multiRead` with these kinds. Raises `MalformedError`."""
    operations = []
    while not (header := MultiHeader.decode(reader)).done:
        if header.type not in kinds:
            raise MalformedError(f"an operation of type {header.type} among others")
        kind = OpCode(header.type)
        operations.append((kind, kinds[kind].decode(reader)))
    return operations


def encode_multi(rows: Iterable[tuple[MultiHeader, JuteRecord | None]]) -> bytes:
    """Encode the rows of a `multi` request or response."""
    parts = [header.encode() + (b"" if row is None else row.encode()) for header, row in rows]
    return b"".join((*parts, MULTI_END.encode()))
