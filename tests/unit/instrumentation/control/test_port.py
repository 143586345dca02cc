"""The libraries of a control port: named where they are missing, not imported where there is no port."""

from __future__ import annotations

import subprocess
import sys


def test_without_the_libraries_a_sentence_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['starlette'] = None\n"
        "from kcompat import Broker\n"
        "Broker(control_port=0).start()\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.stderr.splitlines()[-1] == (
        "kcompat.errors.UsageError: a control port needs libraries for HTTP: pip install 'kcompat[http]'"
    )


def test_a_broker_without_a_control_port_does_not_import_them() -> None:
    program = "import sys, kcompat.cli.start\nfrom kcompat import Broker\nwith Broker(): print(*sys.modules)"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not {"starlette", "uvicorn", "kcompat.instrumentation.control"} & set(ended.stdout.split())
