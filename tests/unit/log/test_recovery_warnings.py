"""Recovery logs how many bytes it removes, and why."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

LOG = "00000000000000000000.log"


def flipped(at: int, value: int) -> Callable[[bytearray, int], None]:
    """Overwrite one byte of the second batch, the size of which is given."""

    def damage(content: bytearray, size: int) -> None:
        content[size + at] = value

    return damage


def torn(length: int) -> Callable[[bytearray, int], None]:
    """Keep so many bytes of the second batch and nothing after it."""

    def damage(content: bytearray, size: int) -> None:
        del content[size + length :]

    return damage


@pytest.mark.parametrize(
    ("damage", "fault"),
    [
        (torn(5), "is not whole: only 5 bytes of it are there"),
        (torn(70), "is not whole: only 70 of its {size} bytes are there"),
        (
            lambda content, size: content.__setitem__(slice(size, None), bytes(2 * size)),
            "has a length of 12 bytes",
        ),
        (flipped(16, 3), "has the unknown magic 3"),
        (flipped(26, 200), "has a wrong CRC"),
        (flipped(7, 0), "has offsets or a leader epoch out of order"),
        (flipped(15, 7), "has offsets or a leader epoch out of order"),
    ],
)
def test_a_cut_names_both_sizes_and_the_fault(
    harness: Any, damage: Callable[[bytearray, int], None], fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        harness.append(2)
    content = bytearray(harness.files()[LOG])
    size = len(content) // 3
    damage(content, size)
    (harness.directory / LOG).write_bytes(content)
    with caplog.at_level(logging.WARNING):
        harness.reopen()
    (said,) = caplog.messages
    assert f"{LOG} was cut from {len(content)} to {size} bytes: the batch at byte {size} " in said
    assert fault.format(size=size) in said


def test_the_batch_that_jumped_ahead_is_named(harness: Any, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        harness.append()
    content = bytearray(harness.files()[LOG])
    size = len(content) // 3
    content[size + 6] = 1
    (harness.directory / LOG).write_bytes(content)
    with caplog.at_level(logging.WARNING):
        harness.reopen()
    (said,) = caplog.messages
    assert f"from {3 * size} to {size} bytes: the batch at byte {size} has offsets" in said


def test_deleted_segments_are_named_with_their_sizes(
    make_harness: Any, caplog: pytest.LogCaptureFixture
) -> None:
    harness = make_harness(segment_bytes=250)
    for _ in range(6):
        harness.append()
    path = harness.directory / "00000000000000000002.log"
    content = bytearray(path.read_bytes())
    content[0] = 1
    path.write_bytes(content)
    later = len(harness.files()["00000000000000000004.log"])
    with caplog.at_level(logging.WARNING):
        harness.reopen()
    cut, deleted = caplog.messages
    assert f"from {len(content)} to 0 bytes: the batch at byte 0 has offsets" in cut
    assert f"00000000000000000004.log ({later} bytes) was deleted" in deleted


def test_an_emptied_log_names_its_size_and_both_offsets(
    harness: Any, caplog: pytest.LogCaptureFixture
) -> None:
    harness.append(2)
    size = harness.log.size
    with caplog.at_level(logging.WARNING):
        harness.reopen(log_start_offset=9)
    (said,) = caplog.messages
    assert f"was emptied ({size} bytes) and begins at offset 9: it ended at offset 2" in said
