"""The `kcompat` command itself: the streams of its caller, and what it imports."""

from __future__ import annotations

import signal
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


def test_ctrl_c_during_imports_prints_nothing() -> None:
    code = (
        "import os, signal, sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'kcompat.cli.main':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from kcompat.__main__ import run\n"
        "sys.exit(run())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")
