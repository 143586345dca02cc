"""The controller's watches on the store, and the events made from changes there.

A watch is a hint. The controller reads the watched node and its children again, and makes an event of the
content; one read serves all changes before it.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from kcompat.cluster import znodes
from kcompat.cluster.payloads import DamagedZnodeError
from kcompat.controller import loading
from kcompat.controller.brokers import BrokersSeen, LogDirectoriesFailed
from kcompat.controller.deletion import DeletionsMarked
from kcompat.controller.external_changes import IsrsChanged, PartitionsFound, TopicsFound
from kcompat.controller.leader_election_requests import ElectPreferred
from kcompat.controller.reassignment import ReassignByTool
from kcompat.logger_names import CONTROLLER
from kcompat.store.interface import Check, Delete, NoNodeError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from kcompat.controller.state import ControllerState, Event
    from kcompat.store.interface import MetadataStore, Watch, WatchEvent

    Look = Callable[[MetadataStore, ControllerState], Awaitable[Event[Any] | None]]
    """Function that reads a part of the store and returns the event to decide, or None."""

T = TypeVar("T")
K = TypeVar("K", int, str)

_log = logging.getLogger(CONTROLLER)


class ControllerWatches:
    """Watches of one term; `look(path, how)` is called for each change."""

    def __init__(self, store: MetadataStore, look: Callable[[str, Look], object]) -> None:
        self._store = store
        self._look = look
        self._always = [self._watch(path, path, how) for path, how in LOOKS.items()]
        self._brokers: dict[int, Watch] = {}
        self._topics: dict[str, Watch] = {}
        self._followed: ControllerState | None = None

    def follow(self, state: ControllerState) -> None:
        """Watch the nodes of these brokers and topics, besides the fixed ones."""
        before, self._followed = self._followed, state
        if before is None or before.brokers is not state.brokers:
            _follow(self._brokers, state.brokers, self._watch_broker)
        if before is None or before.topics is not state.topics:
            _follow(self._topics, state.topics, self._watch_topic)

    def close(self) -> None:
        """Cancel all watches."""
        for watch in (*self._always, *self._brokers.values(), *self._topics.values()):
            watch.cancel()

    def _watch_broker(self, broker_id: int) -> Watch:
        return self._watch(znodes.broker_path(broker_id), znodes.BROKER_IDS, look_at_brokers)

    def _watch_topic(self, name: str) -> Watch:
        path = znodes.topic_path(name)
        return self._watch(path, path, partial(look_at_topic, name))

    def _watch(self, path: str, key: str, how: Look) -> Watch:
        def changed(_: WatchEvent) -> None:
            self._look(key, how)

        return self._store.watch(path, changed)


def _follow(watches: dict[K, Watch], wanted: Mapping[K, object], watch: Callable[[K], Watch]) -> None:
    """Keep a watch for each wanted key, and for no other."""
    for key in sorted(watches.keys() - wanted.keys()):
        watches.pop(key).cancel()
    for key in sorted(wanted.keys() - watches.keys()):
        watches[key] = watch(key)


async def look_at_brokers(store: MetadataStore, state: ControllerState) -> Event[Any]:
    """Read which brokers are registered."""
    return BrokersSeen(await loading.load_brokers(store, state.finalized))


async def look_at_topics(store: MetadataStore, state: ControllerState) -> Event[Any] | None:
    """Find the topics that another writer has created or removed."""
    names = set(await store.children(znodes.TOPICS))
    new = names.difference(state.topics, state.deleting)
    found, _ = await loading.load_topics(store, sorted(new))
    gone = (state.topics.keys() - names) | (state.deleting.keys() - names)
    if not found and not gone:
        return None
    configs = await loading.load_topic_configs(store, found)
    return TopicsFound(list(found.values()), configs, frozenset(gone))


async def look_at_topic(name: str, store: MetadataStore, state: ControllerState) -> Event[Any] | None:
    """Find the partitions that another writer has added to a topic."""
    known = state.topics.get(name)
    if known is None:
        return None
    try:
        assignment, _ = await loading.read(store, znodes.topic_path(name), znodes.decode_topic)
    except NoNodeError:
        return None  # the topics are looked at too
    if len(assignment.replicas) <= len(known.partitions):
        return None
    found, _ = await loading.load_topics(store, [name])
    return PartitionsFound(found[name]) if found else None


async def look_at_deletions(store: MetadataStore, state: ControllerState) -> Event[Any] | None:
    """Find the topics that another writer has marked for deletion."""
    marked = frozenset(await store.children(znodes.DELETE_TOPICS)) - state.deleting.keys()
    return DeletionsMarked(marked) if marked else None


async def look_at_reassignments(store: MetadataStore, state: ControllerState) -> Event[Any] | None:
    """Read the reassignments that a tool before KIP-455 has requested."""
    try:
        wanted, _ = await loading.read(store, znodes.REASSIGN_PARTITIONS, znodes.decode_reassignments)
    except NoNodeError:
        return None
    return None if wanted == state.wanted_by_tool else ReassignByTool(wanted)


async def look_at_preferred_elections(store: MetadataStore, state: ControllerState) -> Event[Any] | None:
    """Read the preferred leader elections that an old tool has requested."""
    path = znodes.PREFERRED_REPLICA_ELECTION
    try:
        partitions, _ = await loading.read(store, path, znodes.decode_partitions)
    except NoNodeError:
        return None
    await _remove(store, state, [path])
    return ElectPreferred(partitions)


async def look_at_isr_changes(store: MetadataStore, state: ControllerState) -> Event[Any] | None:
    """Find the partitions whose leaders, of an older protocol, have written their ISR themselves."""
    named = await _notifications(store, state, znodes.ISR_CHANGES, znodes.decode_partitions)
    keys = dict.fromkeys(key for partitions in named for key in partitions)
    states = await loading.load_states(store, list(keys))
    return (
        IsrsChanged({key: (each, stat.version) for key, (each, stat) in states.items()}) if states else None
    )


async def look_at_log_directories(store: MetadataStore, state: ControllerState) -> Event[Any] | None:
    """Find the brokers that have lost a log directory."""
    brokers = await _notifications(store, state, znodes.LOG_DIR_EVENTS, znodes.decode_log_dir_event)
    return LogDirectoriesFailed(set(brokers)) if brokers else None


async def drop_notifications(store: MetadataStore, state: ControllerState) -> None:
    """Remove the notifications from before this term: the controller reads everything at its start anyway."""
    for path in (znodes.ISR_CHANGES, znodes.LOG_DIR_EVENTS):
        await _remove(store, state, await _children(store, path))


async def _notifications(
    store: MetadataStore, state: ControllerState, parent: str, decode: Callable[[bytes], T]
) -> list[T]:
    """Read and remove the notifications below a node. A damaged notification is logged and removed too, so
    that the others are processed.
    """
    paths = await _children(store, parent)
    read = []
    for path in paths:
        try:
            notification, _ = await loading.read(store, path, decode)
        except DamagedZnodeError as error:
            _log.error("a notification in the metadata store is damaged and is removed: %s", error)
        except NoNodeError:
            pass  # a controller before this one still removes what it has read
        else:
            read.append(notification)
    await _remove(store, state, paths)
    return read


async def _children(store: MetadataStore, path: str) -> list[str]:
    return [f"{path}/{name}" for name in await store.children(path)]


async def _remove(store: MetadataStore, state: ControllerState, paths: list[str]) -> None:
    guard = Check(znodes.CONTROLLER_EPOCH, state.epoch_version)
    for path in paths:
        with suppress(NoNodeError):
            await store.multi([guard, Delete(path)])


LOOKS: dict[str, Look] = {
    znodes.BROKER_IDS: look_at_brokers,
    znodes.TOPICS: look_at_topics,
    znodes.DELETE_TOPICS: look_at_deletions,
    znodes.REASSIGN_PARTITIONS: look_at_reassignments,
    znodes.PREFERRED_REPLICA_ELECTION: look_at_preferred_elections,
    znodes.ISR_CHANGES: look_at_isr_changes,
    znodes.LOG_DIR_EVENTS: look_at_log_directories,
}
"""Nodes watched in every term, each with the function that reads the node."""

AT_THE_BEGINNING = (znodes.REASSIGN_PARTITIONS, znodes.PREFERRED_REPLICA_ELECTION)
"""Nodes where requests may have been left while there was no controller."""
