"""The text format of Prometheus, version 0.0.4: families of metrics and their samples as lines.

prometheus_client writes this format too, at some 4 us a sample; a broker with 1,000 partitions has 10,000
samples, which are written here from text that is shared by all families of a partition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable  # noqa: TC003 - msgspec reads the types of the fields
from enum import Enum
from typing import TYPE_CHECKING, Final, Generic, TypeAlias, TypeVar

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

Sample: TypeAlias = "tuple[str, float]"
"""The labels of a sample as `labels` returns them, and its value."""

Source = TypeVar("Source")

_ESCAPES: Final = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


class Kind(Enum):
    """Kinds of metrics."""

    COUNTER = "counter"
    """A count that only grows, and begins at 0 when the broker starts."""
    GAUGE = "gauge"
    """A value that rises and falls."""


class Family(Struct, Generic[Source], frozen=True):
    """All samples of one name, and how they are read from a source."""

    name: str
    kind: Kind
    meaning: str
    """Sentence for readers, without a line break."""
    labels: tuple[str, ...]
    """Names of the labels of its samples; a sample may lack the ones in `optional`."""
    read: Callable[[Source], Iterable[Sample]]
    optional: tuple[str, ...] = ()


def labels(**values: object) -> str:
    """Return the text of a sample's labels, `{name="value",...}`; empty without labels."""
    if not values:
        return ""
    pairs = (f'{name}="{str(value).translate(_ESCAPES)}"' for name, value in values.items())
    return f"{{{','.join(pairs)}}}"


def alone(value: float) -> list[Sample]:
    """Return the one sample of a family without labels."""
    return [("", value)]


def lines_of(family: Family[Source], source: Source) -> Iterator[str]:
    """Yield the lines of one family, each with its line break; nothing for a family without samples."""
    samples = iter(family.read(source))
    first = next(samples, None)
    if first is None:
        return
    name = family.name
    yield f"# HELP {name} {family.meaning}\n# TYPE {name} {family.kind.value}\n{name}{first[0]} {first[1]}\n"
    for text, value in samples:
        yield f"{name}{text} {value}\n"
