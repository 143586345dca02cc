"""Committed offsets that are taken from a batch together, beside the same records taken one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcompat import capabilities
from kcompat.coordinator.operation import CoordinatorRecord
from kcompat.group.offsets import CommittedOffset
from kcompat.group.serde import GROUP_SERDE
from kcompat.protocol.messages.group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from kcompat.protocol.schema import ProtocolViolation
from kcompat.records import scanning
from kcompat.records.batch import build_batch
from kcompat.records.layout import HEADER_SIZE
from kcompat.records.record import Record

if TYPE_CHECKING:
    from kcompat.topics import TopicPartition


if not capabilities.native("kcompat.group._native"):
    pytest.skip("the extension is not built", allow_module_level=True)

Taken = dict[str, dict["TopicPartition", CommittedOffset]]
BASE = 1 << 40

names = st.one_of(st.sampled_from(["g", "h", "orders", ""]), st.text(max_size=5))
longs = st.integers(-(1 << 63), (1 << 63) - 1)
ints = st.integers(-(1 << 31), (1 << 31) - 1)
commits = st.builds(
    CoordinatorRecord,
    st.builds(OffsetCommitKey, group=names, topic=names, partition=st.one_of(st.integers(0, 3), ints)),
    st.one_of(
        st.none(),
        st.builds(
            OffsetCommitValue,
            offset=longs,
            leader_epoch=ints,
            metadata=names,
            commit_timestamp=longs,
            expire_timestamp=st.sampled_from([-1, -1, -1, 5]),
        ),
    ),
)
groups = st.builds(
    CoordinatorRecord,
    st.builds(GroupMetadataKey, group=names),
    st.builds(GroupMetadataValue, protocol_type=names),
)
whole = st.one_of(commits, commits, groups).map(GROUP_SERDE.serialize)


@st.composite
def damaged(draw: st.DrawFn) -> tuple[bytes, bytes | None]:
    """A record with bytes of key or value lost, added or changed."""
    key, value = draw(commits.map(GROUP_SERDE.serialize))
    parts = [key, value or b""]
    which = draw(st.integers(0, 1))
    at = draw(st.integers(0, len(parts[which])))
    parts[which] = (
        parts[which][:at] + draw(st.binary(max_size=3)) + parts[which][at + draw(st.integers(0, 3)) :]
    )
    return parts[0], parts[1]


def one_by_one(records: list[tuple[bytes, bytes | None]]) -> tuple[Taken, int]:
    """Return the plain commits in the current format up to the first other record, and their number."""
    taken: Taken = {}
    for number, (key, value) in enumerate(records):
        if key[:2] != b"\0\1" or value is None or value[:2] != b"\0\3":
            return taken, number
        try:
            parsed = GROUP_SERDE.deserialize(key, value)
        except ProtocolViolation:
            return taken, number
        if parsed is None or GROUP_SERDE.serialize(parsed) != (key, value):
            return taken, number
        name, content = parsed.key, parsed.value
        assert isinstance(name, OffsetCommitKey)
        assert isinstance(content, OffsetCommitValue)
        taken.setdefault(name.group, {})[name.topic, name.partition] = CommittedOffset(
            content.offset,
            content.leader_epoch,
            content.metadata,
            content.commit_timestamp,
            content.expire_timestamp,
            BASE + number,
        )
    return taken, len(records)


@given(st.lists(st.one_of(whole, whole, whole, damaged()), min_size=1, max_size=12))
def test_what_is_taken_together_is_what_the_records_say(records: list[tuple[bytes, bytes | None]]) -> None:
    from kcompat.group._native import fill

    wanted, count = one_by_one(records)
    batch = memoryview(build_batch([Record(0, 7, key, value) for key, value in records], base_offset=BASE))
    taken: Taken = {}
    position = fill(batch[HEADER_SIZE:], BASE, lambda group: taken.setdefault(group, {}), CommittedOffset)
    assert taken == wanted
    left = list(scanning.read_records((batch[HEADER_SIZE + position :],), BASE, 7))
    assert [(offset, key, value) for offset, _, key, value, _ in left] == [
        (BASE + number, key, value) for number, (key, value) in enumerate(records) if number >= count
    ]


@given(st.binary(max_size=200))
def test_bytes_that_are_no_records_are_left_alone(data: bytes) -> None:
    from kcompat.group._native import fill

    assert 0 <= fill(data, 0, lambda _: {}, CommittedOffset) <= len(data)
