"""Kafka's command-line tools, many of them in one JVM: a JVM of its own for each would take a second."""

from __future__ import annotations

import base64
import os
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from commands import QUICK_JVM, compile_java
from support.eventually import limit_s
from support.kafka_jars import CONF, class_path, jars
from support.places import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SOURCE = REPOSITORY / "interop-tests" / "java" / "tools" / "RunTools.java"


@dataclass(frozen=True)
class Ended:
    """How a tool ended: its exit code, or `hangs`, and what it wrote."""

    code: str
    out: str
    err: str


def compile_runner(version: str, target: Path) -> None:
    """Compile the program that runs the tools of this release."""
    compile_java(class_path(version), target, SOURCE)


class ToolsJvm:
    """One JVM that runs tools of one release, one at a time. Close it."""

    def __init__(self, version: str, runner: Path) -> None:
        libs = jars(version)
        own = [jar for jar in libs if jar.name in (f"kafka-tools-{version}.jar", f"kafka_2.13-{version}.jar")]
        path = os.pathsep.join(str(item) for item in (runner, CONF, *libs) if item not in own)
        self._process = subprocess.Popen(
            [*QUICK_JVM, "-cp", path, "RunTools", *map(str, own)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def run(self, main_class: str, arguments: Sequence[str], text: str = "", timeout_s: int = 90) -> Ended:
        """Run one tool with this standard input to its end, or for so many seconds."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        items = " ".join(_wrap(item) for item in (text, main_class, *arguments))
        self._process.stdin.write(f"{round(limit_s(timeout_s))} {items}\n")
        self._process.stdin.flush()
        code, out, err = self._process.stdout.readline().split()
        return Ended(code, _unwrap(out), _unwrap(err))

    def close(self) -> None:
        """End the JVM."""
        self._process.kill()
        self._process.communicate()


def _wrap(text: str) -> str:
    """In base64, and with a dot, since an item may be empty."""
    return base64.b64encode(text.encode()).decode() + "."


def _unwrap(item: str) -> str:
    return base64.b64decode(item[:-1]).decode()
