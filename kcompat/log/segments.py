"""The segments of one log in offset order (Kafka's LogSegments)."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat.log.segment import Segment


class Segments:
    """The segments of a log, at least one; the last one is `active`, the only one that is written to."""

    __slots__ = ("_bases", "_segments", "active")

    def __init__(self, segments: list[Segment]) -> None:
        self._segments = segments
        self._bases = [segment.base_offset for segment in segments]
        self.active = segments[-1]

    def __len__(self) -> int:
        return len(self._segments)

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._segments)

    @property
    def first_base_offset(self) -> int:
        """Base offset of the oldest segment."""
        return self._bases[0]

    @property
    def base_offsets(self) -> list[int]:
        """Base offsets of all segments."""
        return list(self._bases)

    @property
    def size(self) -> int:
        """Bytes of all log files together."""
        return sum(segment.size for segment in self._segments)

    def from_offset(self, offset: int) -> list[Segment]:
        """Return the segments from the one that may contain `offset` to the active one."""
        return self._segments[max(bisect_right(self._bases, offset) - 1, 0) :]

    def next_base_offset(self, segment: Segment) -> int | None:
        """Return the base offset of the segment after `segment`; None for the active segment."""
        at = bisect_right(self._bases, segment.base_offset)
        return self._bases[at] if at < len(self._bases) else None

    def push(self, segment: Segment) -> None:
        """Make this the active segment, after all others."""
        assert not self._bases or segment.base_offset > self._bases[-1], "segments come in offset order"
        self._segments.append(segment)
        self._bases.append(segment.base_offset)
        self.active = segment

    def replace(self, segments: list[Segment], replacement: Segment) -> None:
        """Replace `segments`, the last ones, with an empty segment, which becomes active."""
        del self._segments[-len(segments) :], self._bases[-len(segments) :]
        self.push(replacement)

    def put_in_place_of(self, segments: list[Segment], replacement: Segment) -> None:
        """Replace neighbouring `segments`, without the active one, with a segment of the same base offset."""
        at = bisect_right(self._bases, replacement.base_offset) - 1
        assert self._segments[at : at + len(segments)] == segments, "the segments are here, side by side"
        assert self.active is not segments[-1], "the active segment is not replaced"
        self._segments[at : at + len(segments)] = [replacement]
        self._bases[at : at + len(segments)] = [replacement.base_offset]

    def take_front(self, count: int) -> list[Segment]:
        """Remove and return the `count` oldest segments; at least one segment has to remain."""
        assert count < len(self._segments), "a log has at least one segment"
        taken = self._segments[:count]
        del self._segments[:count], self._bases[:count]
        return taken

    def take_above(self, offset: int) -> list[Segment]:
        """Remove and return the segments with a base offset above `offset`; the last one before them becomes
        active.
        """
        keep = bisect_right(self._bases, offset)
        assert keep > 0, "a log has at least one segment"
        taken = self._segments[keep:]
        del self._segments[keep:], self._bases[keep:]
        self.active = self._segments[-1]
        return taken

    def check_invariants(self) -> None:
        """Assert that base offsets increase and agree with the segments."""
        assert self._bases == sorted(set(self._bases)) == [segment.base_offset for segment in self._segments]
        assert self.active is self._segments[-1]
