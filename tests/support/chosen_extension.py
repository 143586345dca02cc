"""Which of an extension and its twin a new process uses."""

from __future__ import annotations

import os
import subprocess
import sys


def chosen(extension: str, code: str, wanted: str, *, missing: bool = False) -> str:
    """What `code` prints in a process with KCOMPAT_NATIVE=`wanted`, without `extension` if that is `missing`:
    the last line, or that of its complaint.
    """
    hide = f"import sys; sys.modules[{extension!r}] = None\n" if missing else ""
    answer = subprocess.run(
        [sys.executable, "-c", hide + code],
        env=os.environ | {"KCOMPAT_NATIVE": wanted},
        capture_output=True,
        text=True,
        check=False,
    )
    return (answer.stdout or answer.stderr).strip().splitlines()[-1]
