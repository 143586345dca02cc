"""A flipped bit anywhere in the last batches: recovery ends the log before the batch that has it."""

from __future__ import annotations

from typing import Any

import pytest

LOG = "00000000000000000000.log"
EPOCHS = (0, 1, 4, 5)
"""Leader epochs of the log; 4 and 5 differ by one bit."""
BASE_OFFSET = 8
"""The field takes so many bytes, which no CRC covers."""


@pytest.mark.parametrize("damaged", [2, 3])
@pytest.mark.parametrize("bit", [0, 2, 7])
def test_the_log_ends_before_it(harness: Any, damaged: int, bit: int) -> None:
    for number, epoch in enumerate(EPOCHS):
        harness.append(2, epoch=epoch, producer_id=5, producer_epoch=0, base_sequence=2 * number)
    before = harness.files()
    content = before[LOG]
    size = len(content) // len(EPOCHS)
    whole = [(2 * number, 2 * number + 1) for number in range(len(EPOCHS))]
    for at in range(size):
        flipped = bytearray(content)
        flipped[damaged * size + at] ^= 1 << bit
        for name, data in before.items():
            (harness.directory / name).write_bytes(flipped if name == LOG else data)
        log = harness.reopen()
        log.check_invariants()
        found = harness.offsets()
        if at < BASE_OFFSET and damaged == 3 and len(found) == 4:
            base = int.from_bytes(flipped[damaged * size :][:BASE_OFFSET], "big", signed=True)
            assert found == [*whole[:3], (base, base + 1)]
            assert base > whole[3][0], "offsets may be missing, for all a log knows"
            continue
        assert found == whole[:damaged], f"byte {at}"
        assert log.epochs.latest == EPOCHS[damaged - 1]
        assert log.producers[0].last_sequence == 2 * damaged - 1
        appended = harness.append(2, epoch=9, producer_id=5, producer_epoch=0, base_sequence=2 * damaged)
        assert appended.base_offset == 2 * damaged
