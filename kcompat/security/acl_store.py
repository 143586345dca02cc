"""ACLs in the metadata store, which any broker changes and all brokers put in force.

A change is one transaction for some patterns: it sets or removes their nodes, provided that these are
unchanged since they were read, and adds a notification for each pattern. Kafka's counterpart:
`AclAuthorizer`.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from kcompat.protocol.errors import ErrorCode
from kcompat.security.acl_nodes import (
    CHANGES,
    PERSISTENT_PATHS,
    TYPES,
    UnreadableAclError,
    change_prefix,
    decode_change,
    decode_entries,
    encode_change,
    encode_entries,
    name_in,
    pattern_path,
    type_path,
)
from kcompat.security.acls import EVERYONE, WILDCARD, Acl, AclEntry, PermissionType, ResourcePattern
from kcompat.security.operations import Operation
from kcompat.store.interface import (
    BadVersionError,
    Create,
    Delete,
    NodeExistsError,
    NoNodeError,
    SessionExpiredError,
    SetData,
    StoreError,
    UnknownOutcomeError,
)
from kcompat.store.notifications import NotificationWatch
from kcompat.store.promised import PromisedTasks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kcompat.promise import Promise
    from kcompat.security.acls import AclFilter, PatternType
    from kcompat.security.operations import ResourceType
    from kcompat.store.interface import MetadataStore, Op, Stat

    Node = tuple[bytes, Stat] | None
    Edit = Callable[[ResourcePattern, frozenset[AclEntry]], frozenset[AclEntry]]
    Read = Callable[[ResourcePattern, Node], frozenset[AclEntry]]

ATTEMPTS: Final = 11
"""Number of attempts to write a transaction whose nodes other brokers change at the same time."""
PAUSE_S: Final = 0.05
"""Seconds between two attempts, multiplied by the number of attempts so far."""
AT_ONCE: Final = 100
"""Patterns that one transaction changes at most, so that it stays below ZooKeeper's limit of bytes."""

_log = logging.getLogger(__name__)


class Acls(Protocol):
    """Port to the ACLs in force on this broker: `kcompat.security.acl_authorizer.AclAuthorizer`."""

    def find(self, wanted: AclFilter) -> list[Acl]:
        """Return the ACLs that pass a filter, in order."""

    def patterns(self) -> list[ResourcePattern]:
        """Return all patterns that have entries."""

    def replace(self, pattern: ResourcePattern, entries: frozenset[AclEntry]) -> None:
        """Replace all entries of a pattern."""


class AclStore:
    """The ACLs of the cluster, read and changed by one broker.

    When a read or a change has ended, its ACLs are in force on this broker. Reads and changes run one after
    another, so that older ACLs never replace newer ones.
    """

    def __init__(self, store: MetadataStore, acls: Acls, now_ms: Callable[[], int], *, escapes: bool) -> None:
        """Prepare the store. `now_ms` returns the time in ms since the epoch. With `escapes`, patterns may
        have any name; without it, nodes are named as by Kafka's brokers beside this one, which cannot store
        names with `/`.
        """
        self._store = store
        self._acls = acls
        self.escapes = escapes
        self._alone = asyncio.Lock()
        self._tasks = PromisedTasks("acls")
        self._watches = [
            NotificationWatch(store, change_prefix(kind), _Reader(self, kind), now_ms) for kind in CHANGES
        ]

    async def start(self) -> None:
        """Put all ACLs in force, and from then on every change. Raises the store's errors."""
        for path in PERSISTENT_PATHS:
            with suppress(NodeExistsError):
                await self._store.create(path)
        for watch in self._watches:
            await watch.start()

    async def stop(self) -> None:
        """Stop watching, and cancel the reads and changes under way."""
        for watch in self._watches:
            await watch.stop()
        await self._tasks.stop()

    def abandon(self) -> None:
        """Stop watching at once."""
        for watch in self._watches:
            watch.abandon()
        self._tasks.cancel()

    def find(self, wanted: AclFilter) -> list[Acl]:
        """Return the ACLs in force on this broker that pass a filter, in order."""
        return self._acls.find(wanted)

    def create(self, acls: Iterable[Acl]) -> Promise[ErrorCode]:
        """Add ACLs as `add` does, in a task of this store."""
        return self._tasks.run(self.add(acls))

    async def add(self, acls: Iterable[Acl]) -> ErrorCode:
        """Add ACLs; return NONE once they are in force here. The caller has validated them."""
        added: dict[ResourcePattern, set[AclEntry]] = {}
        for acl in acls:
            added.setdefault(acl.pattern, set()).add(acl.entry)
        return await self._change(
            list(added), lambda pattern, entries: entries | added[pattern], lambda _, node: _entries(node)
        )

    def delete(self, filters: Sequence[AclFilter]) -> Promise[ErrorCode | list[list[Acl]]]:
        """Remove the ACLs that pass one of the filters; return those of each filter, in order."""
        return self._tasks.run(self._delete(filters))

    async def read_all(self, kind: PatternType) -> None:
        """Read all patterns of one kind from the store and put them in force."""
        async with self._alone:
            known = {pattern for pattern in self._acls.patterns() if pattern.kind is kind}
            await self._read(sorted(known.union(*[await self._stored(kind, each) for each in TYPES])))

    async def read(self, patterns: Iterable[ResourcePattern]) -> None:
        """Read patterns from the store and put them in force."""
        async with self._alone:
            await self._read(list(patterns))

    async def _stored(self, kind: PatternType, resource_type: ResourceType) -> list[ResourcePattern]:
        """Return the patterns of one kind and resource type in the store."""
        names = await self._store.children(type_path(kind, resource_type))
        return [ResourcePattern(resource_type, name_in(name, escapes=self.escapes), kind) for name in names]

    async def _read(self, patterns: Sequence[ResourcePattern]) -> list[Node]:
        """Put the stored entries of patterns in force; return their nodes."""
        nodes = await self._store.get_many([self._path(pattern) for pattern in patterns])
        for pattern, node in zip(patterns, nodes, strict=True):
            self._acls.replace(pattern, _in_force(pattern, node))
        return nodes

    async def _delete(self, filters: Sequence[AclFilter]) -> ErrorCode | list[list[Acl]]:
        deleted: list[set[Acl]] = [set() for _ in filters]

        def remaining(pattern: ResourcePattern, entries: frozenset[AclEntry]) -> frozenset[AclEntry]:
            left = set(entries)
            for wanted, found in zip(filters, deleted, strict=True):
                if wanted.matches_pattern(pattern):
                    matching = {entry for entry in entries if wanted.matches_entry(entry)}
                    found.update(Acl(pattern, entry) for entry in matching)
                    left -= matching
            return frozenset(left)

        # Other brokers may have created patterns that this one has not heard of yet.
        named = {pattern for wanted in filters for pattern in wanted.named_patterns()}
        known = {
            pattern
            for pattern in self._acls.patterns()
            if any(wanted.matches_pattern(pattern) for wanted in filters)
        }
        error = await self._change(sorted(named | known), remaining, _in_force)
        return error or [sorted(found) for found in deleted]

    async def _change(self, patterns: Sequence[ResourcePattern], edit: Edit, read: Read) -> ErrorCode:
        """Replace the stored entries of patterns by the result of `edit`, which gets the entries that `read`
        has read.
        """
        async with self._alone:
            try:
                for start in range(0, len(patterns), AT_ONCE):
                    await self._write(patterns[start : start + AT_ONCE], edit, read)
            except SessionExpiredError:
                return ErrorCode.REQUEST_TIMED_OUT
            except StoreError:
                _log.exception("ACLs cannot be stored")
                return ErrorCode.UNKNOWN_SERVER_ERROR
            return ErrorCode.NONE

    async def _write(self, patterns: Sequence[ResourcePattern], edit: Edit, read: Read) -> None:
        """Write one transaction, and again if another broker changes the same patterns meanwhile."""
        for attempt in range(1, ATTEMPTS + 1):
            nodes = await self._read(patterns)
            changed = dict(self._edited(patterns, nodes, edit, read))
            try:
                if changed:
                    await self._store.multi([op for _, ops in changed.values() for op in ops])
            except (BadVersionError, NodeExistsError, NoNodeError, UnknownOutcomeError):
                if attempt == ATTEMPTS:
                    raise
                await asyncio.sleep(attempt * PAUSE_S)
                continue
            for pattern, (entries, _) in changed.items():
                self._acls.replace(pattern, entries)
            return

    def _edited(
        self, patterns: Sequence[ResourcePattern], nodes: Sequence[Node], edit: Edit, read: Read
    ) -> Iterator[tuple[ResourcePattern, tuple[frozenset[AclEntry], list[Op]]]]:
        """Yield the patterns that `edit` changes, with their new entries and the operations that store
        them.
        """
        for pattern, node in zip(patterns, nodes, strict=True):
            before = read(pattern, node)
            after, path = edit(pattern, before), self._path(pattern)
            if after == before:
                continue
            op: Op
            if node is None:
                op = Create(path, encode_entries(after))
            elif after:
                op = SetData(path, encode_entries(after), node[1].version)
            else:
                op = Delete(path, node[1].version)
            yield (
                pattern,
                (after, [op, Create(change_prefix(pattern.kind), encode_change(pattern), sequential=True)]),
            )

    def _path(self, pattern: ResourcePattern) -> str:
        return pattern_path(pattern, escapes=self.escapes)


class _Reader:
    """The reader of one kind of patterns for the watch of its notifications."""

    def __init__(self, store: AclStore, kind: PatternType) -> None:
        self._kind = kind
        self.read_all = partial(store.read_all, kind)
        self._read = store.read

    async def read_changed(self, notifications: Sequence[tuple[str, bytes]]) -> None:
        """Read the patterns that notifications name and put them in force."""
        patterns: dict[ResourcePattern, None] = {}
        for name, data in notifications:
            try:
                patterns[decode_change(self._kind, data)] = None
            except UnreadableAclError as error:
                _log.warning("the notification %s says nothing: %s", name, error)
        await self._read(patterns)


def _entries(node: Node) -> frozenset[AclEntry]:
    """Return the entries in a pattern's node; none if there is no node. Raises `UnreadableAclError`."""
    return frozenset() if node is None else decode_entries(node[0])


def _in_force(pattern: ResourcePattern, node: Node) -> frozenset[AclEntry]:
    """Return the entries in a pattern's node. If they cannot be read, everything is denied to everyone."""
    try:
        return _entries(node)
    except UnreadableAclError:
        _log.exception("the ACLs of %s cannot be read: they deny everything until they are removed", pattern)
        return frozenset({AclEntry(Operation.ALL, EVERYONE, WILDCARD, PermissionType.DENY)})
