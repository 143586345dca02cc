"""`kcompat delete-records`: delete records before an offset. Kafka's counterpart: `DeleteRecordsCommand`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kcompat.admin.errors import JavaError
from kcompat.admin.log_lines import log_line
from kcompat.admin.offsets import delete_records
from kcompat.commands.connecting import connect
from kcompat.commands.options import OptionParser
from kcompat.commands.output import print_failure, print_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.topics import TopicPartition


def parser() -> OptionParser:
    """Return the parser of the command."""
    made = OptionParser(
        "This tool helps to delete records of the given partitions down to the specified offset."
    )
    made.accepts_connection()
    made.accepts_output()
    made.accepts(
        "offset-json-file",
        'REQUIRED: JSON file with an offset for each partition: {"partitions": [{"topic": "foo", '
        '"partition": 1, "offset": 1}], "version": 1}. Offset -1 stands for the high watermark.',
        "file",
    )
    return made


def run(words: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    try:
        options = parser().parse(words)
        options.end_for_help()
        options.require("bootstrap-server", "offset-json-file")
        with connect(options) as admin:
            offsets = _offsets(options.value("offset-json-file"))
            if not options.json:
                sys.stdout.write("Executing records delete operation\nRecords delete operation completed:\n")
            found = delete_records(admin, offsets)
            client = f"[AdminClient clientId={admin.settings.client_id}]"
    except JavaError as error:
        print_failure(error)
        return 1
    rows = sorted(found.items())
    if options.json:
        print_json([_as_json(partition, result) for partition, result in rows])
        return 0
    for (topic, index), result in rows:
        if isinstance(result, JavaError) and result.code is not None:
            log_line(
                "ERROR",
                f"{client} DeleteRecords request for topic partition {topic}-{index} failed due to an "
                f"unexpected error {result.code.name}",
                "org.apache.kafka.clients.admin.internals.DeleteRecordsHandler",
            )
        shown = f"error: {result.logged()}" if isinstance(result, JavaError) else f"low_watermark: {result}"
        sys.stdout.write(f"partition: {topic}-{index}\t{shown}\n")
    return 0


def _as_json(partition: TopicPartition, result: int | JavaError) -> dict[str, Any]:
    topic, index = partition
    failed = isinstance(result, JavaError)
    return {
        "topic": topic,
        "partition": index,
        "lowWatermark": None if failed else result,
        "error": result.logged() if isinstance(result, JavaError) else None,
    }


def _offsets(path: str) -> dict[TopicPartition, int]:
    """Return the offsets in a file. Raises JavaError."""
    found: dict[TopicPartition, int] = {}
    twice: dict[TopicPartition, None] = {}
    for row in _rows(path):
        partition = _field(row, "topic", str), _field(row, "partition", int, bits=32)
        if partition in found:
            twice[partition] = None
        found[partition] = _field(row, "offset", int, bits=64)
    if twice:
        names = ",".join(f"{topic}-{index}" for topic, index in twice)
        raise _refusal("AdminCommandFailed", f"Offset json file contains duplicate topic partitions: {names}")
    return found


def _rows(path: str) -> list[Any]:
    import msgspec

    try:
        content = Path(path).read_bytes()
    except OSError as error:
        reason = JavaError("NoSuchFileException", path, package="java.nio.file.")
        if not isinstance(error, FileNotFoundError):
            reason = JavaError("IOException", f"{path}: {error.strerror}", package="java.io.")
        raise JavaError("IOException", f"Unable to read file {path}", package="java.io.") from reason
    try:
        value = msgspec.json.decode(content)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise _refusal("AdminOperation", "The input string is not a valid JSON") from None
    if not isinstance(value, dict):
        raise _mapping(f"Expected JSON object, received {_shown(value)}")
    version = value.get("version", 1)
    if version != 1:
        raise _refusal("AdminOperation", f"Not supported version field value {version}")
    if "partitions" not in value:
        raise _refusal("AdminOperation", "Missing partitions field")
    rows = value["partitions"]
    if not isinstance(rows, list):
        raise _mapping(f"Expected JSON array, received {_shown(rows)}")
    return rows


def _field(row: Any, name: str, kind: type, bits: int = 0) -> Any:
    """Return a field of a row, a number of at most `bits` bits. Raises JavaError."""
    if not isinstance(row, dict):
        raise _mapping(f"Expected JSON object, received {_shown(row)}")
    if name not in row:
        raise _mapping(f"No such field exists: `{name}`")
    value = row[name]
    is_number = kind is int and isinstance(value, int) and -(1 << bits) <= 2 * value < 1 << bits
    if isinstance(value, bool) or not (isinstance(value, kind) if kind is str else is_number):
        wanted = {"topic": "String", "partition": "Integer", "offset": "Long"}[name]
        raise _mapping(f"Expected `{wanted}` value, received {_shown(value)}")
    return value


def _shown(value: Any) -> str:
    import msgspec

    return msgspec.json.encode(value).decode()


def _refusal(kind: str, message: str) -> JavaError:
    return JavaError(f"{kind}Exception", message, package="org.apache.kafka.server.common.")


def _mapping(message: str) -> JavaError:
    return JavaError("JsonMappingException", message, package="com.fasterxml.jackson.databind.")
