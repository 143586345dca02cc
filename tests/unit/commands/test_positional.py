"""The command line as argparse4j reads it."""

from __future__ import annotations

import pytest

from kcompat.commands import cluster
from kcompat.commands.options import CommandExit


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "kafka-cluster: error: too few arguments"),
        (["nonsense"], "kafka-cluster: error: invalid choice: 'nonsense' (choose from "),
        (["cluster-id"], "one of the arguments --bootstrap-server/-b --bootstrap-controller/-C is required"),
        (["unregister", "-b", "localhost:1"], "error: argument --id/-i is required"),
        (
            ["unregister", "-b", "localhost:1", "-i", "x"],
            "argument --id/-i: could not convert 'x' to Integer (For input string: \"x\")",
        ),
    ],
)
def test_errors_are_worded_as_by_argparse4j(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(CommandExit) as end:
        cluster.run(words)
    assert end.value.code == 1
    assert message in capsys.readouterr().err


def test_help_goes_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CommandExit) as end:
        cluster.run(["--help"])
    assert end.value.code == 0
    assert "cluster-id" in capsys.readouterr().out
