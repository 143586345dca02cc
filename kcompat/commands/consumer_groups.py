"""`kcompat consumer-groups`: list, describe, delete and reset groups, as `kafka-consumer-groups` does.

Flags and tables are those of Kafka 4.3, whose errors are written to standard output with exit code 0.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Final, TextIO

from kcompat.admin.errors import JavaError
from kcompat.admin.log_lines import log_line
from kcompat.commands.connecting import connect
from kcompat.commands.groups import changing, resets, tables
from kcompat.commands.groups.descriptions import CLASSIC, CONSUMER, describe_group, list_groups, wrapped
from kcompat.commands.groups.reading import offset_rows
from kcompat.commands.groups.resetting import plan_resets
from kcompat.commands.options import OptionParser
from kcompat.commands.output import error_stream, print_json
from kcompat.config.java_text import parse_integer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.admin.client import AdminClient
    from kcompat.commands.groups.descriptions import GroupDescription
    from kcompat.commands.options import Options

PURPOSE: Final = (
    "This tool helps to list all consumer groups, describe a consumer group, delete consumer group info, "
    "or reset consumer group offsets."
)
ACTIONS: Final = ("list", "describe", "delete", "reset-offsets", "delete-offsets", "validate-regex")
SCENARIOS: Final = (
    "to-offset",
    "shift-by",
    "to-datetime",
    "by-duration",
    "to-earliest",
    "to-latest",
    "to-current",
    "from-file",
)
"""Options of `--reset-offsets` that choose the new offset; exactly one of them is given."""

_STATES: Final = (
    "PreparingRebalance",
    "CompletingRebalance",
    "Stable",
    "Dead",
    "Empty",
    "Assigning",
    "Reconciling",
)
_REBALANCING: Final = ("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")
_TYPES: Final = (CLASSIC.capitalize(), CONSUMER.capitalize())
_PART_OF_DESCRIBE: Final = ("members", "offsets", "state")
_TIMEOUT_MS: Final = 5000
_NO_ACTION: Final = (
    "WARN: No action will be performed as the --execute option is missing. "
    "In version 5.0, this command will require either --dry-run or --execute to be specified. "
    "You should add the --dry-run option explicitly if you are scripting this command and want to keep "
    "the current default behavior without prompting."
)


def parser() -> OptionParser:
    """Return the parser of the command line."""
    found = OptionParser(PURPOSE)
    found.accepts_connection()
    found.accepts_output()
    found.accepts("list", "List all consumer groups.")
    found.accepts("describe", "Describe groups: their offsets and lag, or --members or --state.")
    found.accepts("delete", "Delete groups with their offsets.")
    found.accepts("reset-offsets", "Plan new offsets of inactive groups; with --execute, store them.")
    found.accepts("delete-offsets", "Delete the offsets of a group in topics.")
    found.accepts("validate-regex", "Check a regular expression of a subscription.", "regex")
    found.accepts("group", "The group; may be repeated.", "group")
    found.accepts("all-groups", "All groups.")
    found.accepts("topic", "A topic, or partitions of it as TOPIC:0,1; may be repeated.", "topic")
    found.accepts("all-topics", "With --reset-offsets: all topics that the group has offsets in.")
    found.accepts("timeout", "Longest time that a request may take (default: 5000).", "ms")
    found.accepts("dry-run", "With --reset-offsets: only show the new offsets (default).")
    found.accepts("execute", "With --reset-offsets: store the new offsets.")
    found.accepts("export", "With --reset-offsets: print the new offsets as CSV.")
    found.accepts("to-offset", "Reset to an offset.", "offset")
    found.accepts("from-file", "Reset to the offsets in a CSV file.", "file")
    found.accepts("to-datetime", "Reset to a time, as YYYY-MM-DDTHH:mm:SS.sss.", "time")
    found.accepts("by-duration", "Reset to a time so long ago, as PnDTnHnMnS.", "duration")
    found.accepts("to-earliest", "Reset to the first offset.")
    found.accepts("to-latest", "Reset to the log end.")
    found.accepts("to-current", "Reset to the committed offset.")
    found.accepts("shift-by", "Reset to the committed offset plus a number.", "number")
    found.accepts("members", "With --describe: the members.")
    found.accepts("offsets", "With --describe: the offsets (default).")
    found.accepts(
        "state", "With --describe: the state. With --list: states, or only these.", "states", optional=True
    )
    found.accepts("type", "With --list: types, or only these.", "types", optional=True)
    found.accepts("verbose", "With --describe: more columns.")
    return found


def run(arguments: Sequence[str]) -> int:
    """Run the command and return the exit code."""
    try:
        options = parser().parse(arguments)
        _check_parts(options)
    except JavaError as error:
        sys.stderr.write(f"{error.logged()}\n")
        return 1
    _check(options)
    if options.has("validate-regex"):
        changing.validate_regex(options.value("validate-regex"))
        return 0
    try:
        _act(options)
    except ValueError as error:
        options.parser.fail(str(error))
    except JavaError as error:
        text = f"Executing consumer group command failed due to {error}"
        print_error(text, error_stream(is_json=options.json))
        return int(options.json)  # Kafka's command ends with 0 here
    return 0


def print_error(text: str, stream: TextIO) -> None:
    """Print an error as Kafka's command does."""
    stream.write(f"\nError: {text}\n")


def _check_parts(options: Options) -> None:
    """Raise JavaError for an option without the other option that it requires."""
    wanted: dict[str, tuple[str, ...]] = dict.fromkeys(("members", "offsets", "verbose"), ("describe",))
    wanted |= {"state": ("describe", "list"), "type": ("list",)}
    lonely = [
        name for name, others in wanted.items() if options.has(name) and not any(map(options.has, others))
    ]
    if lonely:
        raise JavaError(
            "UnavailableOptionException",
            f"Option(s) [{', '.join(lonely)}] are unavailable given other options on the command line",
            package="joptsimple.",
        )


def _check(options: Options) -> None:
    """End the command if the options do not fit together (`ConsumerGroupCommandOptions.checkArgs`)."""
    options.end_for_help(no_words=False)
    if not options.has("validate-regex"):
        options.require("bootstrap-server")
    fail = options.parser.fail
    has_groups = options.has("group") or options.has("all-groups")
    if options.has("describe"):
        if not has_groups:
            fail("Option [describe] takes one of these options: [all-groups], [group]")
        if sum(map(options.has, _PART_OF_DESCRIBE)) > 1:
            fail("Option [describe] takes at most one of these options: [members], [offsets], [state]")
        if options.value("state") is not None:
            fail("Option [describe] does not take a value for [state]")
    if options.has("delete") and not has_groups:
        fail("Option [delete] takes one of these options: [all-groups], [group]")
    if options.has("delete") and options.has("topic"):
        fail("The consumer does not support topic-specific offset deletion from a consumer group.")
    if options.has("delete-offsets") and not (options.has("group") and options.has("topic")):
        fail("Option [delete-offsets] takes the following options: [topic], [group]")
    if options.has("reset-offsets"):
        _check_reset(options, has_groups=has_groups)
    options.forbid("group", ("all-groups", "list"))
    options.forbid("topic", ("describe", "list"))
    if sum(map(options.has, ACTIONS)) != 1:
        fail(f"Command must include exactly one action: {', '.join(f'--{name}' for name in ACTIONS)}")


def _check_reset(options: Options, *, has_groups: bool) -> None:
    fail = options.parser.fail
    if options.has("dry-run") and options.has("execute"):
        fail("Option [reset-offsets] only accepts one of [execute] and [dry-run]")
    if not options.has("dry-run") and not options.has("execute"):
        sys.stderr.write(f"{_NO_ACTION}\n")
    if not has_groups:
        fail("Option [reset-offsets] takes one of these options: [all-groups], [group]")
    for scenario in ("to-offset", "to-datetime", "by-duration", *SCENARIOS[4:7], "shift-by", "from-file"):
        options.forbid(scenario, (each for each in SCENARIOS if each != scenario))


def _act(options: Options) -> None:
    """Do what the options ask for. Raises JavaError and, for invalid arguments, ValueError."""
    timeout_ms = options.converted("timeout", lambda text: parse_integer(text, 64), _TIMEOUT_MS)
    with _connect(options, timeout_ms) as admin:
        if options.has("list"):
            _list(admin, options)
        elif options.has("describe"):
            _describe(admin, options)
        elif options.has("delete"):
            changing.delete_groups(admin, _groups(admin, options))
        elif options.has("delete-offsets"):
            changing.delete_offsets(admin, options.value("group"), options.values("topic"))
        else:
            _reset(admin, options)


def _connect(options: Options, timeout_ms: int) -> AdminClient:
    defaults = {"default.api.timeout.ms": str(timeout_ms), "request.timeout.ms": str(timeout_ms)}
    try:
        return connect(options, defaults=defaults)
    except JavaError as error:
        raise wrapped(error) if error.package == "java.nio.file." else error from error


def _groups(admin: AdminClient, options: Options) -> list[str]:
    if options.has("all-groups"):
        return [each.group_id for each in list_groups(admin)]
    return list(dict.fromkeys(options.values("group")))


def _list(admin: AdminClient, options: Options) -> None:
    states = _filter(options.value("state"), _STATES, "Invalid state list '{}'. Valid states are: {}")
    types = _filter(options.value("type"), _TYPES, "Invalid types list '{}'. Valid types are: {}")
    try:
        groups = list_groups(admin, states, types)
    except JavaError as error:
        cause = wrapped(error)
        is_filtered = options.has("type") or options.has("state")
        text = f"{cause}" if is_filtered else f"java.util.concurrent.ExecutionException: {cause}"
        raise JavaError("RuntimeException", text, package="java.lang.") from error
    shows_types, shows_states = options.has("type"), options.has("state")
    if options.json:
        print_json([{"group": each.group_id, "type": each.type, "state": each.state} for each in groups])
    elif shows_types or shows_states:
        sys.stdout.write(tables.list_table(groups, types=shows_types, states=shows_states))
    else:
        sys.stdout.write("".join(f"{each.group_id}\n" for each in groups))


def _filter(text: str | None, allowed: Sequence[str], refusal: str) -> set[str]:
    """Return the words of a list in lower case. Raises ValueError for one that is not allowed."""
    words = {word.strip().lower() for word in text.split(",")} if text else set()
    if not words <= {word.lower() for word in allowed}:
        raise ValueError(refusal.format(text, ", ".join(allowed)))
    return words


def _describe(admin: AdminClient, options: Options) -> None:
    try:
        groups = [describe_group(admin, group_id) for group_id in sorted(_groups(admin, options))]
    except JavaError as error:
        raise wrapped(error) from error
    verbose = options.has("verbose")
    if options.json:
        print_json([_plain(admin, group, options) for group in groups])
        return
    for group in groups:
        if options.has("state"):
            if _announce(group, rows=1):
                sys.stdout.write(tables.state_table(group, verbose=verbose))
        elif options.has("members"):
            _announce(group, rows=len(group.members))
            sys.stdout.write(tables.member_table(group, verbose=verbose))
        else:
            rows = offset_rows(admin, group)
            if _announce(group, rows=len(rows)):
                sys.stdout.write(tables.offset_table(rows, verbose=verbose))


def _announce(group: GroupDescription, rows: int) -> bool:
    """Say what is special about the state of a group; return whether there is a table to print."""
    if group.state == "Dead":
        print_error(f"Consumer group '{group.group_id}' does not exist.", sys.stdout)
        return False
    if group.state == "Empty":
        sys.stderr.write(f"\nConsumer group '{group.group_id}' has no active members.\n")
    elif group.state in _REBALANCING:
        sys.stderr.write(f"\nWarning: Consumer group '{group.group_id}' is rebalancing.\n")
    return rows > 0


def _plain(admin: AdminClient, group: GroupDescription, options: Options) -> dict[str, Any]:
    """Return the JSON form of a group."""
    found: dict[str, Any] = {
        "group": group.group_id,
        "type": group.type,
        "state": group.state,
        "assignor": group.assignor,
        "coordinator": {
            "id": group.coordinator.id,
            "host": group.coordinator.host,
            "port": group.coordinator.port,
        },
        "epoch": group.epoch,
        "targetEpoch": group.target_epoch,
    }
    if options.has("members"):
        found["members"] = [
            {
                "id": each.member_id,
                "instanceId": each.instance_id,
                "clientId": each.client_id,
                "host": each.host,
                "epoch": each.epoch,
                "assignment": [{"topic": topic, "partition": index} for topic, index in each.assignment],
                "target": [{"topic": topic, "partition": index} for topic, index in each.target],
            }
            for each in group.members
        ]
    elif not options.has("state"):
        found["offsets"] = [
            {
                "topic": row.topic,
                "partition": row.partition,
                "offset": row.offset,
                "leaderEpoch": row.epoch,
                "endOffset": row.end,
                "lag": row.lag,
                "member": row.member.member_id if row.member else None,
            }
            for row in offset_rows(admin, group)
        ]
    return found


def _reset(admin: AdminClient, options: Options) -> None:
    def warn(text: str) -> None:
        log_line("WARN", text, "org.apache.kafka.tools.GroupOffsetsResetter")

    plans = plan_resets(admin, options, _groups(admin, options), int(time.time() * 1000), warn)
    if options.json:
        print_json(
            [
                {"group": group, "topic": topic, "partition": index, "offset": offset}
                for group, plan in plans.items()
                for (topic, index), offset in plan.items()
            ]
        )
    elif options.has("export"):
        is_single = len(options.values("group")) == 1
        sys.stdout.write(resets.write_plans(plans, with_groups=not is_single) + "\n")
    else:
        sys.stdout.write(tables.reset_table(plans))
