"""The ports of groups to the rest of the broker."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.cluster.image import ClusterImage
    from kcompat.coordinator.ports import Verifier
    from kcompat.group.kinds.share.groups import Ends
    from kcompat.group.kinds.streams.internal_topics import MakeTopics
    from kcompat.notices.notices import Notices
    from kcompat.share.persister import Persister


class GroupPorts(NamedTuple):
    """The ports of a group coordinator."""

    partition_count: Callable[[], int]
    """Returns the number of partitions of `__consumer_offsets`; 0 while the number is unknown."""
    new_uuid: Callable[[], str]
    """Makes the random part of a new member's id, as Java's `UUID.toString` writes it."""
    verifier: Verifier
    image: Callable[[], ClusterImage]
    """Returns the current metadata image."""
    share_state: Persister
    """Port to the stored state of share partitions."""
    ends: Ends
    """Port to the end offsets of partitions, for the lag of share groups."""
    make_topics: MakeTopics
    """Creates the internal topics of streams applications."""
    notices: Notices
    """The log of the failures of clients."""
