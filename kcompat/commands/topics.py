"""`kcompat topics`: create, list, describe, alter and delete topics. Kafka's counterpart: `TopicCommand`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from kcompat.admin import topics
from kcompat.admin.errors import JavaError
from kcompat.commands.connecting import connect
from kcompat.commands.options import OptionParser, illegal, no_number
from kcompat.commands.output import error_stream, log_error, print_failure, print_json
from kcompat.commands.topic_names import insist, matching
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.admin.client import AdminClient
    from kcompat.commands.options import Options

LOGGER: Final = "org.apache.kafka.tools.TopicCommand"

ACTIONS: Final = ("create", "list", "alter", "describe", "delete")
REPORTS: Final = (
    "under-replicated-partitions",
    "under-min-isr-partitions",
    "at-min-isr-partitions",
    "unavailable-partitions",
)
_TO_CONFIGS: Final = (
    " (the kafka-configs CLI supports altering topic configs with a --bootstrap-server option)"
)
MOST_REPLICAS: Final = 32767


def parser() -> OptionParser:
    """Return the parser of the command."""
    made = OptionParser("This tool helps to create, delete, describe, or change a topic.")
    made.accepts_connection()
    made.accepts_output()
    made.accepts("list", "List all available topics.")
    made.accepts("create", "Create a new topic.")
    made.accepts("delete", "Delete a topic.")
    made.accepts("alter", f"Alter the number of partitions and replica assignment.{_TO_CONFIGS}")
    made.accepts("describe", "Show details of topics.")
    made.accepts("topic", "The topic; except for --create also a regular expression.", "topic")
    made.accepts("topic-id", "The id of the topic to describe.", "topic-id")
    made.accepts("config", "With --create: a config of the topic; may be repeated.", "name=value")
    made.accepts("delete-config", "No longer supported; deprecated since Kafka 4.0.", "name")
    made.accepts("partitions", "Number of partitions to create, or to have after --alter.", "# of partitions")
    made.accepts("replication-factor", "With --create: number of replicas of each partition.", "factor")
    made.accepts(
        "replica-assignment",
        "Brokers of each partition by hand.",
        "broker_id_for_part1_replica1 : broker_id_for_part1_replica2 , broker_id_for_part2_replica1 : ...",
    )
    made.accepts("under-replicated-partitions", "With --describe: only under-replicated partitions.")
    made.accepts("unavailable-partitions", "With --describe: only partitions whose leader is not available.")
    made.accepts("under-min-isr-partitions", "With --describe: only partitions with too small an ISR.")
    made.accepts("at-min-isr-partitions", "With --describe: only partitions with the smallest ISR allowed.")
    made.accepts("topics-with-overrides", "With --describe: only topics that have configs of their own.")
    made.accepts("if-exists", "With --alter, --delete, --describe: do nothing if there is no such topic.")
    made.accepts("if-not-exists", "With --create: do not fail if the topic exists.")
    made.accepts("exclude-internal", "With --list and --describe: leave out internal topics.")
    made.accepts("partition-size-limit-per-response", "Most partitions in one response.", "number")
    return made


def run(words: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    try:
        options = parser().parse(words)
        check(options)
        admin = connect(options)
    except JavaError as error:
        print_failure(error)
        return 1
    try:
        with admin:
            _ACT[next(action for action in ACTIONS if options.has(action))](admin, options)
    except JavaError as error:
        error_stream(is_json=options.json).write(f"Error while executing topic command : {error}\n")
        log_error(error, LOGGER)
        return 1
    return 0


def check(options: Options) -> None:
    """End the command if the options do not fit together (`TopicCommandOptions.checkArgs`)."""
    if not options.words:
        options.parser.fail("Create, delete, describe, or change a topic.")
    options.end_for_help()
    if sum(map(options.has, ACTIONS)) != 1:
        options.parser.fail(
            "Command must include exactly one action: --list, --describe, --create, --alter or --delete"
        )
    if not options.has("bootstrap-server"):
        raise illegal("--bootstrap-server must be specified")
    if options.has("describe") and options.has("if-exists"):
        _check_description(options)
    if not options.has("list") and not options.has("describe"):
        options.require("topic")
    if options.has("alter"):
        options.forbid_together(("bootstrap-server", "config"), ("alter",), _TO_CONFIGS)
        options.require("partitions")
    for name, allowed, more in _ONLY_WITH:
        options.forbid(name, (*(action for action in ACTIONS if action not in allowed), *more))
    if options.has("create"):
        options.forbid("replica-assignment", ("partitions", "replication-factor"))


_ONLY_WITH: Final = (
    ("config", ("alter", "create"), ()),
    ("partitions", ("alter", "create"), ()),
    ("replication-factor", ("create",), ()),
    ("replica-assignment", ("alter", "create"), ()),
    *((report, ("describe",), ("topics-with-overrides",)) for report in REPORTS),
    ("topics-with-overrides", ("describe",), REPORTS),
    ("if-exists", ("alter", "delete", "describe"), ()),
    ("if-not-exists", ("create",), ()),
    ("exclude-internal", ("list", "describe"), ()),
)
"""Options, the actions that they go with, and further options that they do not go with."""


def _check_description(options: Options) -> None:
    if not options.has("topic") and not options.has("topic-id"):
        options.parser.fail("--topic or --topic-id is required to describe a topic")
    if options.has("topic") and options.has("topic-id"):
        sys.stdout.write(
            "Only topic id will be used when both --topic and --topic-id are specified and topicId is not "
            "Uuid.ZERO_UUID\n"
        )


# Actions


def _list(admin: AdminClient, options: Options) -> None:
    names = _topics(admin, options)
    if options.json:
        print_json(names)
    else:
        sys.stdout.write("\n".join(names) + "\n")


def _topics(admin: AdminClient, options: Options) -> list[str]:
    internal = not options.has("exclude-internal")
    return matching(topics.list_topics(admin, internal=internal), options.value("topic"), internal=internal)


def _create(admin: AdminClient, options: Options) -> None:
    name = options.value("topic")
    if "_" in name or "." in name:
        sys.stdout.write(
            "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') "
            "could collide. To avoid issues it is best to use either, but not both.\n"
        )
    partitions, replication = options.number("partitions"), options.number("replication-factor")
    assignment = replica_assignment(options.value("replica-assignment") or "")
    configs = _configs(options.values("config"))
    if replication is not None and not 1 <= replication <= MOST_REPLICAS:
        raise illegal(f"The replication factor must be between 1 and {MOST_REPLICAS} inclusive")
    if partitions is not None and partitions < 1:
        raise illegal("The partitions must be greater than 0")
    try:
        topics.create_topic(admin, name, partitions or -1, replication or -1, assignment, configs)
    except JavaError as error:
        if error.code is ErrorCode.TOPIC_ALREADY_EXISTS and options.has("if-not-exists"):
            return
        raise
    sys.stdout.write(f"Created topic {name}.\n")


def _configs(pairs: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in pairs:
        parts = [part.strip() for part in pair.split("=")]
        while parts and not parts[-1]:  # `String.split` drops empty parts at the end
            parts.pop()
        if len(parts) != 2:
            raise illegal(
                "requirement failed: Invalid topic config: all configs to be added must be in the format "
                '"key=val".'
            )
        found[parts[0]] = parts[1]
    return found


def replica_assignment(text: str) -> dict[int, list[int]]:
    """Return the brokers of each partition in a `--replica-assignment`. Raises JavaError."""
    if not text:
        return {}
    found: dict[int, list[int]] = {}
    for index, brokers in enumerate(text.split(",")):
        try:
            ids = [int(each) for each in brokers.split(":")]
        except ValueError:
            bad = next(each.strip() for each in brokers.split(":") if not each.strip().isdecimal())
            raise no_number(bad) from None
        twice = [each for each in dict.fromkeys(ids) if ids.count(each) > 1]
        if twice:
            raise JavaError(
                "AdminCommandFailedException",
                "Partition replica lists may not contain duplicate entries: " + ",".join(map(str, twice)),
                package="org.apache.kafka.server.common.",
            )
        found[index] = ids
        if len(ids) != len(found[0]):
            raise JavaError(
                "AdminOperationException",
                f"Partition {index} has different replication factor: {ids}",
                package="org.apache.kafka.server.common.",
            )
    return found


def _alter(admin: AdminClient, options: Options) -> None:
    found = _topics(admin, options)
    insist(found, options)
    if not found:
        return
    count = options.number("partitions")
    assignment = replica_assignment(options.value("replica-assignment") or "")
    new: dict[str, list[list[int]]] = {}
    if assignment:
        new = {
            each.name: [replicas for index, replicas in assignment.items() if index >= len(each.partitions)]
            for each in topics.describe_topics(admin, found)
        }
    topics.create_partitions(admin, dict.fromkeys(found, count), new)


def _delete(admin: AdminClient, options: Options) -> None:
    found = _topics(admin, options)
    insist(found, options)
    topics.delete_topics(admin, found)


def _describe(admin: AdminClient, options: Options) -> None:
    from kcompat.commands import topic_descriptions

    topic_descriptions.describe(admin, options, _topics)


_ACT: Final[dict[str, Any]] = {
    "create": _create,
    "list": _list,
    "alter": _alter,
    "describe": _describe,
    "delete": _delete,
}
