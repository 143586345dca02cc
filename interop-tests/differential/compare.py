"""Two transcripts, field by field."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from differential.play import Step

NOTHING = ("no step", "<nothing>")


class Difference(NamedTuple):
    """One field on which the brokers disagree; `path` leads from the step to the field."""

    path: str
    kafka: Any
    ours: Any

    def __str__(self) -> str:
        return f"{self.path}: Kafka {self.kafka!r}, ours {self.ours!r}"


def differences(kafka: Sequence[Step], ours: Sequence[Step]) -> Iterator[Difference]:
    """Every field that is not the same on both sides; arrays of different lengths are one difference."""
    for number, (theirs, mine) in enumerate(zip_longest(kafka, ours, fillvalue=NOTHING)):
        yield from _differences(f"{number} {theirs[0]}", theirs[1], mine[1])


def _differences(path: str, kafka: Any, ours: Any) -> Iterator[Difference]:
    if isinstance(kafka, dict) and isinstance(ours, dict):
        for name in kafka.keys() | ours.keys():
            yield from _differences(f"{path}.{name}", kafka.get(name), ours.get(name))
    elif isinstance(kafka, list) and isinstance(ours, list) and len(kafka) == len(ours):
        for index, (theirs, mine) in enumerate(zip(kafka, ours, strict=True)):
            yield from _differences(f"{path}[{index}]", theirs, mine)
    elif kafka != ours:
        yield Difference(path, kafka, ours)
