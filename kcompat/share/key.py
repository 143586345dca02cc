"""The key of a share partition: a topic partition as one share group consumes it."""

from __future__ import annotations

from typing import NamedTuple

from kcompat.protocol.uuids import uuid_from_text, uuid_to_text


class SharePartitionKey(NamedTuple):
    """A share group and a partition of a topic given by its id. Kafka's `SharePartitionKey`."""

    group_id: str
    topic_id: bytes
    partition: int

    @property
    def coordinator_key(self) -> str:
        """Return the text by which FindCoordinator looks up the share coordinator of the key."""
        return f"{self.group_id}:{uuid_to_text(self.topic_id)}:{self.partition}"

    @classmethod
    def parse(cls, coordinator_key: str) -> SharePartitionKey:
        """Parse the form of `coordinator_key`; raise ValueError if it is not one. A group id may contain
        colons.
        """
        group_id, topic_id, partition = coordinator_key.rsplit(":", 2)
        if not group_id.strip():
            raise ValueError("the group id is empty")
        return cls(group_id, uuid_from_text(topic_id), int(partition))
