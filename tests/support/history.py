"""The records that clients of a cluster sent and read, and the check of Kafka's promises on them.

Faults are thrown at brokers while producers send and consumers read; then everything is healed and each
partition is read once more from its start to its end, which is the `final` reading. Whether something was
lost, doubled or shown too early is then a question about this history alone: no log of a broker is asked.

The findings are those that Jepsen has names for: inconsistent offset, lost, unseen, duplicate, reordered, and
reads that went back or saw what is not there in the end.
"""

from __future__ import annotations

from enum import Enum
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

Place = tuple[str, int]
"""Topic and partition."""
Read = tuple[int, bytes]
"""Offset and value."""


class Outcome(Enum):
    """The result of one record, as its producer knows it."""

    ACKNOWLEDGED = "acknowledged"
    REFUSED = "refused"
    """The record was certainly not written."""
    UNKNOWN = "unknown"


class Sent(Struct, frozen=True):
    """One record, whose value no other record has. `number` orders those of a producer as they were sent."""

    producer: str
    number: int
    place: Place
    value: bytes
    outcome: Outcome
    offset: int | None = None
    """Offset in the acknowledgement; None without one."""


class Polled(Struct, frozen=True):
    """The records of a partition in one poll of a consumer, in order."""

    consumer: str
    place: Place
    records: Sequence[Read]


class History(Struct):
    """All that was sent with acks=all, all that was polled meanwhile, and the final readings."""

    sent: list[Sent] = []
    polled: list[Polled] = []
    final: dict[Place, list[Read]] = {}


def violations(
    history: History,
    *,
    idempotent: bool = True,
    sent_anew: Callable[[Place, bytes, int, int], bool] = lambda *_: False,
) -> list[str]:
    """One sentence for each broken promise. Without `idempotent` records may be doubled and reordered; else
    those may be doubled that their producer itself `sent_anew`, as that says of a value and two offsets.
    """
    found = [*_of_offsets(history), *_of_readers(history)]
    by_place: dict[Place, list[Sent]] = {place: [] for place in history.final}
    for sent in history.sent:
        by_place.setdefault(sent.place, []).append(sent)
    for place, records in by_place.items():
        found += _of_records(place, records, history.final.get(place, []))
        if idempotent:
            found += _of_order(place, records, history.final.get(place, []), sent_anew)
    return found


def _of_offsets(history: History) -> Iterator[str]:
    """Two values at one offset, whoever saw them."""
    values: dict[tuple[Place, int], tuple[bytes, str]] = {}
    for place, offset, value, who in _sightings(history):
        known, witness = values.setdefault((place, offset), (value, who))
        if known != value:
            yield f"{_name(place)}: offset {offset} is {known!r} to {witness} and {value!r} to {who}"


def _sightings(history: History) -> Iterator[tuple[Place, int, bytes, str]]:
    for place, records in history.final.items():
        for offset, value in records:
            yield place, offset, value, "the final reading"
    for sent in history.sent:
        if sent.offset is not None:
            yield sent.place, sent.offset, sent.value, f"producer {sent.producer}"
    for polled in history.polled:
        for offset, value in polled.records:
            yield polled.place, offset, value, f"consumer {polled.consumer}"


def _of_readers(history: History) -> Iterator[str]:
    """Polls that went back, skipped what is there, or saw what is not there in the end."""
    places = {place: dict(records) for place, records in history.final.items()}
    positions: dict[tuple[str, Place], int] = {}
    for polled in history.polled:
        final = places.get(polled.place, {})
        key = (polled.consumer, polled.place)
        for offset, value in polled.records:
            last = positions.get(key, -1)
            if offset <= last:
                yield f"{_name(polled.place)}: consumer {polled.consumer} read {offset} after {last}"
            skipped = [] if last < 0 else [each for each in range(last + 1, offset) if each in final]
            if skipped:
                yield f"{_name(polled.place)}: consumer {polled.consumer} never read offset {skipped[0]}"
            if offset not in final:
                yield (
                    f"{_name(polled.place)}: consumer {polled.consumer} read {value!r} at offset {offset}, "
                    "which is gone"
                )
            positions[key] = offset


def _of_records(place: Place, records: Iterable[Sent], final: Sequence[Read]) -> Iterator[str]:
    """Records that are not where they must be, or are where they must not be."""
    there = {value for _, value in final}
    known = set()
    for sent in records:
        known.add(sent.value)
        if sent.outcome is Outcome.ACKNOWLEDGED and sent.value not in there:
            yield f"{_name(place)}: {sent.value!r} of producer {sent.producer} was acknowledged and is lost"
        if sent.outcome is Outcome.REFUSED and sent.value in there:
            yield f"{_name(place)}: {sent.value!r} of producer {sent.producer} was refused and is there"
    for offset, value in final:
        if value not in known:
            yield f"{_name(place)}: nobody sent {value!r}, which is at offset {offset}"
    for (before, _), (offset, _) in pairwise(final):
        if offset <= before:
            yield f"{_name(place)}: offset {offset} stands behind {before}"


def _of_order(
    place: Place,
    records: Iterable[Sent],
    final: Sequence[Read],
    sent_anew: Callable[[Place, bytes, int, int], bool],
) -> Iterator[str]:
    """Records that are there twice, or in another order than their producer sent them."""
    offsets: dict[bytes, int] = {}
    latest: dict[bytes, int] = {}
    for offset, value in final:
        if value in latest and not sent_anew(place, value, latest[value], offset):
            yield f"{_name(place)}: {value!r} is at offset {latest[value]} and again at {offset}"
        offsets.setdefault(value, offset)
        latest[value] = offset
    by_producer: dict[str, list[Sent]] = {}
    for sent in records:
        if sent.value in offsets:
            by_producer.setdefault(sent.producer, []).append(sent)
    for producer, of_one in by_producer.items():
        of_one.sort(key=lambda sent: sent.number)
        for earlier, later in pairwise(of_one):
            if offsets[later.value] < offsets[earlier.value]:
                yield (
                    f"{_name(place)}: {later.value!r} of producer {producer} stands before "
                    f"{earlier.value!r}, which was sent first"
                )


def _name(place: Place) -> str:
    return f"{place[0]}-{place[1]}"
