from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys
from pathlib import Path
from kcompat.cli.process_title import hide, hide_settings
hide(["s3cret", ""])
hide_settings([("ssl.key.password", "0pen"), ("log.dirs", "/logs")])
print(Path("/proc/self/cmdline").read_bytes().split(b"\\0"), sys.argv[1:])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell where the command line is")
def test_a_secret_is_overwritten_for_other_programs_and_not_for_this_one() -> None:
    command = [sys.executable, "-c", PROGRAM, "alice:s3cret", "ssl.key.password=0pen", "log.dirs=/logs"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    shown = "b'alice:******', b'ssl.key.password=****', b'log.dirs=/logs', b'']"
    assert f"{shown} ['alice:s3cret', 'ssl.key.password=0pen', 'log.dirs=/logs']" in done.stdout
