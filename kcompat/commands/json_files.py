"""JSON files of partitions that `kafka-reassign-partitions` and `kafka-leader-election` read.

Refusals are in the words of Kafka's commands, whose JSON library is Jackson.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, TypeVar

import msgspec

from kcompat.admin.errors import JavaError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcompat.topics import TopicPartition

ANY_DIRECTORY: Final = "any"
"""Text of a log directory that the broker chooses."""

_COMMON: Final = "org.apache.kafka.server.common."
_INT: TypeAlias = Annotated[int, msgspec.Meta(ge=-(1 << 31), lt=1 << 31)]
_Item = TypeVar("_Item", str, int, tuple[str, int])


class Reassigned(msgspec.Struct, frozen=True):
    """A row of a reassignment: the replicas that a partition is to have, with their directories or `any`."""

    topic: str
    partition: int
    replicas: list[int]
    directories: list[str]


def command_failed(message: str) -> JavaError:
    """Return Java's `AdminCommandFailedException`."""
    return JavaError("AdminCommandFailedException", message, package=_COMMON)


def operation_failed(message: str) -> JavaError:
    """Return Java's `AdminOperationException`."""
    return JavaError("AdminOperationException", message, package=_COMMON)


def read_text(path: str) -> str:
    """Return the text of a file. Raises JavaError if it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise JavaError("IOException", f"Unable to read file {path}", package="java.io.") from None


def parse(text: str) -> Any:
    """Return the value of a JSON text; None if the text is not JSON."""
    try:
        return decode(text)
    except ValueError:
        return None


def decode(text: str) -> Any:
    """Return the value of a JSON text. Raises ValueError with the reason if it is none."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise ValueError(f"{error}") from None
    except RecursionError:
        raise ValueError("too many brackets are open") from None


def parse_elections(text: str) -> list[TopicPartition]:
    """Return the partitions of an election. Raises JavaError for another text."""
    value = parse(text)
    if value is None:
        raise operation_failed("Replica election data is empty")
    rows = _object(value).get("partitions")
    if rows is None:
        raise operation_failed('Replica election data is missing "partitions" field')
    found = [(_field(row, "topic", str), _field(row, "partition", _INT)) for row in _list(rows)]
    if twice := duplicates(found):
        shown = ", ".join(f"{topic}-{index}" for topic, index in twice)
        raise operation_failed(f"Replica election data contains duplicate partitions: [{shown}]")
    return found


def parse_topics(text: str) -> list[str]:
    """Return the topics of `--topics-to-move-json-file`. Raises JavaError."""
    value = parse(text)
    if value is None:
        raise operation_failed("The input string is not a valid JSON")
    _check_version(value)
    return [_field(row, "topic", str) for row in _list(_object(value).get("topics", []))]


def parse_reassignment(text: str) -> list[Reassigned]:
    """Return the rows of `--reassignment-json-file`. Raises JavaError."""
    try:
        value = decode(text)
    except ValueError as error:
        raise operation_failed(f"The reassignment is not JSON: {error}") from None
    _check_version(value)
    found = []
    for row in _list(_object(value).get("partitions", [])):
        topic, index = _field(row, "topic", str), _field(row, "partition", _INT)
        replicas = _field(row, "replicas", list[_INT])
        directories = [ANY_DIRECTORY] * len(replicas)
        if "log_dirs" in row:
            directories = _field(row, "log_dirs", list[str])
        if len(replicas) != len(directories):
            raise command_failed(
                f"Size of replicas list {replicas} is different from size of log dirs list "
                f"[{', '.join(directories)}] for partition {topic}-{index}"
            )
        found.append(Reassigned(topic, index, replicas, directories))
    return found


def check_execution(rows: list[Reassigned]) -> None:
    """Raise JavaError unless a reassignment can be executed: it must not be empty or name anything twice."""
    if not rows:
        raise command_failed("Partition reassignment list cannot be empty")
    if not all(row.replicas for row in rows):
        raise command_failed("Partition replica list cannot be empty")
    if twice := duplicates((row.topic, row.partition) for row in rows):
        shown = ",".join(f"{topic}-{index}" for topic, index in twice)
        raise command_failed(f"Partition reassignment contains duplicate topic partitions: {shown}")
    repeated = [
        f"{row.topic}-{row.partition} contains multiple entries for {','.join(map(str, found))}"
        for row in rows
        if (found := duplicates(row.replicas))
    ]
    if repeated:
        raise command_failed(
            f"Partition replica lists may not contain duplicate entries: {'. '.join(repeated)}"
        )


def write_reassignment(replicas: dict[TopicPartition, list[int]]) -> str:
    """Return a reassignment as JSON, with directories that the brokers choose."""
    rows = [
        {
            "topic": topic,
            "partition": index,
            "replicas": brokers,
            "log_dirs": [ANY_DIRECTORY] * len(brokers),
        }
        for (topic, index), brokers in sorted(replicas.items())
    ]
    return msgspec.json.encode({"version": 1, "partitions": rows}).decode()


def duplicates(items: Iterable[_Item]) -> list[_Item]:
    """Return the items that occur more than once, each once, in order."""
    return [each for each, count in Counter(items).items() if count > 1]


def _check_version(value: Any) -> None:
    version = _object(value).get("version", 1)
    if version != 1:
        raise operation_failed(f"Not supported version field value {version}")


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _mapping_error(f"Expected JSON object, received {msgspec.json.encode(value).decode()}")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise _mapping_error(f"Expected JSON array, received {msgspec.json.encode(value).decode()}")
    return value


def _field(row: Any, name: str, kind: Any) -> Any:
    fields = _object(row)
    if name not in fields:
        raise _mapping_error(f"No such field exists: `{name}`")
    try:
        return msgspec.convert(fields[name], kind)
    except msgspec.ValidationError as error:
        raise _mapping_error(f"The field `{name}` cannot be read: {error}") from None


def _mapping_error(message: str) -> JavaError:
    return JavaError("JsonMappingException", message, package="com.fasterxml.jackson.databind.")
