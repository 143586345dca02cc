"""Scripts by which shells complete commands and options."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from kcompat.cli.completion import completions
from kcompat.cli.main import main
from kcompat.cli.parser import build_parser
from kcompat.commands.table import COMMANDS


def test_every_command_is_completed_with_its_options() -> None:
    found = completions(build_parser())
    assert found[""].keys() == found.keys() - {""}
    assert found.keys() >= {"start", *COMMANDS}
    assert "--data-dir" in found["start"]
    assert found["topics"]["--list"] == "List all available topics."
    assert "cluster-id" in found["cluster"]
    assert "dump" in found["log"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    asked = (
        "COMP_WORDS=(kcompat get-o); COMP_CWORD=1; _kcompat; echo ${COMPREPLY[@]}\n"
        "COMP_WORDS=(kcompat topics --part); COMP_CWORD=2; _kcompat; echo ${COMPREPLY[@]}\n"
    )
    done = subprocess.run(["bash", "-c", script + asked], capture_output=True, text=True, check=True)
    assert done.stdout == "get-offsets\n--partitions --partition-size-limit-per-response\n"


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_every_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(name in script for name in COMMANDS)
    if shutil.which(shell) is not None:
        subprocess.run([shell, "-n"], input=script, text=True, check=True)
