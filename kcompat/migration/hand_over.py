"""Handing log directories over to a Kafka 3.9 broker in ZooKeeper mode: the nodes that ZooKeeper must hold.

The metadata store has Kafka's own znodes, so most of the work is copying. This module, the counterpart of
`adoption`, decides which nodes are copied, and checks that the directories agree with them and that ZooKeeper
holds nothing that contradicts them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.cluster import znodes
from kcompat.cluster.feature_levels import encode_finalized
from kcompat.log.checkpoints import (
    CheckpointDamaged,
    parse_epochs,
    parse_partition_metadata,
    parse_properties,
    read_optional,
)
from kcompat.log.files import FILES
from kcompat.log.names import (
    LEADER_EPOCH_CHECKPOINT,
    META_PROPERTIES,
    PARTITION_METADATA,
    parse_partition_directory,
    partition_directory,
)
from kcompat.security.acl_nodes import ROOTS as ACL_ROOTS
from kcompat.security.acl_nodes import name_in
from kcompat.store.interface import StoreError, name_of
from kcompat.store.tree import ROOT
from kcompat.topics import CLUSTER_METADATA

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from kcompat.log.files import Files
    from kcompat.store.tree import StoredNode

    Found = tuple[bytes, Collection[str]]
    """Data and child names of a ZooKeeper node."""

NOTIFICATIONS = (
    "/config/changes/",
    "/delegation_token/token_changes/",
    "/isr_change_notification/",
    "/kafka-acl-changes/",
    "/kafka-acl-extended-changes/",
    "/log_dir_event_notification/",
)
"""Parents of notifications. A starting broker has no use for them, and their numbers would be ahead of those
that ZooKeeper gives.
"""

SYSTEM = "/zookeeper"
"""ZooKeeper's own nodes, present in every ensemble, and in kcompat's store once it was served on a port."""

PARTITIONS_NAMED = 5
"""Maximum number of partitions that a warning names."""


class HandOverRefusedError(StoreError):
    """Refusal to hand the directories over as they are, or to this ZooKeeper; the message says why."""


class DirectoryOwner(Struct, frozen=True):
    """Identity of the directories: Kafka's `broker.id` and `/cluster/id` must match it."""

    broker_id: int
    cluster_id: str


class RequiredNodes(Struct, frozen=True):
    """The nodes that ZooKeeper has to hold, parents first, by path."""

    nodes: Mapping[str, bytes]

    @property
    def topics(self) -> list[str]:
        """The topics, in the order of their names."""
        prefix = znodes.topic_path("")
        return [name_of(path) for path in self.nodes if path.startswith(prefix) and path.count("/") == 3]

    @property
    def assignments(self) -> dict[str, znodes.TopicAssignment]:
        """The id of each topic, and the brokers of its partitions."""
        return {topic: znodes.decode_topic(self.nodes[znodes.topic_path(topic)]) for topic in self.topics}

    @property
    def partitions(self) -> set[tuple[str, int]]:
        """All partitions of the topics."""
        return {
            (topic, index)
            for topic, assignment in self.assignments.items()
            for index in range(len(assignment.replicas))
        }


def required_nodes(nodes: Mapping[str, StoredNode]) -> RequiredNodes:
    """Return the metadata in a stopped broker's store: its persistent nodes, without `NOTIFICATIONS` and
    `SYSTEM`. No feature is finalized in it, as a broker of Kafka with ZooKeeper would not start.
    """
    kept = {
        path: node.data or b""
        for path, node in sorted(nodes.items())
        if path not in (ROOT, SYSTEM)
        and not node.ephemeral_owner
        and not path.startswith((*NOTIFICATIONS, f"{SYSTEM}/"))
    }
    kept = {_as_in_kafka(path): data for path, data in kept.items()}
    if znodes.FEATURE in kept:
        kept[znodes.FEATURE] = encode_finalized({})
    if znodes.CLUSTER_ID not in kept:
        raise HandOverRefusedError("the metadata store knows no cluster: no broker has started on it yet")
    return RequiredNodes(kept)


def _as_in_kafka(path: str) -> str:
    """Return the path of a node as Kafka writes it: names of ACLs are not escaped there."""
    parent, _, node = path.rpartition("/")
    if not parent.startswith(tuple(ACL_ROOTS.values())):
        return path
    name = name_in(node, escapes=True)
    if "/" in name:
        raise HandOverRefusedError(
            f"ZooKeeper cannot hold the ACLs of {name_of(parent)} {name}, whose name has a slash: "
            "remove them with kafka-acls first"
        )
    return f"{parent}/{name}"


# -- the directories -------------------------------------------------------------------------------------


def check_owner(
    registration: RequiredNodes, directories: Iterable[str], files: Files = FILES
) -> DirectoryOwner:
    """Check that all directories belong to one broker of the store's cluster, in ZooKeeper mode's format.
    Raises HandOverRefusedError, OSError.
    """
    cluster_id = znodes.decode_cluster_id(registration.nodes[znodes.CLUSTER_ID])
    owners = {_owner_in(directory, files) for directory in directories}
    for owner in owners:
        if owner.cluster_id != cluster_id:
            raise HandOverRefusedError(
                f"the metadata store is that of cluster {cluster_id}, but the logs are those of cluster "
                f"{owner.cluster_id}"
            )
    if len(owners) != 1:
        numbers = " and ".join(sorted(str(owner.broker_id) for owner in owners))
        raise HandOverRefusedError(f"the directories are those of the brokers {numbers}, not of one")
    return owners.pop()


def _owner_in(directory: str, files: Files) -> DirectoryOwner:
    path = f"{directory}/{META_PROPERTIES}"
    data = read_optional(files, path)
    if data is None:
        raise HandOverRefusedError(f"{path} is missing: no broker has started on this directory")
    try:
        properties = parse_properties(data)
        if properties.get("version") != "0":
            raise HandOverRefusedError(
                f"{path} is of a broker in KRaft mode; one in ZooKeeper mode refuses the directory"
            )
        return DirectoryOwner(int(properties["broker.id"]), properties["cluster.id"])
    except (CheckpointDamaged, KeyError, ValueError) as error:
        raise HandOverRefusedError(f"{path} is damaged: {error}") from error


def check_logs(
    registration: RequiredNodes,
    directories: Iterable[str],
    broker_id: int,
    heir: str = "Kafka",
    files: Files = FILES,
) -> list[str]:
    """Check that the store is not behind the logs of this broker; return sentences with what else the user of
    the `heir` should know. Raises HandOverRefusedError if another broker has written to the logs meanwhile,
    OSError.
    """
    here = dict(_partitions_in(directories, files))
    assignments = registration.assignments
    replicas = {
        (topic, index): brokers
        for topic, assignment in assignments.items()
        for index, brokers in enumerate(assignment.replicas)
    }
    known = replicas.keys()
    for topic, index in known & here.keys():
        _check_log(registration, assignments[topic].topic_id, topic, index, here[topic, index], files)
    warnings = []
    if unknown := here.keys() - known:
        warnings.append(f"{_names(unknown)}: unknown to the metadata store, {heir} will not serve them")
    own = {partition for partition, brokers in replicas.items() if broker_id in brokers}
    if absent := own - here.keys():
        warnings.append(f"{_names(absent)}: not in these directories, {heir} will begin them empty")
    if others := known - own - here.keys():
        warnings.append(f"{_names(others)}: on other brokers only, and not served before those are")
    return warnings


def _partitions_in(directories: Iterable[str], files: Files) -> Iterator[tuple[tuple[str, int], str]]:
    for directory in directories:
        for name in files.list(directory):
            partition = parse_partition_directory(name)
            if partition is not None and partition[0] != CLUSTER_METADATA:
                yield partition, f"{directory}/{name}"


def _check_log(
    registration: RequiredNodes, topic_id: bytes, topic: str, index: int, path: str, files: Files
) -> None:
    state = registration.nodes.get(znodes.partition_state_path(topic, index))
    known_epoch = -1 if state is None else znodes.decode_partition_state(state).leader_epoch
    try:
        metadata = read_optional(files, f"{path}/{PARTITION_METADATA}")
        epochs = parse_epochs(read_optional(files, f"{path}/{LEADER_EPOCH_CHECKPOINT}") or b"")
        same_topic = metadata is None or parse_partition_metadata(metadata) == topic_id
    except CheckpointDamaged as damage:
        raise HandOverRefusedError(
            f"a file in {path} is damaged ({damage}): start and stop kcompat there, which mends it"
        ) from damage
    if not same_topic:
        raise HandOverRefusedError(
            f"{path} belongs to an older topic of that name than the metadata store has"
        )
    if epochs and epochs[-1][0] > known_epoch:
        raise HandOverRefusedError(
            f"the metadata store is older than {path}, to which another broker has written since; start "
            "kcompat there to see what can be done"
        )


def _names(partitions: Iterable[tuple[str, int]]) -> str:
    ordered = sorted(partitions)
    named = ", ".join(partition_directory(*partition) for partition in ordered[:PARTITIONS_NAMED])
    more = len(ordered) - PARTITIONS_NAMED
    return f"{named} and {more} more" if more > 0 else named


# -- ZooKeeper -------------------------------------------------------------------------------------------


def missing_nodes(registration: RequiredNodes, look: Callable[[str], Found | None]) -> list[str]:
    """Return the paths still to be created, in order; empty if all were created before. `look` reads a node
    of ZooKeeper, None if there is none. The cluster id comes last: until then no broker with these
    directories can start there. Raises HandOverRefusedError if ZooKeeper holds other content, which is never
    changed.
    """
    ours = registration.nodes
    children: dict[str, set[str]] = {path: set() for path in ours}
    for path in ours:
        parent, _, name = path.rpartition("/")
        if parent:
            children[parent].add(name)
    missing: set[str] = set()
    for path in sorted(ours, key=lambda path: (path not in ("/cluster", znodes.CLUSTER_ID), path)):
        found = None if path.rpartition("/")[0] in missing else look(path)
        if found is None:
            missing.add(path)
        else:
            _check_node(path, ours[path], children[path], found)
    return sorted(missing, key=lambda path: (path == znodes.CLUSTER_ID, path))


def _check_node(path: str, data: bytes, children: set[str], found: Found) -> None:
    """Check that a ZooKeeper node has the required data and no children but the required ones."""
    their_data, their_children = found
    others = sorted(set(their_children) - children)
    if path == znodes.CLUSTER_ID and their_data != data:
        raise HandOverRefusedError(f"it has another cluster already: {_shown(their_data)}")
    if path == znodes.BROKER_IDS and others:
        raise HandOverRefusedError(f"broker {others[0]} is running on it")
    if path == znodes.TOPICS and others:
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        raise HandOverRefusedError(f"it has topics that the data directory has not: {others[0]}{more}")
    if their_data != data:
        raise HandOverRefusedError(f"its {path} is {_shown(their_data)} and would be {_shown(data)}")
    if others and not f"{path}/".startswith(NOTIFICATIONS):
        raise HandOverRefusedError(f"it has {path}/{others[0]}, which the data directory has not")


def _shown(data: bytes) -> str:
    return data[:120].decode(errors="replace") or "empty"
