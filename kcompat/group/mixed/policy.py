"""Whether groups may change their kind while they have members (`group.consumer.migration.policy`)."""

from __future__ import annotations

from enum import Enum


class MigrationPolicy(Enum):
    """Kafka's `ConsumerGroupMigrationPolicy`, by the words of the configuration."""

    DISABLED = "disabled"
    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"
    BIDIRECTIONAL = "bidirectional"

    @property
    def may_upgrade(self) -> bool:
        """Whether a classic group becomes a consumer group when a member comes that uses that protocol."""
        return self in (MigrationPolicy.UPGRADE, MigrationPolicy.BIDIRECTIONAL)

    @property
    def may_downgrade(self) -> bool:
        """Whether a consumer group becomes a classic group when the last member leaves that uses the new
        protocol.
        """
        return self in (MigrationPolicy.DOWNGRADE, MigrationPolicy.BIDIRECTIONAL)
