"""New offsets for groups: the plan of a reset, its time, and the CSV files that hold plans."""

from __future__ import annotations

import csv
import io
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from kcompat.admin.errors import JavaError
from kcompat.config.java_text import parse_integer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kcompat.topics import TopicPartition

    Plan = dict[TopicPartition, int]
    """The new offset of each partition."""

_DATE_TIME: Final = re.compile(
    r"(\d+)-(\d\d?)-(\d\d?)T(\d\d?):(\d\d?):(\d\d?)\.(\d+)(Z|[+-]\d\d(?::?\d\d)?)?"
)
_DURATION: Final = re.compile(
    r"([+-]?)P(?:([+-]?\d+)D)?(?:(T)(?:([+-]?\d+)H)?(?:([+-]?\d+)M)?(?:([+-]?\d+)(?:[.,](\d{0,9}))?S)?)?",
    re.IGNORECASE,
)
_NO_DURATION: Final = JavaError(
    "DateTimeParseException", "Text cannot be parsed to a Duration", package="java.time.format."
)


def within(
    offsets: Mapping[TopicPartition, int],
    starts: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
    warn: Callable[[str], object],
) -> Plan:
    """Return offsets moved into the range that each partition has; `warn` is called for each that had to be
    moved.
    """
    plan = {}
    for (topic, index), offset in offsets.items():
        start, end = starts[topic, index], ends[topic, index]
        moved = min(max(offset, start), end)
        if moved != offset:
            side, limit = ("higher", "latest") if offset > end else ("lower", "earliest")
            warn(
                f"New offset ({offset}) is {side} than {limit} offset for topic partition {topic}-{index}. "
                f"Value will be set to {moved}."
            )
        plan[topic, index] = moved
    return plan


def shifted(committed: Mapping[TopicPartition, int], partitions: Iterable[TopicPartition], by: int) -> Plan:
    """Return committed offsets plus a number. Raises ValueError for a partition without one."""
    plan = {}
    for topic, index in partitions:
        if (topic, index) not in committed:
            raise ValueError(
                f"Cannot shift offset for partition {topic}-{index} since there is no current "
                "committed offset"
            )
        plan[topic, index] = committed[topic, index] + by
    return plan


def parse_date_time(text: str) -> int:
    """Return the ms since 1970 of a time such as `2026-01-31T13:00:00.000+01:00`; UTC without a zone.

    Raises:
        JavaError: the text is not a time; the message is that of Kafka's `Utils.getDateTime`.
    """
    _, found, rest = text.partition("T")
    if not found:
        raise JavaError(
            "ParseException",
            "Error parsing timestamp. It does not contain a 'T' according to ISO8601 format",
            package="java.text.",
        )
    shown = text if re.search(r"Z|[+-]\d", rest) else f"{text}Z"
    match = _DATE_TIME.fullmatch(shown)
    if match is None:
        raise JavaError("ParseException", f'Unparseable date: "{shown}"', package="java.text.")
    year, month, day, hour, minute, second, milliseconds = map(int, match.groups()[:7])
    # Java's lenient calendar carries what is too large into the next field.
    months = year * 12 + month - 1
    first = datetime(months // 12, months % 12 + 1, 1, tzinfo=UTC)
    moment = first + timedelta(
        days=day - 1, hours=hour, minutes=minute, seconds=second, milliseconds=milliseconds
    )
    return round((moment.timestamp() - _zone_s(match[8])) * 1000)


def _zone_s(zone: str) -> int:
    if zone == "Z":
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    seconds = int(digits[:2]) * 3600 + int(digits[2:]) * 60
    return -seconds if zone[0] == "-" else seconds


def parse_duration(text: str) -> float:
    """Return the ms of a duration such as `P1DT2H3M4.5S`. Raises JavaError (`Duration.parse` of Java)."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise _NO_DURATION
    sign, days, has_time, hours, minutes, seconds, fraction = match.groups()
    if not any((days, hours, minutes, seconds)) or (has_time and not any((hours, minutes, seconds))):
        raise _NO_DURATION
    total = int(days or 0) * 86400 + int(hours or 0) * 3600 + int(minutes or 0) * 60 + int(seconds or 0)
    parts = float(f"0.{fraction or 0}")
    found = total - parts if (seconds or "").startswith("-") else total + parts
    return 1000 * (-found if sign == "-" else found)


def parse_topic(text: str) -> tuple[str, list[int]]:
    """Return the topic and the partitions of `TOPIC:0,1`; `TOPIC` alone has an empty list. Raises
    ValueError.
    """
    if ":" not in text:
        return text, []
    parts = text.split(":")
    while parts and not parts[-1]:
        parts.pop()
    if len(parts) != 2:
        raise ValueError(f"Invalid topic arg '{text}', expected topic name and partitions")
    partitions = []
    for part in parts[1].split(","):
        try:
            partitions.append(parse_integer(part, 32))
        except ValueError:
            raise ValueError(f"Invalid partition '{part}' specified in topic arg '{text}''") from None
    return parts[0], partitions


def write_plans(plans: Mapping[str, Plan], *, with_groups: bool) -> str:
    """Return plans as CSV: the group (`with_groups`), topic, partition and offset of each row."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for group, plan in plans.items():
        for (topic, index), offset in plan.items():
            writer.writerow([group, topic, index, offset] if with_groups else [topic, index, offset])
    return out.getvalue()


def read_plans(text: str, groups: list[str]) -> dict[str, Plan]:
    """Return the plans of each group in a CSV file; rows without a group are about the only one of `groups`.

    Raises:
        JavaError: a row is neither TOPIC,PARTITION,OFFSET nor GROUP,TOPIC,PARTITION,OFFSET.
    """
    rows = [row for row in csv.reader(io.StringIO(text)) if row]
    without_groups = len(groups) == 1 and bool(rows) and len(rows[0]) == 3
    plans: dict[str, Plan] = {}
    for number, row in enumerate(rows, 1):
        named = [groups[0], *row] if without_groups else row
        try:
            group, topic, index, offset = named
            plans.setdefault(group, {})[topic, parse_integer(index, 32)] = parse_integer(offset, 64)
        except ValueError:
            shape = "TOPIC,PARTITION,OFFSET" if without_groups else "GROUP,TOPIC,PARTITION,OFFSET"
            raise JavaError(
                "IllegalArgumentException",
                f"Line {number} of the reset plan is not {shape}: {','.join(row)}",
                package="java.lang.",
            ) from None
    return plans
