"""The text of the report on a failed test, with a limited number of lines."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from kcompat.testing.story.causes import causes, explained
from kcompat.testing.story.evidence import NOT_KNOWN, SINCE_EARLIER, clock, counted
from kcompat.testing.story.memberships import groups_of_test, lines_of
from kcompat.testing.story.traffic import offsets_read, produced
from kcompat.wording import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kcompat.instrumentation.faults.reports import FaultReport
    from kcompat.instrumentation.recording.entry import RecordedRequest
    from kcompat.testing.story.evidence import Evidence

MOST_FAULTS: Final = 6
MOST_CAUSES: Final = 4
MOST_CAUSE_LINES: Final = 9
MOST_GROUP_LINES: Final = 12
MOST_PLACES: Final = 4
MOST_REQUESTS: Final = 12
_WIDTH: Final = 110
_ROUTINE: Final = frozenset({"ApiVersions", "FindCoordinator", "Heartbeat", "SaslHandshake"})
"""APIs whose successful requests are rarely of interest."""
_ROUTINE_ERRORS: Final = frozenset({"MEMBER_ID_REQUIRED"})
"""Errors that every new member of a group gets."""


def tell(evidence: Evidence) -> str:
    """Return the report on the evidence, at most some 40 lines; empty if no client sent a request."""
    parts = [
        ("What may be wrong:", _bounded(list(_wrapped(causes(evidence)[:MOST_CAUSES])), MOST_CAUSE_LINES)),
        ("Groups:", _bounded(_group_lines(evidence), MOST_GROUP_LINES)),
        ("Produced in this test and not read:", _bounded(list(_unread(evidence)), MOST_PLACES)),
        (f"Last requests to {evidence.address}:", _request_lines(evidence)),
    ]
    if any(lines for _, lines in parts):  # faults alone are no story
        parts.insert(0, ("Faults in force in this test:", _bounded(_fault_lines(evidence), MOST_FAULTS)))
    return "\n".join(line for title, lines in parts if lines for line in (title, *_indented(lines)))


def _fault_lines(evidence: Evidence) -> list[str]:
    lines = []
    for fault in evidence.faults:
        if fault.is_intervention:
            lines.append(f"{fault.description}, {_span(fault)}")
            continue
        struck = counted(fault.struck, "operation" if fault.is_of_disk else "request")
        over = f", over since {clock(fault.ended)}" if fault.ended is not None else ""
        lines.append(f"{fault.description}: it struck {struck}{over}")
    return lines


def _span(fault: FaultReport) -> str:
    """Return the time of an intervention, or the span of time for which its effect lasted."""
    if fault.ended is None:
        return f"since {clock(fault.began)}"
    if fault.ended == fault.began:
        return f"at {clock(fault.began)}"
    return f"from {clock(fault.began)} to {clock(fault.ended)}"


def _indented(lines: Sequence[str]) -> Iterator[str]:
    return (f"  {printable(line)}" for line in lines)  # the names are those that clients choose


def _bounded(lines: Sequence[str], most: int) -> list[str]:
    if len(lines) <= most:
        return list(lines)
    return [*lines[: most - 1], f"... and {counted(len(lines) - most + 1, 'more line')}"]


def _wrapped(sentences: Sequence[str]) -> Iterator[str]:
    for sentence in sentences:
        yield from textwrap.wrap(
            printable(sentence), _WIDTH, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False
        )


def _group_lines(evidence: Evidence) -> list[str]:
    return [line for group in groups_of_test(evidence) for line in lines_of(evidence, group)]


def _unread(evidence: Evidence) -> Iterator[str]:
    read = offsets_read(evidence)
    for place, written in sorted(produced(evidence).items()):
        _, end = evidence.offsets(place)
        if end == NOT_KNOWN or (place in read and read[place].covers(written.first, end)):
            continue
        what = f"{place[0]}-{place[1]}: {counted(written.count, 'record')} from offset {written.first}"
        yield f"{what}, {read.get(place, 'no client read from it')}"


class _Row:
    """Equal requests of one client, as one line."""

    def __init__(self, asked: RecordedRequest, number: int, deed: str, *, is_older: bool) -> None:
        self.asked = asked
        self.deed = deed
        """Effect of a fault on the requests as a participle; empty if no fault affected them."""
        self.is_older = is_older
        """Whether the client was connected before the test."""
        self.first = asked.time
        self.number = number
        """Position of the last of the requests in the order of all requests."""
        self.count = 0

    @property
    def is_routine(self) -> bool:
        """Whether the requests are rarely of interest: they succeeded, or got only the errors that every
        client gets.
        """
        errors = self.asked.errors
        if self.deed:
            return False
        if errors:
            return all(each.error in _ROUTINE_ERRORS for each in errors)
        return self.asked.api in _ROUTINE and not self.asked.failed

    def __str__(self) -> str:
        asked = self.asked
        about = ", ".join([*asked.topics[:3], *([f"group {asked.group}"] if asked.group else [])])
        times = "" if self.count == 1 else f" ({self.count} times since {clock(self.first)})"
        what = " ".join(each for each in (asked.api or "no request", about) if each)
        who = f"{asked.client_id or '-'}{f' ({SINCE_EARLIER})' if self.is_older else ''}"
        fault = f", {self.deed} by a fault" if self.deed else ""
        return f"{clock(asked.time)} {who} {what}: {_outcome(asked)}{fault}{times}"


def _outcome(asked: RecordedRequest) -> str:
    if not asked.errors:
        return asked.outcome
    more = len(asked.errors) - 1
    return explained(asked.errors[0]).rstrip(".") + (f", and {counted(more, 'more error')}" if more else "")


def _request_lines(evidence: Evidence) -> list[str]:
    """Return a line for each kind of request, in the order of the last request of each kind. If there are too
    many, requests of clients that connected during the test and requests that failed are preferred.
    """
    rows: dict[tuple[object, ...], _Row] = {}
    for number, asked in enumerate(evidence.in_test):
        fault, is_older = evidence.fault_of(asked), evidence.is_older(asked)
        deed = fault.deed if fault is not None else ""
        key = (asked.client_id, is_older, asked.api, tuple(asked.topics), asked.group, asked.outcome, deed)
        row = rows.setdefault(key, _Row(asked, number, deed, is_older=is_older))
        row.asked, row.number, row.count = asked, number, row.count + 1
    by_weight = sorted(rows.values(), key=_weight)
    shown = sorted(by_weight[:MOST_REQUESTS], key=lambda row: (row.is_older, row.number))
    left_out = sum(row.count for row in by_weight[MOST_REQUESTS:])
    lines = [textwrap.shorten(printable(str(row)), 2 * _WIDTH, placeholder=" ...") for row in shown]
    return [*lines, f"and {counted(left_out, 'other request')}"] if left_out else lines


def _weight(row: _Row) -> tuple[bool, bool, bool, int]:
    """Return the priority of a row: rows with the lowest number are shown first."""
    return row.is_older, row.is_routine, not (row.asked.failed or row.deed), -row.number
