"""The jars of real Kafka releases, and the Java that runs them.

They come from ``.cache/kafka-VERSION/libs``; ``python interop-tests/fetch.py jars`` fetches them.
"""

from __future__ import annotations

import os
import shutil
from typing import Final

from support.places import CACHE, REPOSITORY

CONF: Final = REPOSITORY / "interop-tests" / "java" / "conf"
"""The logging configuration of Kafka's tools."""

QUICK: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Options of a JVM that is over before the optimising compiler has paid for itself: a Kafka starts with half
of the processor time.
"""


def java() -> str:
    """The path of the Java launcher, or an error that says what to install."""
    found = shutil.which("java")
    if found is None:
        raise FileNotFoundError(
            "no java on the PATH: install a Java 17 runtime, such as openjdk-17-jre-headless"
        )
    return found


def class_path(version: str) -> str:
    """The class path of one Kafka release and the logging configuration of its tools."""
    libs = CACHE / f"kafka-{version}" / "libs"
    if not libs.is_dir():
        raise FileNotFoundError(f"no jars in {libs}: run python interop-tests/fetch.py jars")
    return f"{CONF}{os.pathsep}{libs}/*"
