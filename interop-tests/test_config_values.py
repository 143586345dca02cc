"""The table of odd configuration values against the parsers of a Kafka 3.9.2, which it was taken from.

Run as a program it writes the table again: `python interop-tests/test_config_values.py`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Final

import pytest

from support.kafka_jars import jvm
from support.places import CACHE, REPOSITORY

TABLE: Final = REPOSITORY / "tests" / "unit" / "config" / "values_of_kafka.json"
PROGRAM: Final = REPOSITORY / "interop-tests" / "java" / "config" / "ReadValues.java"


def answers(questions: list[tuple[str, str]]) -> list[list[object]]:
    """Return what Kafka makes of texts of these types: "value" and the value, or "refused" and the reason."""
    done = subprocess.run(
        [*jvm("3.9.2"), str(PROGRAM)],
        input="".join(f"{kind}\t{escaped(text)}\n" for kind, text in questions),
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def escaped(text: str) -> str:
    """The text with \\uXXXX for each UTF-16 unit that is not plain ASCII."""
    units = text.encode("utf-16-be", "surrogatepass").hex(" ", 2).split()
    return "".join(
        chr(number) if 0x20 <= (number := int(unit, 16)) < 0x7F and number != 0x5C else f"\\u{unit}"
        for unit in units
    )


def test_kafka_reads_the_values_as_the_table_says() -> None:
    if shutil.which("javac") is None or not (CACHE / "kafka-3.9.2" / "libs").is_dir():
        pytest.skip("install a Java 17 JDK and run python interop-tests/fetch.py jars")
    rows = json.loads(TABLE.read_text())
    assert answers([(kind, text) for kind, text, *_ in rows]) == [row[2:] for row in rows]


def main() -> None:
    """Ask Kafka for every value of the table again, and write what it says."""
    questions = [(kind, text) for kind, text, *_ in json.loads(TABLE.read_text())]
    rows = [[*question, *answer] for question, answer in zip(questions, answers(questions), strict=True)]
    TABLE.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")


if __name__ == "__main__":
    main()
