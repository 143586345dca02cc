"""The key of a share partition: a topic partition as one share group consumes it."""

from __future__ import annotations

from typing import NamedTuple

from kcompat.protocol.uuids import uuid_from_text, uuid_to_text


class SharePartitionKey(NamedTuple):
    """A share group, a topic id and a partition index. Kafka's `SharePartitionKey`."""

    group_id: str
    topic_id: bytes
    partition: int

    @property
    def coordinator_key(self) -> str:
        """Text by which FindCoordinator looks up the share coordinator of the key."""
        return f"{self.group_id}:{uuid_to_text(self.topic_id)}:{self.partition}"

    @classmethod
    def parse(cls, coordinator_key: str) -> SharePartitionKey:
        """Return the key that `coordinator_key` spells. A group id may contain colons.

        Raises ValueError for any other text.
        """
        group_id, topic_id, partition = coordinator_key.rsplit(":", 2)
        if not group_id.strip():
            raise ValueError("the group id is empty")
        return cls(group_id, uuid_from_text(topic_id), int(partition))
