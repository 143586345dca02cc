"""Programs that copy a topic in transactions, one for each kind of client; they are killed or told to end."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from commands import compile_java
from support.kafka_jars import class_path, jvm
from support.places import CACHE, REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

HERE = REPOSITORY / "interop-tests"
PER_TRANSACTION = 50
LEAVES_S = 30
CLASSIC = ("session.timeout.ms=6000", "heartbeat.interval.ms=500", "group.protocol=classic")
BY_BROKER = ("group.protocol=consumer",)


@dataclass
class Copier:
    """A program that copies, started again whenever it ends."""

    kind: str
    command: Sequence[str]
    settings: Sequence[str]
    bootstrap: str
    target: str
    group: str
    log: Path
    process: subprocess.Popen[bytes] | None = None

    def tend(self) -> None:
        """Start it unless it runs."""
        if self.process is None or self.process.poll() is not None:
            names = ["source", self.target, self.group, f"{self.kind}-copier", str(PER_TRANSACTION)]
            with self.log.open("ab") as log:
                self.process = subprocess.Popen(
                    [*self.command, self.bootstrap, *names, *self.settings], stdout=log, stderr=log
                )

    def leave(self) -> None:
        """Have it leave its group after the transaction that it is in, and end."""
        assert self.process is not None
        self.process.terminate()
        self.process.wait(LEAVES_S)

    def kill(self) -> None:
        """End it without a word."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def said(self) -> str:
        """The end of what it has printed."""
        return self.log.read_text(errors="replace")[-2000:] if self.log.exists() else ""


def java(directory: Path, version: str) -> list[str]:
    """The Java client of a release."""
    if not (directory / "Copier.class").exists():
        compile_java(class_path(version), directory, HERE / "java" / "copier" / "Copier.java")
    return [*jvm(version, directory), "Copier"]


def has_java() -> bool:
    """Whether there is a compiler, and the clients of both releases are."""
    return bool(shutil.which("javac")) and all(
        (CACHE / f"kafka-{each}").is_dir() for each in ("3.9.2", "4.3.0")
    )


def confluent() -> list[str]:
    """Return the command of the copier with confluent-kafka."""
    return [sys.executable, str(HERE / "drivers" / "copier.py")]


def go(program: str) -> list[str]:
    """One of the programs in Go."""
    return [str(CACHE / "go" / program)]
