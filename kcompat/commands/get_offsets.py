"""`kcompat get-offsets`: offsets of partitions at a time. Kafka's counterpart: `GetOffsetShell`."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Final

from kcompat.admin import topics
from kcompat.admin.errors import JavaError
from kcompat.admin.offsets import At, list_offsets
from kcompat.commands.connecting import connect
from kcompat.commands.options import OptionParser, terse
from kcompat.commands.output import print_failure, print_json
from kcompat.commands.topic_names import topic_pattern
from kcompat.topics import is_internal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from kcompat.commands.options import Options
    from kcompat.topics import TopicPartition

    Filter: TypeAlias = Callable[[TopicPartition], bool]

_RULE: Final = re.compile("([^:,]*)(?::(?:([0-9]*)|(?:([0-9]*)-([0-9]*))))?")
_SERVER: Final = re.compile(r".*?\[?[0-9a-zA-Z\-%._:]*\]?:[0-9]+")
_PURPOSE: Final = "An interactive shell for getting topic-partition offsets."


def parser() -> OptionParser:
    """Return the parser of the command."""
    made = OptionParser(_PURPOSE)
    made.accepts_connection()
    made.accepts_output()
    made.accepts("broker-list", "Deprecated: use --bootstrap-server.", "HOST1:PORT1,...,HOST3:PORT3")
    made.accepts(
        "topic-partitions",
        "Patterns of partitions: TOPIC, TOPIC:NUMBER, TOPIC:FROM-BEFORE, whose parts may be left out.",
        "topic1:1,topic2:0-3,topic3,topic4:5-,topic5:-3",
    )
    made.accepts("topic", "The topic, or a regular expression. Default: all topics.", "topic")
    made.accepts("partitions", "Numbers of partitions. Default: all.", "partition ids")
    made.accepts(
        "time",
        "Time of the offsets: latest (default), earliest, max-timestamp, earliest-local, latest-tiered, "
        "earliest-pending-upload, -1 to -6, or ms since 1970.",
        "timestamp",
    )
    made.accepts("exclude-internal-topics", "Leave out internal topics.")
    return made


def run(words: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    try:
        _run(words)
    except JavaError as error:
        if error.name == "TerseException" or error.package == "joptsimple.":
            sys.stderr.write(f"Error occurred: {error}\n")
        else:
            print_failure(error, "Error occurred: ")
        return 1
    return 0


def _run(words: Sequence[str]) -> None:
    made = parser()
    if not words:
        made.fail(_PURPOSE)
    options = made.parse(words)
    options.end_for_help()
    servers = _servers(options)
    if options.has("topic-partitions") and (options.has("topic") or options.has("partitions")):
        raise terse("--topic-partitions cannot be used with --topic or --partitions")
    at = _time(options.value("time", "latest"))
    is_wanted = _filter(options)
    with connect(options, servers, {"client.id": "GetOffsetShell"}) as admin:
        internal = not options.has("exclude-internal-topics")
        names = [
            name
            for name in topics.list_topics(admin, internal=internal)
            if _names_topic(options, name) and (internal or not is_internal(name))
        ]
        partitions = [
            (topic.name, each.index)
            for topic in (topics.describe_topics(admin, names) if names else [])
            for each in topic.partitions
            if is_wanted((topic.name, each.index))
        ]
        if not partitions:
            raise terse("Could not match any topic-partitions with the specified filters")
        found = list_offsets(admin, dict.fromkeys(partitions, at))
    rows = []
    for name, index in sorted(found, key=lambda each: f"{each[0]}-{each[1]}"):
        result = found[name, index]
        if isinstance(result, JavaError):
            sys.stderr.write(
                f"Skip getting offsets for topic-partition {name}-{index} due to error: {result.logged()}\n"
            )
        elif result.offset != -1:
            rows.append((name, index, result.offset))
    if options.json:
        print_json([{"topic": name, "partition": index, "offset": offset} for name, index, offset in rows])
    else:
        sys.stdout.write("".join(f"{name}:{index}:{offset}\n" for name, index, offset in rows))


def _servers(options: Options) -> str:
    servers: str | None = options.value("bootstrap-server") or options.value("broker-list")
    if servers is None:
        raise terse("Missing required option(s) [bootstrap-server]")
    if not all(_SERVER.fullmatch(each) for each in servers.split(",")):
        options.parser.fail("Please provide valid host:port like host1:9091,host2:9092\n")
    return servers


def _time(text: str) -> int:
    named = {each.name.lower().replace("_", "-"): each for each in At}
    if text in named:
        return named[text]
    try:
        return int(text)
    except ValueError:
        raise terse(
            f"Malformed time argument {text}. Please use -1 or latest / -2 or earliest / -3 or max-timestamp "
            "/ -4 or earliest-local / -5 or latest-tiered, or a specified long format timestamp"
        ) from None


def _names_topic(options: Options, name: str) -> bool:
    """Return whether `--topic` selects a topic; the rules of `--topic-partitions` are checked for each
    partition.
    """
    text = options.value("topic")
    return text is None or topic_pattern(text).fullmatch(name) is not None


def _filter(options: Options) -> Filter:
    """Return the test that partitions must pass. Raises JavaError."""
    if options.has("topic-partitions"):
        rules = [_rule(text) for text in options.value("topic-partitions").split(",")]
        return lambda partition: any(rule(partition) for rule in rules)
    text = options.value("partitions") or ""
    try:
        wanted = {int(each) for each in text.split(",")} if text else set()
    except ValueError:
        raise terse(
            f"--partitions expects a comma separated list of numeric partition ids, but received: {text}"
        ) from None
    return lambda partition: not wanted or partition[1] in wanted


def _rule(text: str) -> Filter:
    match = _RULE.fullmatch(text)
    if match is None:
        cause = terse(f"Invalid rule specification: {text}")
        message = f"org.apache.kafka.tools.TerseException: {cause}"
        raise JavaError("RuntimeException", message, package="java.lang.") from cause
    pattern = topic_pattern(match[1] or ".*")
    first, end = int(match[3] or 0), int(match[4]) if match[4] else None
    if match[2]:
        first, end = int(match[2]), int(match[2]) + 1
    return lambda partition: (
        pattern.fullmatch(partition[0]) is not None
        and partition[1] >= first
        and (end is None or partition[1] < end)
    )
