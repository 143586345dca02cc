"""`kcompat console-producer`: lines of standard input to a topic, as `kafka-console-producer` sends them."""

from __future__ import annotations

import re
import sys
from functools import partial
from typing import TYPE_CHECKING, Final, NoReturn

from kcompat.admin.errors import JavaError
from kcompat.commands.console.clients import (
    accept_client,
    client_properties,
    complain,
    connect_client,
    file_properties,
    key_values,
    log_failure,
)
from kcompat.commands.console.lines import LineReader, LineSource
from kcompat.commands.console.producer import ConsoleProducer
from kcompat.commands.console.producer_settings import ProducerSettings
from kcompat.commands.options import OptionParser

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.commands.options import Options

PURPOSE: Final = "This tool helps to read data from standard input and publish it to Kafka."
LINE_READERS: Final = (
    "kafka.tools.ConsoleProducer$LineMessageReader",
    "org.apache.kafka.tools.LineMessageReader",
)
"""Names of the only reader: before Kafka 4, and since then."""

_SETTINGS: Final = {
    "timeout": ("linger.ms", "1000"),
    "request-required-acks": ("acks", "-1"),
    "request-timeout-ms": ("request.timeout.ms", "1500"),
    "message-send-max-retries": ("retries", "3"),
    "retry-backoff-ms": ("retry.backoff.ms", "100"),
    "socket-buffer-size": ("send.buffer.bytes", "102400"),
    "max-memory-bytes": ("buffer.memory", str(32 << 20)),
    "batch-size": ("batch.size", "16384"),
    "max-partition-memory-bytes": ("batch.size", "16384"),
    "metadata-expiry-ms": ("metadata.max.age.ms", "300000"),
    "max-block-ms": ("max.block.ms", "60000"),
}
"""The key that each option sets, and the option's default, which applies if no property sets the key."""
_NUMBERS: Final = frozenset(_SETTINGS) - {"request-required-acks"}
_ADDRESSES: Final = re.compile(r"[^,\s]+:\d+(,[^,\s]+:\d+)*")
_CALLBACK: Final = "org.apache.kafka.clients.producer.internals.ErrorLoggingCallback"


def parser() -> OptionParser:
    """Return the parser of the command line."""
    found = OptionParser(PURPOSE)
    found.accepts("topic", "REQUIRED: The topic to write to.", "topic")
    accept_client(found, "producer")
    found.accepts("broker-list", "The old name of --bootstrap-server.", "server")
    found.accepts("sync", "Send each record at once, and wait for the broker.")
    found.accepts(
        "compression-codec", "none, gzip (if no codec is named), snappy, lz4 or zstd.", "codec", optional=True
    )
    found.accepts("batch-size", "Most bytes of a batch (default: 16384).", "bytes")
    found.accepts("max-partition-memory-bytes", "Most bytes of a batch; counts before --batch-size.", "bytes")
    found.accepts("message-send-max-retries", "How often a batch is sent again (default: 3).", "number")
    found.accepts("retry-backoff-ms", "Pause before a batch is sent again (default: 100).", "ms")
    found.accepts("timeout", "Longest time that a batch waits for more records (default: 1000).", "ms")
    found.accepts(
        "request-required-acks", "Which replicas have to write: 0, 1 or all (default: -1, all).", "acks"
    )
    found.accepts("request-timeout-ms", "How long a broker may take to answer (default: 1500).", "ms")
    found.accepts("metadata-expiry-ms", "Age at which metadata is asked for again.", "ms")
    found.accepts("max-block-ms", "How long to wait until the topic is there (default: 60000).", "ms")
    found.accepts(
        "max-memory-bytes", "Bytes of the largest record that is taken (default: 33554432).", "bytes"
    )
    found.accepts("socket-buffer-size", "Taken, without effect: the system sizes the buffer.", "bytes")
    found.accepts("line-reader", "The class that reads lines; kcompat has Kafka's own.", "class")
    found.accepts(
        "property|reader-property",
        "Property of the line reader, as key=value: parse.key, key.separator, parse.headers, "
        "headers.delimiter, headers.separator, headers.key.separator, null.marker, ignore.error.",
        "key=value",
    )
    found.accepts("reader-config", "Properties file of the line reader.", "file")
    return found


def run(arguments: Sequence[str]) -> int:
    """Run the command and return the exit code."""
    try:
        options = _parse(arguments)
        reader = _line_reader(options)
        properties = _properties(options)
        settings = ProducerSettings.of(properties)
        with connect_client(properties, "producer") as admin:
            topic = options.value("topic")
            failed = _raise if options.has("sync") else partial(_log, topic)
            producer = ConsoleProducer(admin, topic, settings, failed)
            _send_lines(reader, producer, LineSource(sys.stdin.fileno()), is_synchronous=options.has("sync"))
    except JavaError as error:
        is_of_options = error.package == "joptsimple."
        complain(str(error) if is_of_options else error.logged())
        return 1
    return 0


def _parse(arguments: Sequence[str]) -> Options:
    accepted = parser()
    try:
        options = accepted.parse(arguments)
    except JavaError as error:
        accepted.fail(str(error))
    if not any(map(options.has, ("help", "version", "bootstrap-server", "broker-list"))):
        accepted.fail("Missing required option(s) [bootstrap-server]")
    options.end_for_help(no_words=False)
    options.require("topic")
    if not _ADDRESSES.fullmatch(_servers(options)):
        accepted.fail("Please provide valid host:port like host1:9091,host2:9092\n ")
    for name in _NUMBERS:
        options.number(name)
    return options


def _servers(options: Options) -> str:
    return str(options.value("bootstrap-server", options.value("broker-list")))


def _line_reader(options: Options) -> LineReader:
    name = options.value("line-reader", LINE_READERS[0])
    if name not in LINE_READERS:
        raise JavaError("ClassNotFoundException", name, package="java.lang.")
    return LineReader(file_properties(options, "reader-config") | key_values(options.values("property")))


def _properties(options: Options) -> dict[str, str]:
    """Return the settings of the producer: options take precedence over properties, and properties over
    defaults.
    """
    found = client_properties(options, "producer")
    found.setdefault("client.id", "console-producer")
    found["bootstrap.servers"] = _servers(options)
    if options.has("compression-codec"):
        found["compression.type"] = options.value("compression-codec") or "gzip"
    for name, (key, default) in _SETTINGS.items():
        if options.has(name):
            found[key] = options.value(name)
        else:
            found.setdefault(key, default)
    return found


def _log(topic: str, key: int | None, value: int | None, error: JavaError) -> None:
    """Log a record that was not written."""
    shown = ["null" if size is None else f"{size} bytes" for size in (key, value)]
    text = f"Error when sending message to topic {topic} with key: {shown[0]}, value: {shown[1]} with error:"
    log_failure(text, _CALLBACK, error)


def _raise(_key: int | None, _value: int | None, error: JavaError) -> NoReturn:
    """End a synchronous producer at the first record that was not written."""
    first, *_ = error.logged().split("\n")
    raise JavaError("ExecutionException", first, package="java.util.concurrent.") from error


def _send_lines(
    reader: LineReader, producer: ConsoleProducer, source: LineSource, *, is_synchronous: bool
) -> None:
    """Send the records of all lines. Raises JavaError for a line that cannot be read."""
    prompts = sys.stdin.isatty() and sys.stdout.isatty()
    try:
        while not source.is_over:
            if prompts:
                sys.stdout.write(">")
                sys.stdout.flush()
            _await(source, producer)
            for line in source.read():
                producer.send(reader.read(line))
                if is_synchronous:
                    producer.flush()
            producer.send_due()
    finally:
        producer.flush()


def _await(source: LineSource, producer: ConsoleProducer) -> None:
    """Wait for input; meanwhile send batches that have waited for `linger.ms`, and receive responses."""
    if source.wait(0):
        return
    producer.settle()
    while not source.wait(producer.due_s()):
        producer.send_due()
        producer.settle()
