"""`kcompat console-consumer`: print the records of topics, as `kafka-console-consumer` does."""

from __future__ import annotations

import random
import signal
import sys
import time
from typing import TYPE_CHECKING, Final

from kcompat.admin.errors import JavaError, timed_out
from kcompat.admin.offsets import At
from kcompat.admin.waiting import StoppedError, closing, stopped_by
from kcompat.commands.console.clients import (
    accept_client,
    client_properties,
    complain,
    connect_client,
    file_properties,
    key_values,
    log_failure,
)
from kcompat.commands.console.consumer import Consumer
from kcompat.commands.console.consumer_protocol import ConsumerMembership
from kcompat.commands.console.consumer_settings import ConsumerSettings
from kcompat.commands.console.formats import DEFAULT, OLD_NAMES, JsonFormatter, formatter_named
from kcompat.commands.console.membership import Membership
from kcompat.commands.console.topic_view import TopicView
from kcompat.commands.options import CommandExit, OptionParser
from kcompat.config.java_text import parse_integer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.commands.console.consumed import Consumed
    from kcompat.commands.console.formats import Formatter
    from kcompat.commands.options import Options

PURPOSE: Final = "This tool helps to read data from Kafka topics and outputs it to standard output."
LOGGER: Final = "org.apache.kafka.tools.consumer.ConsoleConsumer"

_GROUPS: Final = 100_000
_RESET: Final = "auto.offset.reset"


def parser() -> OptionParser:
    """Return the parser of the command line."""
    found = OptionParser(PURPOSE)
    found.accepts("topic", "The topic to read.", "topic")
    found.accepts("include", "Pattern of the names of topics to read.", "regex")
    found.accepts(
        "partition", "The only partition to read; from its end, unless --offset is given.", "partition"
    )
    found.accepts(
        "offset", "Where to begin in the partition: an offset, earliest or latest (default).", "offset"
    )
    found.accepts("from-beginning", "Begin with the first records unless the group has committed offsets.")
    found.accepts("max-messages", "End after so many records.", "number")
    found.accepts("timeout-ms", "End when no record has come for so long.", "ms")
    found.accepts("skip-message-on-error", "Go on after a record that cannot be printed.")
    found.accepts("group", "The consumer group to be a member of.", "group")
    found.accepts("isolation-level", "read_uncommitted (default) or read_committed.", "level")
    accept_client(found, "consumer")
    found.accepts(
        "formatter",
        "Class of org.apache.kafka.tools.consumer that prints records, with its package (default: "
        "DefaultMessageFormatter).",
        "class",
    )
    found.accepts(
        "property|formatter-property",
        "Property of the formatter, as key=value: print.timestamp, print.key, print.offset, print.partition, "
        "print.headers, print.value, key.separator, line.separator, headers.separator, null.literal, "
        "key.deserializer, value.deserializer, headers.deserializer.",
        "key=value",
    )
    found.accepts("formatter-config", "Properties file of the formatter.", "file")
    found.accepts("key-deserializer", "Class that turns keys into text.", "class")
    found.accepts("value-deserializer", "Class that turns values into text.", "class")
    found.accepts_output()
    found.accepts("enable-systest-events", "Say on standard output when the consumer has ended.")
    return found


def run(arguments: Sequence[str]) -> int:
    """Run the command and return the exit code."""
    options = _parse(arguments)
    try:
        properties = _properties(options)
        start = _start(options)
        formatter = _formatter(options)
    except JavaError as error:
        complain(error.logged())
        return 1
    try:
        return _consume(options, properties, start, formatter)
    except JavaError as error:
        log_failure("Unknown error when running consumer: ", LOGGER, error)
        return 1


def _parse(arguments: Sequence[str]) -> Options:
    accepted = parser()
    try:
        options = accepted.parse(arguments)
        options.end_for_help(no_words=False)
        partition = options.number("partition")
    except JavaError as error:
        accepted.fail(str(error))
    if options.has("topic") == options.has("include"):
        accepted.fail("Exactly one of --include/--topic is required. ")
    if partition is not None:
        if not options.has("topic"):
            accepted.fail("The topic is required when partition is specified.")
        if options.has("from-beginning") and options.has("offset"):
            accepted.fail("Options from-beginning and offset cannot be specified together.")
    elif options.has("offset"):
        accepted.fail("The partition is required when offset is specified.")
    options.require("bootstrap-server")
    return options


def _properties(options: Options) -> dict[str, str]:
    """Return the settings of the consumer. Raises JavaError for a file that cannot be read."""
    from_file = file_properties(options, "consumer.config")
    found = client_properties(options, "consumer")
    groups = {each["group.id"]: None for each in (from_file, found) if "group.id" in each}
    if options.has("group"):
        groups = {options.value("group"): None, **groups}
    if len(groups) > 1:
        shown = ", ".join(f"'{group}'" for group in groups)
        options.parser.fail(
            "The group ids provided in different places (directly using '--group', "
            f"via '--consumer-property', or via '--consumer.config') do not match. "
            f"Detected group ids: {shown}"
        )
    if groups and options.has("partition"):
        options.parser.fail("Options group and partition cannot be specified together.")
    _set_reset(found, is_from_beginning=options.has("from-beginning"))
    found["bootstrap.servers"] = options.value("bootstrap-server")
    found.setdefault("client.id", "console-consumer")
    if options.has("isolation-level"):
        found["isolation.level"] = options.value("isolation-level")
    if groups:
        (found["group.id"],) = groups
    else:
        found["group.id"] = f"console-consumer-{random.randrange(_GROUPS)}"  # noqa: S311
        found.setdefault("enable.auto.commit", "false")
    return found


def _set_reset(properties: dict[str, str], *, is_from_beginning: bool) -> None:
    """Set `auto.offset.reset`, the start without a committed offset, unless a property sets it."""
    chosen = properties.setdefault(_RESET, "earliest" if is_from_beginning else "latest")
    if is_from_beginning and chosen != "earliest":
        complain(
            f"Can't simultaneously specify --from-beginning and '{_RESET}={chosen}', please remove one option"
        )
        raise CommandExit(1)


def _start(options: Options) -> int:
    """Return the offset to start a partition at, or one of `At`."""
    text = options.value("offset")
    if text is None:
        return At.EARLIEST if options.has("from-beginning") else At.LATEST
    known = {"earliest": At.EARLIEST, "latest": At.LATEST}.get(text.lower())
    if known is not None:
        return known
    try:
        offset = parse_integer(text, 64)
    except ValueError:
        offset = -1
    if offset < 0:
        options.parser.fail(
            f"The provided offset value '{text}' is incorrect. "
            "Valid values are 'earliest', 'latest', or a non-negative long."
        )
    return offset


def _formatter(options: Options) -> Formatter:
    if options.json and options.has("formatter"):
        options.parser.fail("--output json prints each record as one JSON object: leave --formatter out")
    name = options.value("formatter", DEFAULT)
    if name in OLD_NAMES:
        complain(
            f"WARNING: {name} is deprecated and will be removed in the next major release. "
            f"Please use {OLD_NAMES[name]} instead"
        )
    properties = file_properties(options, "formatter-config")
    for part in ("key", "value"):
        if options.value(f"{part}-deserializer"):
            properties[f"{part}.deserializer"] = options.value(f"{part}-deserializer")
    properties |= key_values(options.values("property"))
    found = JsonFormatter(properties) if options.json else formatter_named(name, properties)
    if found is None:
        options.parser.fail(name)
    return found


def _consume(options: Options, properties: dict[str, str], start: int, formatter: Formatter) -> int:
    """Print records until the end of the command. Raises JavaError if no records can be requested."""
    printer = _Printer(options, formatter)
    settings = ConsumerSettings.of(properties)
    with connect_client(properties, "consumer") as admin:
        who = f"Consumer clientId={settings.client_id}, groupId={settings.group.group_id}"
        names = [] if options.has("include") else [options.value("topic")]
        topics = TopicView(admin, who, names, options.value("include"))
        kind = ConsumerMembership if settings.uses_kip_848 else Membership
        group = None if options.has("partition") else kind(admin, topics, settings.group)
        consumer = Consumer(admin, topics, settings, group)
        if options.has("partition"):
            consumer.assign((options.value("topic"), options.number("partition")), start)
        with stopped_by(signal.SIGINT, signal.SIGTERM):
            try:
                return printer.print_all(consumer)
            finally:
                with closing():
                    consumer.close()
                complain(f"Processed a total of {printer.count} messages")
                if options.has("enable-systest-events"):
                    sys.stdout.write("shutdown_complete\n")


class _Printer:
    """Prints and counts the records of one command on standard output."""

    def __init__(self, options: Options, formatter: Formatter) -> None:
        """Prepare the output. Raises JavaError for numbers that cannot be read."""
        self.count = 0
        self._format = formatter
        self._skips_errors = options.has("skip-message-on-error")
        self._most = -1
        self._timeout_s = float("inf")
        try:
            self._most = options.number("max-messages", -1)
        except JavaError:
            complain("Processed a total of 0 messages")
            raise
        timeout_ms = options.number("timeout-ms", -1)
        if timeout_ms >= 0:
            self._timeout_s = timeout_ms / 1000

    def print_all(self, consumer: Consumer) -> int:
        """Print records until there are enough, no more arrive in time, or the process is told to end.

        Returns:
            The exit code. Raises JavaError for a record that cannot be printed.
        """
        while self.count != self._most:
            try:
                records = consumer.poll(time.monotonic() + self._timeout_s)
                if not records:
                    raise timed_out("")
            except StoppedError as stopped:
                return stopped.code
            except JavaError as error:
                log_failure("Error processing message, terminating consumer process: ", LOGGER, error)
                return 0
            try:
                self._print(records, consumer)
            except BrokenPipeError:
                complain("Unable to write to standard out, closing consumer.")
                raise
        return 0

    def _print(self, records: list[Consumed], consumer: Consumer) -> None:
        """Print records, at most as many as are left of `--max-messages`."""
        count = len(records) if self._most < 0 else min(len(records), self._most - self.count)
        pieces: list[bytes] = []
        try:
            for record in records[:count]:
                try:
                    self.count += 1
                    pieces.append(self._format(record))
                except JavaError as error:
                    if not self._skips_errors:
                        raise
                    log_failure("Error processing message, skipping this message: ", LOGGER, error)

        finally:
            sys.stdout.buffer.write(b"".join(pieces))
            sys.stdout.buffer.flush()
        consumer.gave(count, records)
