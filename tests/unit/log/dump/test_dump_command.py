"""`kcompat log dump` as a command: its lines, its exit code, and files that disappear."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

import pytest

from kcompat.cli.main import main
from kcompat.log.dump.rows import Row, as_json, as_text, damage

if TYPE_CHECKING:
    from pathlib import Path


def test_lines() -> None:
    row = Row("record", 61, {"offset": 5, "key": None, "value": "\x1b[31mred\nü\\", "headers": [["h", "x"]]})
    assert as_json("a/b", row) == (
        '{"file":"a/b","kind":"record","at":61,"offset":5,"key":null,'
        '"value":"\\u001b[31mred\\nü\\\\","headers":[["h","x"]]}'
    )
    assert as_text("a/b", row) == (
        '        61  record  offset: 5 key: null value: \\x1b[31mred\\nü\\\\ headers: [["h","x"]]'
    )
    assert as_text("a/b", damage(7, "torn")) == "         7  DAMAGE  a/b: torn"


@pytest.mark.leaves_damage("a torn tail is shown")
def test_the_command(partition: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", "dump", "--verify", "--quiet", str(partition)]) == 0
    assert capsys.readouterr().out == "15 files, 0 faults\n"
    log = next(partition.glob("*.log"))
    size = log.stat().st_size
    with log.open("ab") as file:
        file.write(b"\1" * 9)
    assert main(["log", "dump", "--quiet", "--json", str(partition)]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line) == {
        "file": str(log),
        "kind": "damage",
        "at": size,
        "message": "torn tail: the last 9 bytes are no whole batch",
    }
    assert main(["log", "dump", str(partition / "missing")]) == 2
    assert (
        capsys.readouterr().err == f"kcompat: {partition}/missing cannot be read: No such file or directory\n"
    )
    unknown = partition / "x.txt"
    unknown.touch()
    assert main(["log", "dump", str(unknown)]) == 2
    assert capsys.readouterr().err == f"kcompat: {unknown} is no file of a log, by its name\n"


@pytest.mark.leaves_damage("an index is emptied")
def test_a_file_that_a_broker_removes_meanwhile_is_passed_over(partition: Path) -> None:
    class WhileItPrints(io.StringIO):
        def write(self, text: str) -> int:
            gone.unlink(missing_ok=True)
            return super().write(text)

    gone = next(partition.glob("*.index"))
    with redirect_stdout(WhileItPrints()) as said:
        assert main(["log", "dump", str(partition)]) == 0
    assert said.getvalue().endswith("\n14 files, 0 faults\n")
    gone.touch()
    with redirect_stdout(WhileItPrints()):
        assert main(["log", "dump", str(gone)]) == 2, "it was asked for by its name"
