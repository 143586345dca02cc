"""The nodes of a `ProcessStore` and transactions on them. Pure: no files, no clock.

A `TreeTransaction` stages changes on top of the tree, sees its own earlier operations, and does not change
the tree until it is applied; the store makes the staged nodes durable before that. So a reader never sees a
change that a crash could undo.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, assert_never

from msgspec import Struct

from kcompat.store.interface import (
    ANY_VERSION,
    OPEN_ACL,
    BadVersionError,
    Check,
    Create,
    Delete,
    EventType,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    SetAcl,
    SetData,
    Stat,
    WatchEvent,
    check_path,
    name_of,
    parent_of,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from kcompat.store.interface import Acl, Op, OpResult

K = TypeVar("K")
V = TypeVar("V")

ROOT = "/"


class StoredNode(Struct, gc=False):
    """A node: its data, the fields of its `Stat`, its access control list, and the names of its children."""

    data: bytes | None
    """Data of the node. None is ZooKeeper's null, which only ZooKeeper clients write."""
    czxid: int
    mzxid: int
    ctime_ms: int
    mtime_ms: int
    version: int
    cversion: int
    ephemeral_owner: int
    pzxid: int
    aversion: int = 0
    acl: Acl = OPEN_ACL
    children: set[str] | frozenset[str] = frozenset()
    """Names of the children; a shared empty set until there is a child, as most nodes have none."""

    def stat(self) -> Stat:
        """Return the node's Stat."""
        return Stat(
            self.czxid,
            self.mzxid,
            self.ctime_ms,
            self.mtime_ms,
            self.version,
            self.cversion,
            self.ephemeral_owner,
            len(self.children),
            self.pzxid,
            self.aversion,
        )

    @property
    def children_ever(self) -> int:
        """Number of children ever created, which is the number appended to the name of the next sequential
        child.
        """
        return (self.cversion + len(self.children)) // 2

    def add_child(self, name: str) -> None:
        """Add a child to this node."""
        if isinstance(self.children, set):
            self.children.add(name)
        else:
            self.children = {name}

    def copy(self) -> StoredNode:
        """Return a copy of the node, for a transaction to change."""
        return StoredNode(
            self.data,
            self.czxid,
            self.mzxid,
            self.ctime_ms,
            self.mtime_ms,
            self.version,
            self.cversion,
            self.ephemeral_owner,
            self.pzxid,
            self.aversion,
            self.acl,
            set(self.children) if self.children else frozenset(),
        )


class StoredSession(Struct, frozen=True, gc=False):
    """A session that outlives the process that opened it: its client may reconnect with the session's
    password.
    """

    password: bytes
    timeout_ms: int


class NodeChange(Struct, frozen=True, gc=False):
    """A change of a node, with the node's access control list."""

    event: WatchEvent
    acl: Acl


class Tree:
    """Nodes by path, sessions that outlive the process by id, and the id of the last transaction."""

    def __init__(
        self,
        zxid: int = 0,
        nodes: Iterable[tuple[str, StoredNode]] = (),
        sessions: Iterable[tuple[int, StoredSession]] = (),
    ) -> None:
        """Link stored nodes to a tree; they come in any order, and their sets of children are empty."""
        self.zxid = zxid
        self.sessions = dict(sessions)
        self.nodes: dict[str, StoredNode] = {ROOT: StoredNode(b"", 0, 0, 0, 0, 0, 0, 0, 0)}
        self.nodes.update(nodes)
        for path in self.nodes:
            if path != ROOT:
                self.get(parent_of(path)).add_child(name_of(path))

    def get(self, path: str) -> StoredNode:
        """Return the node at `path`. Raises `NoNodeError`."""
        node = self.nodes.get(path)
        if node is None:
            raise NoNodeError(f"{path} does not exist")
        return node

    def ephemerals(self, session_id: int | None = None) -> list[str]:
        """Return the paths of the ephemeral nodes of one session; of all sessions if `session_id` is None."""
        return [
            path
            for path, node in self.nodes.items()
            if node.ephemeral_owner and session_id in (None, node.ephemeral_owner)
        ]

    def check_invariants(self) -> None:
        """Assert that every node but the root has a parent that lists it, and that ephemerals have no
        children.
        """
        known = {ROOT}
        for path, node in self.nodes.items():
            assert not (node.ephemeral_owner and node.children), path
            assert node.mzxid <= self.zxid, path
            assert node.czxid <= node.mzxid, path
            known.update(f"{path.rstrip('/')}/{name}" for name in node.children)
        assert known == self.nodes.keys()


class Staged(Struct):
    """Effect of a transaction: the new state of each changed node and session, None for removed ones."""

    nodes: dict[str, StoredNode | None]
    sessions: dict[int, StoredSession | None]

    @classmethod
    def nothing(cls) -> Staged:
        """Return the effect of an empty transaction."""
        return cls({}, {})

    def __bool__(self) -> bool:
        return bool(self.nodes or self.sessions)

    def add(self, later: Staged) -> None:
        """Add the effect of a later transaction to this one."""
        self.nodes |= later.nodes
        self.sessions |= later.sessions


class TreeTransaction:
    """Operations of one session, staged on top of a tree.

    `before` is the effect of earlier transactions that are not applied to the tree yet; the last of them has
    the id `zxid` - 1.
    """

    def __init__(
        self, tree: Tree, session_id: int, now_ms: int, zxid: int, before: Staged | None = None
    ) -> None:
        self.zxid = zxid
        self.changes: list[NodeChange] = []
        self.staged = Staged.nothing()
        self._tree = tree
        self._session_id = session_id
        self._now_ms = now_ms
        self._before = before or self.staged
        self._staged = self.staged.nodes

    def find(self, path: str) -> StoredNode | None:
        """Return the node at `path` after the operations so far, or None; callers must not change it."""
        for staged in (self._staged, self._before.nodes):
            if path in staged:
                return staged[path]
        return self._tree.nodes.get(path)

    def has_session(self, session_id: int) -> bool:
        """Return whether a session with this id is stored."""
        for staged in (self.staged.sessions, self._before.sessions):
            if session_id in staged:
                return staged[session_id] is not None
        return session_id in self._tree.sessions

    def open_session(self, session_id: int, session: StoredSession) -> None:
        """Store a session that outlives the process."""
        self.staged.sessions[session_id] = session

    def end_sessions(self, ids: Collection[int]) -> None:
        """Remove the ephemeral nodes of these sessions, and the stored sessions among them."""
        self.staged.sessions |= {each: None for each in ids if self.has_session(each)}
        before = [path for path, node in self._before.nodes.items() if node is not None]
        for path in dict.fromkeys((*self._tree.ephemerals(), *before)):
            node = self.find(path)
            if node is not None and node.ephemeral_owner in ids:
                self._delete(Delete(path))

    def rewind(self, nodes: Mapping[str, StoredNode]) -> None:
        """Replace all nodes of the tree by these, which it had at an earlier time. A node that is the same
        object has not changed since. No watch reports the changes.
        """
        present = {**self._tree.nodes, **self._before.nodes}
        for path in present.keys() - nodes.keys():
            self._staged[path] = None
        for path, node in nodes.items():
            if present.get(path) is not node:
                self._staged[path] = node

    def run(self, op: Op | SetAcl) -> OpResult:
        """Stage one operation. After an error the whole transaction must be dropped."""
        match op:
            case Create():
                return self._create(op)
            case SetData():
                return self._set(op)
            case SetAcl():
                return self._set_acl(op)
            case Delete():
                self._delete(op)
                return None
            case Check():
                self._expect(op.path, op.version)
                return None
            case _:
                assert_never(op)

    def apply(self) -> None:
        """Apply the staged changes to the tree."""
        _put(self.staged.nodes, self._tree.nodes)
        _put(self.staged.sessions, self._tree.sessions)
        self._tree.zxid = self.zxid

    def _create(self, op: Create) -> str:
        path = op.path
        parent_path = _validated_parent(path)
        parent = self._touch(parent_path)
        if parent.ephemeral_owner:
            raise NoChildrenForEphemeralsError(f"{parent_path} is ephemeral")
        if op.sequential:
            path = f"{path}{parent.children_ever:010d}"
        if self.find(path) is not None:
            raise NodeExistsError(f"{path} exists")
        now_ms, zxid = self._now_ms, self.zxid
        owner = self._session_id if op.ephemeral else 0
        acl = OPEN_ACL if op.acl is None else op.acl
        self._staged[path] = StoredNode(op.data, zxid, zxid, now_ms, now_ms, 0, 0, owner, zxid, acl=acl)
        parent.add_child(name_of(path))
        parent.cversion += 1
        parent.pzxid = zxid
        self._report(EventType.CREATED, path, acl)
        self._report(EventType.CHILDREN_CHANGED, parent_path, parent.acl)
        return path

    def _set(self, op: SetData) -> Stat:
        self._expect(op.path, op.version)
        node = self._touch(op.path)
        node.data = op.data
        node.version += 1
        node.mzxid = self.zxid
        node.mtime_ms = self._now_ms
        self._report(EventType.CHANGED, op.path, node.acl)
        return node.stat()

    def _set_acl(self, op: SetAcl) -> Stat:
        node = self._touch(op.path)
        if op.version not in (ANY_VERSION, node.aversion):
            raise BadVersionError(
                f"the access list of {op.path} has version {node.aversion}, not {op.version}"
            )
        node.acl = op.acl
        node.aversion += 1
        return node.stat()

    def _delete(self, op: Delete) -> None:
        parent_path = _validated_parent(op.path)
        node = self._expect(op.path, op.version)
        if node.children:
            raise NotEmptyError(f"{op.path} has children")
        parent = self._touch(parent_path)
        parent.children -= {name_of(op.path)}
        parent.cversion += 1
        parent.pzxid = self.zxid
        self._staged[op.path] = None
        self._report(EventType.DELETED, op.path, node.acl)
        self._report(EventType.CHILDREN_CHANGED, parent_path, parent.acl)

    def _report(self, event: EventType, path: str, acl: Acl) -> None:
        self.changes.append(NodeChange(WatchEvent(event, path), acl))

    def _expect(self, path: str, version: int) -> StoredNode:
        node = self.find(path)
        if node is None:
            raise NoNodeError(f"{path} does not exist")
        if version not in (ANY_VERSION, node.version):
            raise BadVersionError(f"{path} has version {node.version}, not {version}")
        return node

    def _touch(self, path: str) -> StoredNode:
        """Return the staged copy of a node, to be changed."""
        node = self.find(path)
        if node is None:
            raise NoNodeError(f"{path} does not exist")
        if path not in self._staged:
            node = self._staged[path] = node.copy()
        return node


def _put(staged: Mapping[K, V | None], into: dict[K, V]) -> None:
    for key, value in staged.items():
        if value is None:
            into.pop(key, None)
        else:
            into[key] = value


def _validated_parent(path: str) -> str:
    check_path(path)
    return parent_of(path)
