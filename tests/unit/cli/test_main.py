"""The `kcompat` command itself: the streams of its caller, and what it imports."""

from __future__ import annotations

import subprocess
import sys


def test_kafkas_commands_do_not_import_argparse() -> None:
    code = (
        "import sys; from kcompat.cli.main import main; main(['topics', '--version']); "
        "print('argparse' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1:] == ["False"]


def test_it_runs_without_standard_streams() -> None:
    command = 'exec "$0" -m kcompat --version <&- >&- 2>&-'
    assert subprocess.run(["sh", "-c", command, sys.executable], check=False).returncode == 0
