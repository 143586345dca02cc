"""JSON files of elections and reassignments are read and refused as Kafka's commands do."""

from __future__ import annotations

import json

import pytest

from kcompat.admin.errors import JavaError
from kcompat.commands import json_files
from kcompat.commands.json_files import Reassigned


def _reassignment(*rows: dict[str, object]) -> list[Reassigned]:
    return json_files.parse_reassignment(json.dumps({"version": 1, "partitions": rows}))


def test_reassignment_is_read() -> None:
    rows = _reassignment(
        {"topic": "t", "partition": 0, "replicas": [1, 2]},
        {"topic": "t", "partition": 1, "replicas": [1], "log_dirs": ["/data"]},
    )
    assert rows == [Reassigned("t", 0, [1, 2], ["any", "any"]), Reassigned("t", 1, [1], ["/data"])]
    json_files.check_execution(rows)


def test_written_reassignment_is_read_back() -> None:
    text = json_files.write_reassignment({("u", 0): [3], ("t", 1): [1, 2]})
    assert text.startswith(
        '{"version":1,"partitions":[{"topic":"t","partition":1,"replicas":[1,2],"log_dirs":'
    )
    assert [row.replicas for row in json_files.parse_reassignment(text)] == [[1, 2], [3]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", "The reassignment is not JSON: "),
        ("[" * 100_000, "The reassignment is not JSON: too many brackets are open"),
        (
            '{"partitions": [{"topic": "t", "partition": 2147483648}]}',
            "The field `partition` cannot be read: ",
        ),
        (
            '{"partitions": [{"topic": "t", "partition": 0, "replicas": [2147483648]}]}',
            "The field `replicas` cannot be read: ",
        ),
        ('{"version": 9}', "Not supported version field value 9"),
        ("[]", "Expected JSON object, received []"),
        ('{"partitions": [{"topic": "t", "replicas": [1]}]}', "No such field exists: `partition`"),
        ('{"partitions": [{"topic": "t", "partition": "x"}]}', "The field `partition` cannot be read: "),
        (
            '{"partitions": [{"topic": "t", "partition": 0, "replicas": [1], "log_dirs": ["/a", "/b"]}]}',
            "Size of replicas list [1] is different from size of log dirs list [/a, /b] for partition t-0",
        ),
    ],
)
def test_text_that_is_no_reassignment_is_refused(text: str, message: str) -> None:
    with pytest.raises(JavaError) as caught:
        json_files.parse_reassignment(text)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "Partition reassignment list cannot be empty"),
        ([Reassigned("t", 0, [], [])], "Partition replica list cannot be empty"),
        (
            [Reassigned("t", 0, [1], ["any"])] * 2,
            "Partition reassignment contains duplicate topic partitions: t-0",
        ),
        (
            [Reassigned("t", 0, [1, 1], ["any"] * 2), Reassigned("t", 1, [2, 2], ["any"] * 2)],
            "Partition replica lists may not contain duplicate entries: "
            "t-0 contains multiple entries for 1. t-1 contains multiple entries for 2",
        ),
    ],
)
def test_reassignment_that_cannot_be_is_refused(rows: list[Reassigned], message: str) -> None:
    with pytest.raises(JavaError) as caught:
        json_files.check_execution(rows)
    assert str(caught.value) == message


def test_elections_name_partitions() -> None:
    text = '{"partitions": [{"topic": "t", "partition": 1}, {"topic": "u", "partition": 0}]}'
    assert json_files.parse_elections(text) == [("t", 1), ("u", 0)]
    assert json_files.parse_topics('{"topics": [{"topic": "t"}]}') == ["t"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "Replica election data is empty"),
        ("{}", 'Replica election data is missing "partitions" field'),
        (
            '{"partitions": [{"topic": "t", "partition": 1}, {"topic": "t", "partition": 1}]}',
            "Replica election data contains duplicate partitions: [t-1]",
        ),
    ],
)
def test_text_that_names_no_elections_is_refused(text: str, message: str) -> None:
    with pytest.raises(JavaError) as caught:
        json_files.parse_elections(text)
    assert str(caught.value) == message
