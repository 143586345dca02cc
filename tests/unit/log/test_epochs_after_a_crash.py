"""Leader epochs and the log start, when a crash came between the writing of one and the other."""

from __future__ import annotations

from typing import Any

EPOCHS = "leader-epoch-checkpoint"


def test_the_log_start_is_stored_before_the_epochs_below_it_go(harness: Any) -> None:
    for number in range(4):
        harness.append(2, epoch=number)
    stored = []
    harness.context.log_start_moved = lambda: stored.append(harness.files()[EPOCHS])
    harness.log.delete_records_before(5)
    assert stored == [b"0\n4\n0 0\n1 2\n2 4\n3 6\n"]
    assert harness.files()[EPOCHS] == b"0\n2\n2 5\n3 6\n"


def test_epochs_below_the_first_known_one_are_found_in_the_batches(harness: Any) -> None:
    """The checkpoint of log starts was lost, that of epochs was not; Kafka leaves such directories too."""
    for number in range(4):
        harness.append(2, epoch=number)
    harness.log.delete_records_before(5)
    log = harness.reopen(log_start_offset=1)
    assert [log.epochs.epoch_for(offset) for offset in range(1, 8)] == [0, 1, 1, 2, 2, 3, 3]
    assert harness.files()[EPOCHS] == b"0\n4\n0 1\n1 2\n2 4\n3 6\n"


def test_a_damaged_file_of_an_empty_log_is_replaced(harness: Any) -> None:
    (harness.directory / EPOCHS).write_bytes(bytes(8))
    assert harness.reopen().epochs.latest == -1
    assert harness.files()[EPOCHS] == b"0\n0\n"
