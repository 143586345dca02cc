"""`kcompat reassign-partitions`: move partitions to other brokers, as `kafka-reassign-partitions` does."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from kcompat.admin.client import CONTROLLER
from kcompat.admin.errors import PACKAGE, JavaError, error_of_code, raise_for
from kcompat.admin.topics import describe_topics, reassignments
from kcompat.commands.connecting import connect
from kcompat.commands.json_files import (
    ANY_DIRECTORY,
    Reassigned,
    check_execution,
    command_failed,
    parse_reassignment,
    read_text,
    write_reassignment,
)
from kcompat.commands.options import OptionParser
from kcompat.commands.output import print_json
from kcompat.commands.reassignment import directories, placing, throttles
from kcompat.commands.reassignment.placing import current_replicas, name_of
from kcompat.config.java_text import parse_integer
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from kcompat.topics import by_topic

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from kcompat.admin.client import AdminClient
    from kcompat.commands.options import Options
    from kcompat.topics import TopicPartition

    Replicas = dict[TopicPartition, list[int]]

PURPOSE: Final = "This tool helps to move topic partitions between replicas."
ACTIONS: Final = ("generate", "execute", "verify", "cancel", "list")

_FILE: Final = "reassignment-json-file"
_NEEDED: Final = {
    "verify": (_FILE,),
    "generate": ("topics-to-move-json-file", "broker-list"),
    "execute": (_FILE,),
    "cancel": (_FILE,),
    "list": (),
}
_CLIENT: Final = ("bootstrap-server", "command-config", "output", "o")
_ALLOWED: Final = {
    "verify": (*_CLIENT, "preserve-throttles"),
    "generate": (*_CLIENT, "disable-rack-aware"),
    "execute": (*_CLIENT, "additional", "throttle", "replica-alter-log-dirs-throttle", "timeout"),
    "cancel": (*_CLIENT, "preserve-throttles", "timeout"),
    "list": _CLIENT,
}
"""Options that each action allows besides those that it requires."""
_EXISTING: Final = (
    "Cannot execute because there is an existing partition assignment.  Use --additional to override this "
    "and create a new partition assignment in addition to the existing one. The --additional flag can also "
    "be used to change the throttle by resubmitting the current reassignment."
)
_VERIFY: Final = (
    "Warning: You must run --verify periodically, until the reassignment completes, to ensure the throttle "
    "is removed."
)
_TIMEOUT_MS: Final = 10_000


def parser() -> OptionParser:
    """Return the parser of the command line."""
    found = OptionParser(PURPOSE)
    found.accepts_connection()
    found.accepts_output()
    found.accepts("generate", "Propose a reassignment of topics to brokers; nothing is moved.")
    found.accepts("execute", "Start the reassignment in --reassignment-json-file.")
    found.accepts("verify", "Say how far a reassignment is; remove its throttles when it is complete.")
    found.accepts("cancel", "Cancel the reassignment in --reassignment-json-file.")
    found.accepts("list", "List the reassignments that are under way.")
    found.accepts(
        _FILE,
        'JSON file: {"version": 1, "partitions": [{"topic": "foo", "partition": 1, "replicas": [1, 2], '
        '"log_dirs": ["any", "/data"]}]}; log_dirs may be left out.',
        "file",
    )
    found.accepts(
        "topics-to-move-json-file", 'JSON file: {"version": 1, "topics": [{"topic": "foo"}]}.', "file"
    )
    found.accepts("broker-list", "The brokers to move topics to, as 0,1,2.", "brokerlist")
    found.accepts("disable-rack-aware", "With --generate: pay no attention to racks.")
    found.accepts("throttle", "With --execute: most bytes a second between brokers.", "throttle")
    found.accepts(
        "replica-alter-log-dirs-throttle",
        "With --execute: most bytes a second between directories.",
        "throttle",
    )
    found.accepts(
        "timeout", "How long to wait for moves between directories to begin (default: 10000).", "ms"
    )
    found.accepts("additional", "With --execute: also while other reassignments are under way.")
    found.accepts("preserve-throttles", "Leave throttles as they are.")
    return found


def run(arguments: Sequence[str]) -> int:
    """Run the command and return the exit code."""
    try:
        options = parser().parse(arguments)
    except JavaError as error:
        sys.stderr.write(f"{error.logged()}\n")
        return 1
    action = _check(options)
    try:
        with connect(options, defaults={"client.id": "reassign-partitions-tool"}) as admin:
            _ACT[action](admin, options)
    except JavaError as error:
        sys.stdout.write(f"{_shown(error)}\n")
        return 1
    return 0


def _shown(error: JavaError) -> str:
    """Return the text of an error: with the class of the error if a broker has sent it, as Kafka's command
    prints it.
    """
    if error.name == "TerseException":
        return f"{error}"
    is_sent = error.package == PACKAGE and error.name != "InvalidReplicationFactorException"
    first, *_ = error.logged().split("\n")
    return f"Error: {first if is_sent else error}"


def _check(options: Options) -> str:
    """Return the action; end the command if the options do not fit (`validateAndParseArgs`)."""
    options.end_for_help()
    actions = [action for action in ACTIONS if options.has(action)]
    if len(actions) != 1:
        shown = ", ".join(f"--{action}" for action in ACTIONS)
        options.parser.fail(f"Command must include exactly one action: {shown}")
    (action,) = actions
    if not options.has("bootstrap-server"):
        options.parser.fail("Please specify --bootstrap-server")
    options.require(*_NEEDED[action])
    for name in options.given:
        if name not in (action, *_NEEDED[action], *_ALLOWED[action]):
            options.parser.fail(f'Option "[{name}]" can\'t be used with action "[{action}]"')
    return action


def _long(options: Options, name: str, default: int) -> int:
    return int(options.converted(name, lambda text: parse_integer(text, 64), default))


# Actions


def _list(admin: AdminClient, options: Options) -> None:
    found = sorted(reassignments(admin, None).items())
    if options.json:
        print_json(
            [
                {
                    "topic": topic,
                    "partition": index,
                    "replicas": row.replicas,
                    "adding": row.adding,
                    "removing": row.removing,
                }
                for (topic, index), row in found
            ]
        )
        return
    lines = ["Current partition reassignments:" if found else "No partition reassignments found."]
    for partition, row in found:
        line = f"{name_of(partition)}: replicas: {_joined(row.replicas)}."
        line += f" adding: {_joined(row.adding)}." if row.adding else ""
        line += f" removing: {_joined(row.removing)}." if row.removing else ""
        lines.append(line)
    sys.stdout.write("\n".join(lines) + "\n")


def _joined(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers))


def _rows(options: Options) -> list[Reassigned]:
    return parse_reassignment(read_text(options.value(_FILE)))


def _targets(rows: Iterable[Reassigned]) -> dict[directories.Replica, str]:
    """Return the replicas for which a reassignment names a directory."""
    return {
        directories.Replica(broker, row.topic, row.partition): path
        for row in rows
        for broker, path in zip(row.replicas, row.directories, strict=True)
        if path != ANY_DIRECTORY
    }


def _execute(admin: AdminClient, options: Options) -> None:
    rows = _rows(options)
    check_execution(rows)
    proposed = {(row.topic, row.partition): row.replicas for row in rows}
    targets = _targets(rows)
    ongoing = reassignments(admin, None)
    if ongoing and not options.has("additional"):
        raise _terse(_EXISTING)
    known = admin.cluster().nodes
    unknown = [broker for replicas in proposed.values() for broker in replicas if broker not in known]
    if unknown:
        raise command_failed(f"Unknown broker id {unknown[0]}")
    current = current_replicas(admin, proposed)
    sys.stdout.write(
        f"Current partition replica assignment\n\n{write_reassignment(current)}\n\n"
        "Save this to use as the --reassignment-json-file option during rollback\n"
    )
    rate = _long(options, "throttle", -1)
    directory_rate = _long(options, "replica-alter-log-dirs-throttle", -1)
    if rate >= 0 or directory_rate >= 0:
        sys.stdout.write(f"{_VERIFY}\n")
    if rate >= 0:
        throttles.throttle_moves(admin, throttles.moves(ongoing, proposed, current), rate)
    if directory_rate >= 0:
        throttles.throttle_directories(admin, sorted({each.broker for each in targets}), directory_rate)
    if errors := _alter(admin, proposed):
        raise _terse(_error_text("Error reassigning partition(s):", errors))
    plural = "" if len(proposed) == 1 else "s"
    names = ",".join(map(name_of, sorted(proposed)))
    sys.stdout.write(f"Successfully started partition reassignment{plural} for {names}\n")
    if targets:
        directories.move_replicas(admin, targets, _long(options, "timeout", _TIMEOUT_MS))


def _terse(text: str) -> JavaError:
    return JavaError("TerseException", text)


def _error_text(head: str, errors: dict[TopicPartition, JavaError]) -> str:
    return "\n".join([head, *(f"{name_of(each)}: {error}" for each, error in sorted(errors.items()))])


def _alter(
    admin: AdminClient, wanted: dict[TopicPartition, list[int]] | dict[TopicPartition, None]
) -> dict[TopicPartition, JavaError]:
    """Start reassignments, or cancel those whose replicas are None; return the errors."""
    topics = [
        AlterPartitionReassignmentsRequest.ReassignableTopic(
            topic,
            [
                AlterPartitionReassignmentsRequest.ReassignablePartition(index, wanted[topic, index])
                for index in indexes
            ],
        )
        for topic, indexes in by_topic(wanted)
    ]
    request = AlterPartitionReassignmentsRequest(topics=topics)
    response = admin.ask(request, CONTROLLER, name="alterPartitionReassignments")
    raise_for(response.error_code, response.error_message)
    return {
        (topic.name, row.partition_index): error_of_code(row.error_code, row.error_message)
        for topic in response.responses
        for row in topic.partitions
        if row.error_code
    }


def _verify(admin: AdminClient, options: Options) -> None:
    rows = sorted(_rows(options), key=lambda row: (row.topic, row.partition))
    ongoing = reassignments(admin, None)
    present = {(row.topic, row.partition): _replicas(admin, (row.topic, row.partition)) for row in rows}
    targets = _targets(rows)
    found = directories.find_directories(admin, targets)
    is_moving = any(place.current is None or place.future is not None for place in found.values())
    moves = directories.describe_moves(targets, found)
    if options.json:
        states = [
            {
                "topic": row.topic,
                "partition": row.partition,
                "isOngoing": (row.topic, row.partition) in ongoing,
                "replicas": present[row.topic, row.partition],
                "target": row.replicas,
            }
            for row in rows
        ]
        print_json({"partitions": states, "directories": moves})
        return
    lines = ["Status of partition reassignment:", *(_state(row, ongoing, present) for row in rows)]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.write("\n".join(moves) + "\n")
    if not ongoing and not is_moving and not options.has("preserve-throttles"):
        _clear(admin, rows)


def _state(row: Reassigned, ongoing: Container[TopicPartition], present: Replicas) -> str:
    partition = row.topic, row.partition
    if partition in ongoing:
        return f"Reassignment of partition {name_of(partition)} is still in progress."
    if present[partition] == row.replicas:
        return f"Reassignment of partition {name_of(partition)} is completed."
    return (
        f"There is no active reassignment of partition {name_of(partition)}, but replica set is "
        f"{_joined(present[partition])} rather than {_joined(row.replicas)}."
    )


def _replicas(admin: AdminClient, partition: TopicPartition) -> list[int]:
    """Return the replicas of a partition; an empty list if the partition does not exist."""
    topic, index = partition
    try:
        (described,) = describe_topics(admin, [topic])
    except JavaError as error:
        if error.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise
        return []
    return next((each.replicas for each in described.partitions if each.index == index), [])


def _clear(admin: AdminClient, rows: Iterable[Reassigned]) -> None:
    brokers = {*admin.cluster().nodes, *(broker for row in rows for broker in row.replicas)}
    throttles.clear_throttles(admin, brokers, {row.topic for row in rows})


def _cancel(admin: AdminClient, options: Options) -> None:
    rows = _rows(options)
    ongoing = reassignments(admin, dict(by_topic((row.topic, row.partition) for row in rows)))
    if ongoing:
        if errors := _alter(admin, dict.fromkeys(ongoing)):
            plural = "" if len(errors) == 1 else "s"
            raise _terse(_error_text(f"Error cancelling partition reassignment{plural} for:", errors))
        plural = "" if len(ongoing) == 1 else "s"
        names = ",".join(map(name_of, sorted(ongoing)))
        sys.stdout.write(f"Successfully cancelled partition reassignment{plural} for: {names}\n")
    else:
        sys.stdout.write("None of the specified partition reassignments are active.\n")
    found = directories.find_directories(admin, _targets(rows))
    moving = {each: place.current for each, place in found.items() if place.future and place.current}
    if moving:
        directories.move_replicas(admin, moving, _long(options, "timeout", _TIMEOUT_MS))
    else:
        sys.stdout.write("None of the specified partition moves are active.")
    if not options.has("preserve-throttles"):
        _clear(admin, rows)


_ACT: Final = {
    "list": _list,
    "generate": placing.generate,
    "execute": _execute,
    "verify": _verify,
    "cancel": _cancel,
}
