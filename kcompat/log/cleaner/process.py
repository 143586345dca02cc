"""A cleaning in its own process: `python -m kcompat.log.cleaner.process LIFELINE`, run by the broker.

The job is read from standard input, reports are lines on standard output. LIFELINE is the descriptor of a
pipe that closes when the broker ends, however it ends. This process then ends too, since another broker may
take over the files.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time

import msgspec

from kcompat.log.cleaner.job import CleanJob
from kcompat.log.cleaner.run import run
from kcompat.log.files import FILES

_NICENESS = 10
"""Nice value of the cleaning process, so that the broker's clients get the processor first."""


def main() -> None:
    """Do the job given on standard input."""
    lifeline = int(sys.argv[1])
    threading.Thread(target=_die_with_broker, args=(lifeline,), daemon=True).start()
    with contextlib.suppress(OSError):
        os.nice(_NICENESS)
    job = msgspec.json.decode(sys.stdin.buffer.read(), type=CleanJob)
    encode = msgspec.json.Encoder().encode
    for report in run(job, FILES, time.monotonic):
        if isinstance(report, float):
            if report > 0:
                time.sleep(report)
        else:
            os.write(1, encode(report) + b"\n")


def _die_with_broker(lifeline: int) -> None:
    os.read(lifeline, 1)  # nothing is ever written: the read returns when the broker's end is closed
    os._exit(1)


if __name__ == "__main__":
    main()
