"""Files named like Kafka's scripts that run kcompat's commands."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from kcompat.cli.main import main
from kcompat.commands.table import COMMANDS

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_each_command_has_two_files_that_run_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install-shims", str(tmp_path / "bin")]) == 0
    assert "each with and without .sh" in capsys.readouterr().out
    names = {path.name for path in (tmp_path / "bin").iterdir()}
    assert names == {f"kafka-{name}{end}" for name in COMMANDS for end in ("", ".sh")}
    assert all(os.access(path, os.X_OK) for path in (tmp_path / "bin").iterdir())
    done = subprocess.run(
        [tmp_path / "bin" / "kafka-topics.sh", "--create", "--list"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("Command must include exactly one action")


def test_files_are_written_again_and_those_of_others_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["install-shims", str(tmp_path)]) == main(["install-shims", str(tmp_path)]) == 0
    (tmp_path / "kafka-topics").unlink()
    other = tmp_path / "kafka-topics.sh"
    other.write_text("#!/bin/sh\nexec java ...\n")
    assert main(["install-shims", str(tmp_path)]) == 1
    assert "is not a file of kcompat, and is kept" in capsys.readouterr().err
    assert other.read_text() == "#!/bin/sh\nexec java ...\n"
    assert not (tmp_path / "kafka-topics").exists()
