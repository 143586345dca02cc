"""Requests that change no node, only the client's own watches. They make ZooKeeper's checks in ZooKeeper's
order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from kcompat.store.interface import EventType, StoreError
from kcompat.store.tree import ROOT
from kcompat.zookeeper_server.access import NodePermission, insist, visible_acl
from kcompat.zookeeper_server.jute import MalformedError
from kcompat.zookeeper_server.records import (
    ClientInfo,
    Code,
    GetACLResponse,
    GetChildren2Response,
    GetDataResponse,
    MultiHeader,
    NoBody,
    NumberResponse,
    OpCode,
    PathModeRequest,
    PathRequest,
    PathResponse,
    PathWatchRequest,
    SetWatches,
    SetWatches2,
    StatRecord,
    StatResponse,
    TextsResponse,
    WhoAmIResponse,
    encode_multi,
)
from kcompat.zookeeper_server.refusal import RefusedError, code_of
from kcompat.zookeeper_server.watches import WatchKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kcompat.store.tree import StoredNode, Tree
    from kcompat.zookeeper_server.access import Identity
    from kcompat.zookeeper_server.jute import JuteRecord


class Asker(Protocol):
    """The connection on which a request arrived."""

    @property
    def session_id(self) -> int:
        """Id of the connection's session."""

    @property
    def identities(self) -> tuple[Identity, ...]:
        """Identities that the client has proved."""

    def watch(self, kind: WatchKind, path: str) -> None:
        """Add a watch on a path for this connection."""

    def has_watch(self, kind: WatchKind, path: str) -> bool:
        """Return whether the connection has a watch of this kind on this path."""

    def remove_watch(self, kind: WatchKind, path: str) -> bool:
        """Remove a watch; return False if it was not set."""

    def notify(self, event: EventType, path: str) -> None:
        """Send the client a watch event at once."""


_WATCHES_OF_TYPE: Final[Mapping[int, Sequence[WatchKind]]] = {
    1: (WatchKind.CHILD,),
    2: (WatchKind.DATA,),
    3: tuple(WatchKind),
    4: (WatchKind.PERSISTENT,),
    5: (WatchKind.RECURSIVE,),
}
"""Kinds of watches that each value of ZooKeeper's `WatcherType` means in `checkWatches` and `removeWatches`.
"""


def _readable(tree: Tree, asker: Asker, path: str) -> StoredNode:
    node = tree.get(path)
    insist(node.acl, NodePermission.READ, asker.identities)
    return node


def _exists(tree: Tree, asker: Asker, request: JuteRecord) -> JuteRecord:
    assert isinstance(request, PathWatchRequest)
    if "\0" in request.path:
        raise RefusedError(Code.BAD_ARGUMENTS)
    node = tree.nodes.get(request.path)
    if node is not None:
        insist(node.acl, NodePermission.READ, asker.identities)
    if request.watch:
        asker.watch(WatchKind.DATA, request.path)
    if node is None:
        raise RefusedError(Code.NO_NODE)
    return StatResponse(StatRecord.of(node))


def _get_data(tree: Tree, asker: Asker, request: JuteRecord) -> JuteRecord:
    assert isinstance(request, PathWatchRequest)
    node = _readable(tree, asker, request.path)
    if request.watch:
        asker.watch(WatchKind.DATA, request.path)
    return GetDataResponse(node.data, StatRecord.of(node))


def _children(tree: Tree, asker: Asker, request: JuteRecord) -> tuple[tuple[str, ...], StoredNode]:
    assert isinstance(request, PathWatchRequest)
    node = _readable(tree, asker, request.path)
    if request.watch:
        asker.watch(WatchKind.CHILD, request.path)
    return tuple(sorted(node.children)), node


def _get_children(tree: Tree, asker: Asker, request: JuteRecord) -> JuteRecord:
    return TextsResponse(_children(tree, asker, request)[0])


def _get_children2(tree: Tree, asker: Asker, request: JuteRecord) -> JuteRecord:
    children, node = _children(tree, asker, request)
    return GetChildren2Response(children, StatRecord.of(node))


def _get_acl(tree: Tree, asker: Asker, request: JuteRecord) -> JuteRecord:
    assert isinstance(request, PathRequest)
    node = tree.get(request.path)
    insist(node.acl, NodePermission.READ | NodePermission.ADMIN, asker.identities)
    return GetACLResponse(visible_acl(node.acl, asker.identities), StatRecord.of(node))


def _get_all_children_number(tree: Tree, asker: Asker, request: JuteRecord) -> JuteRecord:
    assert isinstance(request, PathRequest)
    _readable(tree, asker, request.path)
    if request.path == ROOT:
        return NumberResponse(len(tree.nodes) - 1)
    return NumberResponse(sum(path.startswith(f"{request.path}/") for path in tree.nodes))


def _get_ephemerals(tree: Tree, asker: Asker, request: JuteRecord) -> JuteRecord:
    assert isinstance(request, PathRequest)
    prefix = "" if request.path.strip() in ("", ROOT) else request.path
    return TextsResponse(tuple(path for path in tree.ephemerals(asker.session_id) if path.startswith(prefix)))


def _sync(tree: Tree, asker: Asker, request: JuteRecord) -> JuteRecord:  # noqa: ARG001 - one signature for all
    assert isinstance(request, PathRequest)
    return PathResponse(request.path)


def _who_am_i(tree: Tree, asker: Asker, request: JuteRecord | None) -> JuteRecord:  # noqa: ARG001
    return WhoAmIResponse(
        tuple(
            ClientInfo(scheme, name.partition(":")[0] if scheme == "digest" else name)
            for scheme, name in asker.identities
        )
    )


def read_rows(tree: Tree, asker: Asker, operations: Sequence[tuple[OpCode, JuteRecord]]) -> bytes:
    """Return the rows of a `multiRead` response: a result or an error for each operation."""
    rows: list[tuple[MultiHeader, JuteRecord | None]] = []
    for kind, request in operations:
        try:
            rows.append((MultiHeader(kind, False, 0), _READ_ROWS[kind](tree, asker, request)))
        except (RefusedError, StoreError) as error:
            code = code_of(error)
            rows.append((MultiHeader(OpCode.ERROR, False, code), NumberResponse(code)))
    return encode_multi(rows)


def _add_watch(tree: Tree, asker: Asker, request: JuteRecord) -> JuteRecord:  # noqa: ARG001
    assert isinstance(request, PathModeRequest)
    if request.mode not in (WatchKind.PERSISTENT, WatchKind.RECURSIVE):
        raise MalformedError(f"a watch of mode {request.mode}")
    asker.watch(WatchKind(request.mode), request.path)
    return NumberResponse(0)


def _kinds(request: PathModeRequest) -> Sequence[WatchKind]:
    kinds = _WATCHES_OF_TYPE.get(request.mode)
    if kinds is None:
        raise MalformedError(f"watches of type {request.mode}")
    return kinds


def _check_watches(tree: Tree, asker: Asker, request: JuteRecord) -> None:  # noqa: ARG001
    assert isinstance(request, PathModeRequest)
    if not any(asker.has_watch(kind, request.path) for kind in _kinds(request)):
        raise RefusedError(Code.NO_WATCHER)


def _remove_watches(tree: Tree, asker: Asker, request: JuteRecord) -> None:  # noqa: ARG001
    assert isinstance(request, PathModeRequest)
    removed = [asker.remove_watch(kind, request.path) for kind in _kinds(request)]
    if not any(removed):
        raise RefusedError(Code.NO_WATCHER)


def _set_watches(tree: Tree, asker: Asker, request: JuteRecord) -> None:
    """Set again the watches of a client's previous connection, and send the events that it missed at once."""
    assert isinstance(request, SetWatches)
    seen = request.relative_zxid
    for path in request.data_watches:
        node = tree.nodes.get(path)
        if node is None:
            asker.notify(EventType.DELETED, path)
        elif node.mzxid > seen:
            asker.notify(EventType.CHANGED, path)
        else:
            asker.watch(WatchKind.DATA, path)
    for path in request.exist_watches:
        if path in tree.nodes:
            asker.notify(EventType.CREATED, path)
        else:
            asker.watch(WatchKind.DATA, path)
    for path in request.child_watches:
        node = tree.nodes.get(path)
        if node is None:
            asker.notify(EventType.DELETED, path)
        elif node.pzxid > seen:
            asker.notify(EventType.CHILDREN_CHANGED, path)
        else:
            asker.watch(WatchKind.CHILD, path)
    if isinstance(request, SetWatches2):
        for path in request.persistent_watches:
            asker.watch(WatchKind.PERSISTENT, path)
        for path in request.persistent_recursive_watches:
            asker.watch(WatchKind.RECURSIVE, path)


READS: Final[
    Mapping[OpCode, tuple[type[JuteRecord], Callable[[Tree, Asker, JuteRecord], JuteRecord | None]]]
] = {
    OpCode.EXISTS: (PathWatchRequest, _exists),
    OpCode.GET_DATA: (PathWatchRequest, _get_data),
    OpCode.GET_CHILDREN: (PathWatchRequest, _get_children),
    OpCode.GET_CHILDREN2: (PathWatchRequest, _get_children2),
    OpCode.GET_ACL: (PathRequest, _get_acl),
    OpCode.GET_ALL_CHILDREN_NUMBER: (PathRequest, _get_all_children_number),
    OpCode.GET_EPHEMERALS: (PathRequest, _get_ephemerals),
    OpCode.SYNC: (PathRequest, _sync),
    OpCode.WHO_AM_I: (NoBody, _who_am_i),
    OpCode.ADD_WATCH: (PathModeRequest, _add_watch),
    OpCode.CHECK_WATCHES: (PathModeRequest, _check_watches),
    OpCode.REMOVE_WATCHES: (PathModeRequest, _remove_watches),
    OpCode.SET_WATCHES: (SetWatches, _set_watches),
    OpCode.SET_WATCHES2: (SetWatches2, _set_watches),
}
"""Record class of each kind of read request, and the function that handles it."""

_READ_ROWS: Final = {OpCode.GET_CHILDREN: _get_children, OpCode.GET_DATA: _get_data}

MULTI_READS: Final[Mapping[OpCode, type[JuteRecord]]] = dict.fromkeys(_READ_ROWS, PathWatchRequest)
"""Record class of each operation that a `multiRead` may contain."""
