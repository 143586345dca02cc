"""Start the installed kcompat, write a record and read it back: ``python release/first_record.py [--pure]``.

The release workflow runs this with each wheel. The extensions have to be in use, unless `--pure` says that
there are none. Needs kafka-python. Prints the output of `kcompat --version`, and the seconds until the broker
listened and until the record was written.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time

START = ("start", "--memory", "--port", "0")
LISTENING = re.compile(r"kcompat is listening on (\S+)")


def main() -> int:
    """Return the exit code: 0 if the record came back."""
    import kafka

    kcompat = (sys.executable, "-P", "-m", "kcompat")  # not the package of a clone that this runs in
    said = subprocess.run([*kcompat, "--version"], capture_output=True, text=True, check=True).stdout
    print(said, end="")
    if ("no native extensions in use" if "--pure" in sys.argv else "native extensions in use,") not in said:
        return 1
    begun = time.monotonic()
    with subprocess.Popen([*kcompat, *START], stdout=subprocess.PIPE, text=True) as broker:
        try:
            assert broker.stdout is not None
            listening = LISTENING.match(broker.stdout.readline())
            if listening is None:
                return 1
            listened = time.monotonic()
            producer = kafka.KafkaProducer(bootstrap_servers=listening[1])
            producer.send("first", b"record").get(30)
            written = time.monotonic()
            consumer = kafka.KafkaConsumer(
                "first",
                bootstrap_servers=listening[1],
                auto_offset_reset="earliest",
                consumer_timeout_ms=30_000,
            )
            value = next(consumer).value
        finally:
            broker.terminate()
    print(f"listening after {listened - begun:.2f} s, first record written after {written - begun:.2f} s")
    return 0 if value == b"record" else 1


if __name__ == "__main__":
    sys.exit(main())
