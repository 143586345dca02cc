"""The records that ZooKeeper and its clients exchange, with the names of ZooKeeper's `zookeeper.jute`.

Several messages with equal fields share one record class.
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
"""Size in bytes of the largest frame: ZooKeeper's default of `jute.maxbuffer`."""


class OpCode(IntEnum):
    """Kinds of requests, as in `RequestHeader.type`."""

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
    """Results of requests (`ReplyHeader.err`), with the names of ZooKeeper's `KeeperException`."""

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
    """First frame of a connection. A `session_id` of 0 requests a new session. Times in ms."""

    protocol_version: Int
    last_zxid_seen: Long
    timeout_ms: Int
    session_id: Long
    password: bytes | None


class ConnectResponse(JuteRecord, frozen=True):
    """Response to a `ConnectRequest`. A `session_id` of 0 means that the session has ended."""

    protocol_version: Int
    timeout_ms: Int
    session_id: Long
    password: bytes | None


class ReadOnly(JuteRecord, frozen=True):
    """Read-only flag that clients since 3.4 send after a `ConnectRequest`, and receive after its response."""

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
    """Metadata of a node: versions, transaction ids, times in ms since the epoch."""

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
    """Identity in an authentication scheme. Some clients send None for an empty string."""

    scheme: str | None
    id: str | None


class ACL(JuteRecord, frozen=True):
    """One entry of an access control list: the permissions of an identity."""

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
    """Body of `create` and `create2`.

    `flags` 1 makes an ephemeral node, 2 a sequential one, 3 both; 4 makes a container, 5 and 6 a node with a
    time to live.
    """

    path: str
    data: bytes | None
    acl: tuple[ACL, ...]
    flags: Int


class CreateTTLRequest(JuteRecord, frozen=True):
    """Body of `createTTL`: a node with a time to live of `ttl` ms."""

    path: str
    data: bytes | None
    acl: tuple[ACL, ...]
    flags: Int
    ttl: Long


class NoBody(JuteRecord, frozen=True):
    """Body of a request without fields."""


class PathRequest(JuteRecord, frozen=True):
    """Body of a request that has only a path."""

    path: str


class PathWatchRequest(JuteRecord, frozen=True):
    """Body of a read that may set a watch."""

    path: str
    watch: bool


class PathVersionRequest(JuteRecord, frozen=True):
    """Body of `delete` and `check`."""

    path: str
    version: Int


class SetDataRequest(JuteRecord, frozen=True):
    """Body of `setData`; `version` -1 matches any."""

    path: str
    data: bytes | None
    version: Int


class SetACLRequest(JuteRecord, frozen=True):
    """Body of `setACL`; `version` is the expected version of the access list (`StatRecord.aversion`)."""

    path: str
    acl: tuple[ACL, ...]
    version: Int


class SetWatches(JuteRecord, frozen=True):
    """Body of `setWatches`: the watches of a client's previous connection, and the last transaction that the
    client has seen.
    """

    relative_zxid: Long
    data_watches: tuple[str, ...]
    exist_watches: tuple[str, ...]
    child_watches: tuple[str, ...]


class SetWatches2(SetWatches, frozen=True):
    """Body of `setWatches2`: `SetWatches` with the client's persistent watches."""

    persistent_watches: tuple[str, ...]
    persistent_recursive_watches: tuple[str, ...]


class PathModeRequest(JuteRecord, frozen=True):
    """Body of `addWatch`, with a mode, and of `checkWatches` and `removeWatches`, with a kind of watch."""

    path: str
    mode: Int


class PathResponse(JuteRecord, frozen=True):
    """Response to `create` and `sync`: a path."""

    path: str


class Create2Response(JuteRecord, frozen=True):
    """Response to `create2`: path and Stat."""

    path: str
    stat: StatRecord


class StatResponse(JuteRecord, frozen=True):
    """Response to `exists`, `setData` and `setACL`: a Stat."""

    stat: StatRecord


class GetDataResponse(JuteRecord, frozen=True):
    """Response to `getData`: data and Stat."""

    data: bytes | None
    stat: StatRecord


class GetACLResponse(JuteRecord, frozen=True):
    """Response to `getACL`: the access control list of a node, and its Stat."""

    acl: tuple[ACL, ...]
    stat: StatRecord


class TextsResponse(JuteRecord, frozen=True):
    """Response to `getChildren` and `getEphemerals`: a list of strings."""

    texts: tuple[str, ...]


class GetChildren2Response(JuteRecord, frozen=True):
    """Response to `getChildren2`: children and Stat."""

    children: tuple[str, ...]
    stat: StatRecord


class NumberResponse(JuteRecord, frozen=True):
    """Response to `getAllChildrenNumber`: a number. Also an error code, in responses to `addWatch` and in
    rows of `multi`.
    """

    number: Int


class ClientInfo(JuteRecord, frozen=True):
    """Identity that a client has proved."""

    auth_scheme: str
    user: str


class WhoAmIResponse(JuteRecord, frozen=True):
    """Response to `whoAmI`: all identities of the client."""

    client_info: tuple[ClientInfo, ...]


class BufferResponse(JuteRecord, frozen=True):
    """Response to `sasl`: bytes."""

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
    """Decode the operations of a `multi` or `multiRead`; `kinds` has the record classes of the allowed
    operations. Raises `MalformedError`.
    """
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
