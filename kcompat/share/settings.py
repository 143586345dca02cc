"""What share partitions ask of the configuration of their group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kcompat.share.partition.limits import ShareLimits


class ShareSettings(Protocol):
    """The settings of share groups, as they are in force when they are asked for."""

    def limits(self, group_id: str) -> ShareLimits:
        """What holds for each share partition of the group."""

    def isolation_level(self, group_id: str) -> int:
        """Whether the group reads what is not committed (`share.isolation.level`), as in FetchRequest."""

    def start_timestamp(self, group_id: str, now_ms: int) -> int:
        """Where a share partition begins that nobody has read (`share.auto.offset.reset`), as ListOffsets
        asks for it: a time in ms, or one of the special ones.
        """
