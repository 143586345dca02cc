"""The `kcompat` command, also as `python -m kcompat`."""

from __future__ import annotations

import signal
import sys


def run() -> int:
    """Run the command and return the exit code.

    Ctrl-C before the modules are imported ends the process without a stack trace, which would say nothing.
    """
    has_handler = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not where SIGINT is ignored
    if has_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from kcompat.cli.main import main  # late: see above

    if has_handler:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return main()


if __name__ == "__main__":
    sys.exit(run())
