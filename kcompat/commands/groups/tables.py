"""The tables of `kafka-consumer-groups`: columns as wide as Kafka's, and at least 15 characters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kcompat.commands.groups.descriptions import GroupDescription, GroupListing, Member
    from kcompat.topics import TopicPartition

MISSING: Final = "-"
"""Text of a column without a value."""

_NARROWEST: Final = 15
_OFFSETS: Final = (
    "GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST",
    "CLIENT-ID",
)  # fmt: skip


class OffsetRow(msgspec.Struct, frozen=True):
    """A partition of a group: its committed offset, its end, and the member that reads it."""

    group: str
    topic: str
    partition: int
    offset: int | None
    epoch: int | None
    end: int | None
    member: Member | None

    @property
    def lag(self) -> int | None:
        """Records between the committed offset and the end; None where one of them is unknown."""
        return None if self.offset is None or self.end is None else self.end - self.offset


def _shown(value: object) -> str:
    return MISSING if value is None or value == "" else str(value)


def _width(texts: Iterable[str], narrowest: int = _NARROWEST) -> int:
    return max([narrowest, *map(len, texts)])


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Return cells padded to widths; the last cell has no width if `widths` is shorter."""
    padded = [f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=False)]
    return " ".join([*padded, *cells[len(widths) :]])


def list_table(groups: Sequence[GroupListing], *, types: bool, states: bool) -> str:
    """Return the list of groups with their types or states."""
    columns = [
        ("GROUP", _width(each.group_id for each in groups) + 10, [each.group_id for each in groups]),
        *([("TYPE", 20, [each.type for each in groups])] if types else []),
        *([("STATE", 20, [each.state for each in groups])] if states else []),
    ]
    widths = [width for _, width, _ in columns]
    rows = zip(*(cells for _, _, cells in columns), strict=True)
    return "".join(f"{_line(row, widths)}\n" for row in [tuple(name for name, _, _ in columns), *rows])


def offset_table(rows: Sequence[OffsetRow], *, verbose: bool) -> str:
    """Return the offsets of one group."""
    cells = [
        (
            row.group,
            row.topic,
            str(row.partition),
            *([_shown(row.epoch)] if verbose else []),
            _shown(row.offset),
            _shown(row.end),
            _shown(row.lag),
            row.member.member_id if row.member else MISSING,
            row.member.host if row.member else MISSING,
            row.member.client_id if row.member else MISSING,
        )
        for row in rows
    ]
    group, topic, member, host = (_width(row[at] for row in cells) for at in (0, 1, -3, -2))
    numbers = [15] * (4 if verbose else 3)
    widths = [group, topic, 10, *numbers, member, host]
    head = (*_OFFSETS[:3], *(["LEADER-EPOCH"] if verbose else []), *_OFFSETS[3:])
    return "".join(f"\n{_line(row, widths)}" for row in [head, *cells]) + "\n"


def member_table(group: GroupDescription | None, *, verbose: bool) -> str:
    """Return the members of one group; only the heading if the members are None."""
    members = group.members if group else []
    name = group.group_id if group else ""
    has_instances = any(each.instance_id for each in members)
    is_mixed = {each.upgraded for each in members} >= {True, False}
    columns: list[tuple[str, int, list[str]]] = [
        ("GROUP", 15, [name] * len(members)),
        ("CONSUMER-ID", 15, [each.member_id for each in members]),
        *([("GROUP-INSTANCE-ID", 17, [each.instance_id or "" for each in members])] if has_instances else []),
        ("HOST", 15, [each.host for each in members]),
        ("CLIENT-ID", 15, [each.client_id for each in members]),
        ("#PARTITIONS", 15, [str(len(each.assignment)) for each in members]),
    ]
    if verbose:
        target = _shown(group.target_epoch) if group else MISSING
        columns += [
            ("CURRENT-EPOCH", 15, [_shown(each.epoch) for each in members]),
            ("CURRENT-ASSIGNMENT", 20, [assignment_text(each.assignment) for each in members]),
            ("TARGET-EPOCH", 15, [target] * len(members)),
            ("TARGET-ASSIGNMENT", 20, [assignment_text(each.target) for each in members]),
        ]
        if is_mixed:
            columns.append(("UPGRADED", 0, [str(bool(each.upgraded)).lower() for each in members]))
    widths = [_width(cells, narrowest) for _, narrowest, cells in columns if narrowest]
    rows = zip(*(cells for _, _, cells in columns), strict=True)
    end = "" if verbose else " "
    lines = [_line(row, widths) + end for row in [tuple(name for name, _, _ in columns), *rows]]
    return "\n" + "".join(f"{line}\n" for line in lines)


def assignment_text(partitions: Iterable[TopicPartition]) -> str:
    """Return partitions as `topic:0,1;other:0`."""
    by_topic: dict[str, list[int]] = {}
    for topic, index in sorted(partitions):
        by_topic.setdefault(topic, []).append(index)
    texts = sorted(f"{topic}:{','.join(map(str, indexes))}" for topic, indexes in by_topic.items())
    return ";".join(texts) or MISSING


def state_table(group: GroupDescription, *, verbose: bool) -> str:
    """Return the state of one group."""
    node = group.coordinator
    coordinator = f"{node.host}:{node.port}  ({node.id})"
    head = ["GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE"]
    cells = [group.group_id, coordinator, _shown(group.assignor), group.state]
    widths = [_width([group.group_id]), _width([coordinator], 25), 20, 20]
    if verbose:
        head += ["GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH"]
        cells += [_shown(group.epoch), _shown(group.target_epoch)]
        widths += [15, 25]
    return f"\n{_line([*head, '#MEMBERS'], widths)}\n{_line([*cells, str(len(group.members))], widths)}\n"


def reset_table(plans: Mapping[str, Mapping[TopicPartition, int]]) -> str:
    """Return the new offsets of groups."""
    rows = [
        (group, topic, str(index), str(offset))
        for group, plan in plans.items()
        for (topic, index), offset in plan.items()
    ]
    widths = [_width(plans), _width(row[1] for row in rows), 10]
    head = [("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET")] if plans else []
    return "".join(f"\n{_line(row, widths)}" for row in [*head, *rows]) + "\n"


def deletion_table(results: Mapping[tuple[str, int | None], str]) -> str:
    """Return the results of the deletion of offsets; a partition of None stands for a whole topic."""
    widths = [_width(topic for topic, _ in results), 10, 15]
    rows = sorted(results.items(), key=lambda item: (item[0][0], _shown(item[0][1])))
    lines = [("TOPIC", "PARTITION", "STATUS"), *((topic, _shown(n), text) for (topic, n), text in rows)]
    return "".join(f"\n{_line(line, widths)}" for line in lines) + "\n"
