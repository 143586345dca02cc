"""The ports of groups to the rest of the broker."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.cluster.image import ClusterImage
    from kcompat.coordinator.claim import Verifier
    from kcompat.group.kinds.share.groups import Ends
    from kcompat.group.kinds.streams.internal_topics import MakeTopics
    from kcompat.share.persister import Persister


class GroupPorts(NamedTuple):
    """The ports of a group coordinator."""

    partition_count: Callable[[], int]
    """How many partitions `__consumer_offsets` has; 0 while that is not known."""
    new_uuid: Callable[[], str]
    """The part of a new member's id that nobody can guess, as Java's `UUID.toString` writes it."""
    verifier: Verifier
    image: Callable[[], ClusterImage]
    """The current metadata image."""
    share_state: Persister
    """Where the state of share partitions is kept."""
    ends: Ends
    """The ends of partitions, from which the lag of share groups is told."""
    make_topics: MakeTopics
    """Has the internal topics of streams applications made."""
