"""Table of the kinds of groups to which the broker assigns. Add new kinds here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kcompat.group.kinds.consumer.kind import CONSUMER_KIND
from kcompat.group.kinds.share.kind import SHARE_KIND
from kcompat.group.kinds.streams.kind import STREAMS_KIND

if TYPE_CHECKING:
    from kcompat.group.modern.kind import ModernKind

MODERN_KINDS: Final[tuple[ModernKind[Any, Any, Any], ...]] = (CONSUMER_KIND, SHARE_KIND, STREAMS_KIND)
