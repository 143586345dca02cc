from __future__ import annotations

import pytest

from support.history import History, Outcome, Sent, violations
from support.log_harness import make_batch
from support.new_epochs import NewEpochs, Refused, refused

PLACE, OTHER = ("t", 1), ("t", 0)
SAID = (
    "[thrd:h:1/1]: h:1/1: ProduceRequest for t [0] with 58 message(s) failed due to skipped sequence numbers "
    "(PID{Id:7,Epoch:0}, base seq 12 > next seq 11) caused by previous failed request "
    "(NOT_LEADER_FOR_PARTITION, actions Refresh,MsgNotPersisted, base seq 11..11): recovering and retrying"
)
REFUSED = Refused(OTHER, 7, 0, 12)


def log_of(*batches: tuple[int, int, int, int]) -> bytes:
    """Batches of one record: producer id, producer epoch, sequence and offset of each."""
    return b"".join(
        make_batch(producer_id=id_, producer_epoch=epoch, base_sequence=sequence, base_offset=offset)
        for id_, epoch, sequence, offset in batches
    )


def found(
    *batches: tuple[int, int, int, int], refusals: list[Refused] | None = None, told: int | None = 1
) -> list[str]:
    """Return the faults in a log of the same record twice, at offsets 0 and 1."""
    outcome = Outcome.UNKNOWN if told is None else Outcome.ACKNOWLEDGED
    history = History([Sent("p", 0, PLACE, b"v", outcome, told)], [], {PLACE: [(0, b"v"), (1, b"v")]})
    logs = {PLACE: log_of(*batches), OTHER: b""}
    epochs = NewEpochs(history, [REFUSED] if refusals is None else refusals, logs)
    return violations(history, sent_anew=epochs.sent_anew)


def test_a_refusal_is_read_from_the_log_of_librdkafka() -> None:
    assert refused(SAID) == REFUSED
    assert refused("ProduceRequest for t [0] with 1 message(s) failed: Local: Timed out") is None


@pytest.mark.parametrize("told", [1, None])
def test_a_record_may_be_there_again_in_the_epoch_after_a_refusal(told: int | None) -> None:
    assert found((7, 0, 40, 0), (7, 1, 0, 1), told=told) == []


def test_a_record_that_is_there_twice_for_any_other_reason_is_doubled() -> None:
    once_more = (7, 0, 40, 0), (7, 1, 0, 1)
    for wrong in (
        found((7, 0, 40, 0), (7, 0, 40, 1)),  # in one epoch
        found((7, 0, 40, 0), (8, 1, 0, 1)),  # of two producers
        found((7, 0, 40, 0), (7, 2, 0, 1)),  # nothing was refused in epoch 1
        found(*once_more, refusals=[]),
        found(*once_more, refusals=[Refused(OTHER, 8, 0, 12)]),
        found(*once_more, told=0),  # there was no need to send it again
    ):
        assert any("and again at 1" in each for each in wrong), wrong


@pytest.mark.parametrize(("told", "doubled"), [(2, []), (None, []), (1, ["1 and again at 2"])])
def test_a_record_may_be_there_again_after_each_of_two_refusals(told: int | None, doubled: list[str]) -> None:
    sent = Sent("p", 0, PLACE, b"v", Outcome.ACKNOWLEDGED, told)
    history = History([sent], [], {PLACE: [(at, b"v") for at in range(3)]})
    logs = {PLACE: log_of((7, 0, 40, 0), (7, 1, 0, 1), (7, 2, 0, 2)), OTHER: b""}
    epochs = NewEpochs(history, [REFUSED, Refused(OTHER, 7, 1, 3)], logs)
    found = violations(history, sent_anew=epochs.sent_anew)
    assert [each.partition("at offset ")[2] for each in found] == doubled


def test_a_refusal_needs_a_gap() -> None:
    def without_a_gap(*batches: tuple[int, int, int, int]) -> list[Refused]:
        return NewEpochs(History(), [REFUSED], {OTHER: log_of(*batches)}).refused_without_a_gap()

    assert without_a_gap((7, 0, 10, 0), (7, 1, 0, 1), (8, 0, 11, 2)) == []
    assert without_a_gap((7, 0, 10, 0), (7, 0, 11, 1)) == [REFUSED]
