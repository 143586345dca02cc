"""An embedded broker raises the limits of its process."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import resource
from kcompat import Broker
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard // 2, hard))
with Broker():
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
"""


def test_it_may_have_as_many_open_files_as_the_system_allows() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
