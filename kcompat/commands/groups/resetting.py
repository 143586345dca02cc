"""Resetting the offsets of groups: Kafka's `GroupOffsetsResetter`."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kcompat.admin.errors import JavaError, error_of_code
from kcompat.admin.offsets import At
from kcompat.commands.groups import resets
from kcompat.commands.groups.changing import commit_offsets
from kcompat.commands.groups.descriptions import describe_group, wrapped
from kcompat.commands.groups.reading import (
    existing,
    first_and_last,
    known_partitions,
    limits,
    partitions_of,
)
from kcompat.commands.offsets import committed_offsets
from kcompat.commands.output import execution_error
from kcompat.config.java_text import parse_integer
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.admin.client import AdminClient
    from kcompat.commands.groups.resets import Plan
    from kcompat.commands.options import Options
    from kcompat.topics import TopicPartition

    Warn = Callable[[str], object]


def plan_resets(
    admin: AdminClient, options: Options, groups: list[str], now_ms: int, warn: Warn
) -> dict[str, Plan]:
    """Return the new offsets of each group, and store them with `--execute`.

    A group with members is left as it is, which is reported on standard output. Raises JavaError and, for
    invalid arguments, ValueError.
    """
    plans: dict[str, Plan] = {}
    for group_id in groups:
        state = _state(admin, group_id)
        if state not in ("Empty", "Dead"):
            sys.stdout.write(
                f"\nError: Assignments can only be reset if the group '{group_id}' is inactive, "
                f"but the current state is {state}.\n"
            )
            plans[group_id] = {}
            continue
        resetter = _Resetter(admin, options, group_id, now_ms, warn)
        plans[group_id] = dict(sorted(resetter.plan().items()))
        if options.has("execute"):
            commit_offsets(admin, group_id, plans[group_id])
    return plans


def _state(admin: AdminClient, group_id: str) -> str:
    try:
        return describe_group(admin, group_id).state
    except JavaError as error:
        if error.code != ErrorCode.GROUP_ID_NOT_FOUND:
            raise
        return "Dead"


class _Resetter:
    """The reset of one group by the options of a command line."""

    def __init__(self, admin: AdminClient, options: Options, group_id: str, now_ms: int, warn: Warn) -> None:
        self._admin = admin
        self._options = options
        self._group_id = group_id
        self._now_ms = now_ms
        self._warn = warn

    def plan(self) -> Plan:
        """Return the new offsets. Raises JavaError and ValueError."""
        leaders = existing(self._admin, self._partitions())
        scenarios: dict[str, Callable[[dict[TopicPartition, int]], Plan]] = {
            "to-offset": self._to_offset,
            "to-earliest": partial(limits, self._admin, time=At.EARLIEST),
            "to-latest": partial(limits, self._admin, time=At.LATEST),
            "shift-by": self._shift,
            "to-datetime": self._to_date_time,
            "by-duration": self._by_duration,
            "from-file": self._from_file,
            "to-current": self._to_current,
        }
        chosen = next(filter(self._options.has, scenarios), None)
        if chosen is None:
            shown = ", ".join(f"[{name}]" for name in scenarios)
            self._options.parser.fail(
                f"Option '[reset-offsets]' requires one of the following scenarios: [{shown}]"
            )
        return scenarios[chosen](leaders)

    def _partitions(self) -> list[TopicPartition]:
        """Return the partitions to reset: all with a committed offset, or those that options name."""
        if self._options.has("all-topics"):
            return list(committed_offsets(self._admin, self._group_id))
        if not self._options.has("topic"):
            if not self._options.has("from-file"):
                self._options.parser.fail("One of the reset scopes should be defined: --all-topics, --topic.")
            return []
        found = []
        for topic, indexes in map(resets.parse_topic, self._options.values("topic")):
            found += [(topic, index) for index in indexes] or list(partitions_of(self._admin, [topic]))
        return found

    def _within(self, offsets: Plan) -> Plan:
        leaders = existing(self._admin, list(offsets))
        return resets.within(offsets, *first_and_last(self._admin, leaders), self._warn)

    def _to_offset(self, leaders: dict[TopicPartition, int]) -> Plan:
        offset = self._options.converted("to-offset", lambda text: parse_integer(text, 64))
        return self._within(dict.fromkeys(leaders, offset))

    def _shift(self, leaders: dict[TopicPartition, int]) -> Plan:
        by = self._options.converted("shift-by", lambda text: parse_integer(text, 64))
        return self._within(resets.shifted(self._committed(), leaders, by))

    def _committed(self) -> Plan:
        return {each: row.offset for each, row in committed_offsets(self._admin, self._group_id).items()}

    def _to_date_time(self, leaders: dict[TopicPartition, int]) -> Plan:
        try:
            time_ms = resets.parse_date_time(self._options.value("to-datetime"))
        except JavaError as error:
            raise wrapped(error) from error
        return self._to_time(leaders, time_ms)

    def _by_duration(self, leaders: dict[TopicPartition, int]) -> Plan:
        duration_ms = resets.parse_duration(self._options.value("by-duration"))
        return self._to_time(leaders, round(self._now_ms - duration_ms))

    def _to_time(self, leaders: dict[TopicPartition, int], time_ms: int) -> Plan:
        found = limits(self._admin, leaders, time_ms)
        late = [each for each, offset in found.items() if offset < 0]
        for topic, index in late:
            sys.stdout.write(
                f"\nWarn: Partition {index} from topic {topic} is empty. "
                "Falling back to latest known offset.\n"
            )
        return found | limits(self._admin, late, At.LATEST)

    def _from_file(self, _leaders: dict[TopicPartition, int]) -> Plan:
        path = self._options.value("from-file")
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            error = JavaError("IOException", f"Unable to read file {path}", package="java.io.")
            raise wrapped(error) from None
        plans = resets.read_plans(text, self._options.values("group"))
        if self._group_id not in plans:
            sys.stdout.write(f"\nError: No reset plan for group {self._group_id} found\n")
            return {}
        plan = plans[self._group_id]
        self._insist_on_topics(plan)
        return self._within(plan)

    def _insist_on_topics(self, plan: Plan) -> None:
        """Raise JavaError if a topic of a plan is not there, in the words of Java's `listOffsets`."""
        _, missing = known_partitions(self._admin, (topic for topic, _ in plan))
        for topic, index in plan:
            if topic in missing:
                text = (
                    f"Failed to fetch metadata for partition {topic}-{index} because metadata for topic "
                    f"`{topic}` could not be found"
                )
                raise wrapped(execution_error(error_of_code(missing[topic], text)))

    def _to_current(self, leaders: dict[TopicPartition, int]) -> Plan:
        committed = self._committed()
        known = {each: committed[each] for each in leaders if each in committed}
        others = [each for each in leaders if each not in committed]
        return known | limits(self._admin, others, At.LATEST)
