"""Requests that change nodes: each runs within a transaction, with ZooKeeper's checks in ZooKeeper's order.

A refused request raises an exception, and the transaction is dropped as a whole.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kcompat.store.interface import Check, Create, Delete, NoNodeError, SetAcl, SetData, StoreError
from kcompat.store.tree import ROOT
from kcompat.zookeeper_server.access import NodePermission, accept, insist
from kcompat.zookeeper_server.jute import MalformedError
from kcompat.zookeeper_server.records import (
    Code,
    Create2Response,
    CreateRequest,
    CreateTTLRequest,
    MultiHeader,
    NumberResponse,
    OpCode,
    PathResponse,
    PathVersionRequest,
    SetACLRequest,
    SetDataRequest,
    StatRecord,
    StatResponse,
    decode_multi,
    encode_multi,
)
from kcompat.zookeeper_server.refusal import RefusedError, code_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kcompat.store.tree import StoredNode, TreeTransaction
    from kcompat.zookeeper_server.access import Identity
    from kcompat.zookeeper_server.jute import JuteReader, JuteRecord

CONFIG_PATH: Final = "/zookeeper/config"
"""Node in which an ensemble stores its members."""
SYSTEM_PATHS: Final = ("/zookeeper", "/zookeeper/quota", CONFIG_PATH)
"""Nodes that every ZooKeeper server has and that cannot be deleted."""

# Control characters, surrogates, private-use characters, specials, and characters that Java stores as two
# surrogates.
_ILLEGAL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\U0010ffff]|//|/\.\.?(?:/|$)")

_EPHEMERAL: Final = 1
_SEQUENTIAL: Final = 2
_SERVED_FLAGS: Final = range(4)
_KNOWN_FLAGS: Final = range(7)
"""Flags that ZooKeeper defines; those from 4 on make containers and nodes with a time to live."""


def is_path(text: str) -> bool:
    """Return whether ZooKeeper accepts `text` as the path of a node."""
    if text == "/":
        return True
    return text.startswith("/") and not text.endswith("/") and _ILLEGAL.search(text) is None


class Caller(Struct, frozen=True):
    """The client that sent a request: its session, and the identities that it has proved."""

    session_id: int
    identities: tuple[Identity, ...]


class MultiRefusedError(Exception):
    """An operation of a `multi` was refused; `rows` is the response."""

    def __init__(self, rows: bytes) -> None:
        super().__init__()
        self.rows = rows


def run(transaction: TreeTransaction, caller: Caller, kind: OpCode, request: JuteRecord) -> JuteRecord | None:
    """Stage one request in a transaction and return its response. Raises RefusedError, StoreError."""
    _insist_on_session(transaction, caller)
    return _RUN[kind](transaction, caller, request)


def decode_operations(reader: JuteReader) -> list[tuple[OpCode, JuteRecord]]:
    """Decode the operations of a `multi`. Raises MalformedError."""
    operations = decode_multi(reader, MULTI_REQUESTS)
    for _, request in operations:
        if isinstance(request, CreateRequest) and request.flags not in _KNOWN_FLAGS:
            raise MalformedError(f"flags {request.flags}")
    return operations


def run_multi(
    transaction: TreeTransaction, caller: Caller, operations: Sequence[tuple[OpCode, JuteRecord]]
) -> bytes:
    """Stage all operations of a `multi` and return the rows of its response. Raises MultiRefusedError."""
    rows: list[tuple[MultiHeader, JuteRecord | None]] = []
    for index, (kind, request) in enumerate(operations):
        try:
            rows.append((MultiHeader(kind, False, 0), run(transaction, caller, kind, request)))
        except (RefusedError, StoreError) as error:
            codes = [Code.OK] * index + [code_of(error)]
            codes += [Code.RUNTIME_INCONSISTENCY] * (len(operations) - len(codes))
            raise MultiRefusedError(
                encode_multi((MultiHeader(OpCode.ERROR, False, code), NumberResponse(code)) for code in codes)
            ) from error
    return encode_multi(rows)


def _create(transaction: TreeTransaction, caller: Caller, request: JuteRecord) -> PathResponse:
    assert isinstance(request, CreateRequest)
    if request.flags not in _SERVED_FLAGS:
        is_known = request.flags in _KNOWN_FLAGS
        raise RefusedError(Code.UNIMPLEMENTED if is_known else Code.BAD_ARGUMENTS)
    path = request.path
    if "/" not in path or "\0" in path:
        raise RefusedError(Code.BAD_ARGUMENTS)
    acl = accept(request.acl, caller.identities)
    parent = _node(transaction, _parent_of(path))
    insist(parent.acl, NodePermission.CREATE, caller.identities)
    if request.flags & _SEQUENTIAL:
        path = f"{path}{parent.children_ever:010d}"
    if not is_path(path):
        raise RefusedError(Code.BAD_ARGUMENTS)
    transaction.run(Create(path, request.data, bool(request.flags & _EPHEMERAL), acl=acl))
    return PathResponse(path)


def _create2(transaction: TreeTransaction, caller: Caller, request: JuteRecord) -> JuteRecord:
    path = _create(transaction, caller, request).path
    return Create2Response(path, StatRecord.of(_node(transaction, path)))


def _create_not_served(transaction: TreeTransaction, caller: Caller, request: JuteRecord) -> JuteRecord:  # noqa: ARG001
    raise RefusedError(Code.UNIMPLEMENTED)


def _delete(transaction: TreeTransaction, caller: Caller, request: JuteRecord) -> None:
    assert isinstance(request, PathVersionRequest)
    path = request.path
    if "/" not in path or "\0" in path or path == ROOT or path in SYSTEM_PATHS:
        raise RefusedError(Code.BAD_ARGUMENTS)
    parent = _node(transaction, _parent_of(path))
    insist(parent.acl, NodePermission.DELETE, caller.identities)
    _node(transaction, path)
    transaction.run(Delete(path, request.version))


def _set_data(transaction: TreeTransaction, caller: Caller, request: JuteRecord) -> JuteRecord:
    assert isinstance(request, SetDataRequest)
    node = _valid_node(transaction, request.path)
    insist(node.acl, NodePermission.WRITE, caller.identities)
    transaction.run(SetData(request.path, request.data, request.version))
    return StatResponse(StatRecord.of(_node(transaction, request.path)))


def _set_acl(transaction: TreeTransaction, caller: Caller, request: JuteRecord) -> JuteRecord:
    assert isinstance(request, SetACLRequest)
    if not is_path(request.path):
        raise RefusedError(Code.BAD_ARGUMENTS)
    acl = accept(request.acl, caller.identities)
    node = _node(transaction, request.path)
    insist(node.acl, NodePermission.ADMIN, caller.identities)
    transaction.run(SetAcl(request.path, acl, request.version))
    return StatResponse(StatRecord.of(_node(transaction, request.path)))


def _check(transaction: TreeTransaction, caller: Caller, request: JuteRecord) -> None:
    assert isinstance(request, PathVersionRequest)
    node = _valid_node(transaction, request.path)
    insist(node.acl, NodePermission.READ, caller.identities)
    transaction.run(Check(request.path, request.version))


_RUN: Final[Mapping[OpCode, Callable[[TreeTransaction, Caller, JuteRecord], JuteRecord | None]]] = {
    OpCode.CREATE: _create,
    OpCode.CREATE2: _create2,
    OpCode.CREATE_CONTAINER: _create_not_served,
    OpCode.CREATE_TTL: _create_not_served,
    OpCode.DELETE: _delete,
    OpCode.SET_DATA: _set_data,
    OpCode.SET_ACL: _set_acl,
    OpCode.CHECK: _check,
}

REQUESTS: Final[Mapping[OpCode, type[JuteRecord]]] = {
    OpCode.CREATE: CreateRequest,
    OpCode.CREATE2: CreateRequest,
    OpCode.CREATE_CONTAINER: CreateRequest,
    OpCode.CREATE_TTL: CreateTTLRequest,
    OpCode.DELETE: PathVersionRequest,
    OpCode.SET_DATA: SetDataRequest,
    OpCode.SET_ACL: SetACLRequest,
}
"""Record class of each request that changes nodes; each request is one transaction."""

MULTI_REQUESTS: Final[Mapping[OpCode, type[JuteRecord]]] = {
    **{kind: request for kind, request in REQUESTS.items() if kind is not OpCode.SET_ACL},
    OpCode.CHECK: PathVersionRequest,
}
"""Record class of each operation that a `multi` may contain."""


def _insist_on_session(transaction: TreeTransaction, caller: Caller) -> None:
    if not transaction.has_session(caller.session_id):
        raise RefusedError(Code.SESSION_EXPIRED)


def _parent_of(path: str) -> str:
    return path[: path.rindex("/")] or ROOT


def _valid_node(transaction: TreeTransaction, path: str) -> StoredNode:
    if not is_path(path):
        raise RefusedError(Code.BAD_ARGUMENTS)
    return _node(transaction, path)


def _node(transaction: TreeTransaction, path: str) -> StoredNode:
    node = transaction.find(path)
    if node is None:
        raise NoNodeError(path)
    return node
