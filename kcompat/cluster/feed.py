"""The cluster image in force on a broker, and who is told when another takes its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcompat.cluster.image import ClusterImage
from kcompat.cluster.news import UpdateConfigs, UpdateMetadata
from kcompat.faults import contained

if TYPE_CHECKING:
    from collections.abc import Callable

    Listener = Callable[[ClusterImage, ClusterImage], object]


class MetadataCache:
    """Holds the cluster image in force on this broker. Kafka's counterpart: `MetadataCache`."""

    def __init__(self, cluster_id: str) -> None:
        self.image = ClusterImage(cluster_id)
        self._listeners: list[Listener] = []

    def subscribe(self, listener: Listener) -> None:
        """Call `listener(old, new)` after each replacement; what is unchanged is the same object in both. One
        that raises is logged, and the others hear of the picture all the same.
        """
        self._listeners.append(listener)

    def hear(self, news: UpdateMetadata | UpdateConfigs) -> None:
        """Change the picture by what the controller says."""
        match news:
            case UpdateMetadata(controller_id, brokers, topics, removed):
                image = self.image.with_topics(topics, removed)
                self.update(replace(image, controller_id=controller_id, brokers=brokers))
            case UpdateConfigs(changed):
                self.update(self.image.with_configs(changed))

    def update(self, image: ClusterImage) -> None:
        """Replace the picture."""
        old, self.image = self.image, image
        for listener in self._listeners:
            with contained("a part of the broker that was shown a new cluster image"):
                listener(old, image)
