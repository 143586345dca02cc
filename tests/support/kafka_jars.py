"""The jars of real Kafka releases, and the Java that runs them.

They come from ``.cache/kafka-VERSION/libs``; ``python interop-tests/fetch.py jars`` fetches them.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Final

from support.places import CACHE, REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

CONF: Final = REPOSITORY / "interop-tests" / "java" / "conf"
"""The logging configuration of Kafka's tools."""

QUICK: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Options of a JVM that is over before the optimising compiler has paid for itself: a Kafka starts with half
of the processor time.
"""


def java() -> str:
    """Return the path of the Java launcher, or raise an error that says what to install."""
    found = shutil.which("java")
    if found is None:
        raise FileNotFoundError(
            "no java on the PATH: install a Java 17 runtime, such as openjdk-17-jre-headless"
        )
    return found


def class_path(version: str) -> str:
    """Return the class path of one Kafka release: its jars, then the logging configuration of its tools.

    The jars come first, in the order of their names and with paths that all clones on this machine share, as
    a JVM takes classes from an archive only where its class path begins like that of the archive.
    """
    return os.pathsep.join(map(str, (*jars(version), CONF)))


def jars(version: str) -> list[Path]:
    """Return the jars of one Kafka release, or raise an error that says how to fetch them."""
    libs = CACHE / f"kafka-{version}" / "libs"
    if not libs.is_dir():
        raise FileNotFoundError(f"no jars in {libs}: run python interop-tests/fetch.py jars")
    return sorted(libs.resolve().glob("*.jar"))


def archive(version: str) -> Path:
    """Return the path of the archive of one Kafka release's classes, loaded and verified."""
    return CACHE / f"kafka-{version}" / "classes" / "classes.jsa"


def short_lived(version: str) -> tuple[str, ...]:
    """Return the options of a JVM that runs for seconds with the class path of this Kafka release.

    With the archive a broker starts with half of the processor time that it takes without.
    """
    return (*QUICK, f"-XX:SharedArchiveFile={archive(version)}")


def jvm(version: str, *more: Path | str) -> list[str]:
    """Return the command of a short-lived JVM with the classes of this Kafka release, up to its main class.
    `more` are further entries of its class path.
    """
    path = os.pathsep.join((class_path(version), *map(str, more)))
    return [java(), *short_lived(version), "-Xmx256m", "-cp", path]
