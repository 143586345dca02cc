"""Records that librdkafka sends twice, told apart from those that a broker stores twice.

A broker that does not know of its election yet refuses a batch (NOT_LEADER_OR_FOLLOWER). The next of the same
partition, which is under way by then, may find it in office: then it is refused for the gap before it
(OUT_OF_ORDER_SEQUENCE_NUMBER), as it must be. librdkafka goes on in another epoch of its producer after that,
in all partitions, and sends in that epoch whatever it has no final answer for: where a connection broke, or a
leader resigned, that may be in the log already. No broker can know such a record again. It is librdkafka's
issue 4953, and it shows as well where every broker is a Kafka.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.records.batch import iter_headers

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from kcompat.records.batch import BatchHeader
    from support.history import History, Place

_SKIPPED = re.compile(
    r"ProduceRequest for (?P<topic>\S+) \[(?P<index>\d+)\] .+ due to skipped sequence numbers "
    r"\(PID\{Id:(?P<id>\d+),Epoch:(?P<epoch>\d+)\}, base seq (?P<sequence>\d+) > "
)


class Refused(Struct, frozen=True):
    """A batch that a leader refused for the gap before it, so that its producer began another epoch."""

    place: Place
    producer_id: int
    producer_epoch: int
    base_sequence: int


def refused(text: str) -> Refused | None:
    """The batch that a line of librdkafka's log (`debug=eos`) is about, if it is about such a one."""
    found = _SKIPPED.search(text)
    if found is None:
        return None
    place = (found["topic"], int(found["index"]))
    return Refused(place, int(found["id"]), int(found["epoch"]), int(found["sequence"]))


class NewEpochs:
    """Records that producers sent again in a new epoch, found by the history and the logs at the end."""

    def __init__(self, history: History, refusals: Collection[Refused], logs: Mapping[Place, bytes]) -> None:
        self._batches = {
            place: [header for _, header in iter_headers(memoryview(log))] for place, log in logs.items()
        }
        self._ended = {(each.producer_id, each.producer_epoch) for each in refusals}
        self._acknowledged = {each.value: each.offset for each in history.sent}
        self._refusals = refusals

    def refused_without_a_gap(self) -> list[Refused]:
        """Return refusals that no leader may give: the batch just before is in its log."""
        return [
            each
            for each in self._refusals
            if any(
                (batch.producer_id, batch.producer_epoch) == (each.producer_id, each.producer_epoch)
                and batch.last_sequence == each.base_sequence - 1
                for batch in self._batches[each.place]
            )
        ]

    def sent_anew(self, place: Place, value: bytes, first: int, second: int) -> bool:
        """Whether a record is at both offsets, one after the other, since its producer sent it again in
        another epoch. It was then never told of the first, and a refusal ended each epoch in between.
        """
        before, after = self._batch_at(place, first), self._batch_at(place, second)
        epochs = range(before.producer_epoch, after.producer_epoch)
        return (
            before.producer_id == after.producer_id
            and len(epochs) > 0
            and all((before.producer_id, epoch) in self._ended for epoch in epochs)
            and self._acknowledged[value] != first
        )

    def _batch_at(self, place: Place, offset: int) -> BatchHeader:
        return next(
            batch for batch in self._batches[place] if batch.base_offset <= offset <= batch.last_offset
        )
