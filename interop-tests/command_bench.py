"""Kafka's commands in a JVM and those of kcompat, each beside a broker of its own of the same kind."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING

from support.kafka_jars import jvm
from tool_bench import CLASSES, Bench, Benches
from tools_jvm import Ended, ToolsJvm, compile_runner

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from support.broker_process import BrokerProcess

VERSION = "3.9.2"
"""Release of the commands that kcompat's are compared with."""
ARGPARSE_CLASSES = {"cluster": "org.apache.kafka.tools.ClusterTool", "features": CLASSES["features"]}
"""Commands that read their command line by argparse4j, which ends the JVM at an error."""
MORE_CLASSES = {"broker-api-versions": "kafka.admin.BrokerApiVersionsCommand"}


class _CommandBench(Bench):
    """A broker, and commands that are named by the lines of a script.

    SERVER stands for the broker's address, and AT for `--bootstrap-server` with it.
    """

    def words(self, line: str) -> list[str]:
        """The name of a command and its arguments."""
        (broker,) = self.brokers.values()
        words = []
        for word in shlex.split(line.replace("FILES", self.files).replace("SERVER", broker.bootstrap)):
            words += ["--bootstrap-server", broker.bootstrap] if word == "AT" else [word]
        return words

    def said(self, line: str) -> list[str]:
        """Return what `Bench.said` returns, without what differs on purpose: help texts, the frame around
        messages, and the order of topics and configs.
        """
        lines = super().said(line)
        if "------" in " ".join(lines):
            table = next(n for n, each in enumerate(lines) if each.startswith("Option "))
            lines = [*lines[:table], "the help"]
        text = "\n".join(each for each in lines if not each.startswith("\t... "))
        text = text.replace('Exception in thread "main" ', "").rstrip()
        text = re.sub(r"'Optional\[(.*?)\]'", r"'\1'", text)  # Kafka 4 prints the name alone
        text = re.sub(r"(?<=Cluster ID: )\S+", "ID", text)
        text = re.sub(r"(?<=Epoch: )\d+", "N", text)
        if "usage: kafka-" in text:  # argparse4j fills its lines with spaces
            words = " ".join(text.partition("error: ")[2].split())
            text = f"{lines[0]}\nerror: {words.replace('- ', '-')}"
        text = re.sub(r"(?<=Configs: )\S+", lambda all_: ",".join(sorted(all_[0].split(","))), text)
        if line.startswith("broker-api-versions"):
            text = _of_both_releases(text)
        lines = text.splitlines()
        return sorted(lines) if re.match("topics .*--describe|delete-records", line) else lines


class RealCommands(_CommandBench):
    """Kafka's own commands."""

    def run(self, line: str) -> Ended:
        """Run a line of a script."""
        name, *arguments = self.words(line)
        if name in ARGPARSE_CLASSES:
            command = [*jvm(self.version), ARGPARSE_CLASSES[name], *arguments]
            return _ended(command)
        return self.jvm.run((CLASSES | MORE_CLASSES)[name], arguments)


class OwnCommands(_CommandBench):
    """The commands of kcompat."""

    def run(self, line: str) -> Ended:
        """Run a line of a script."""
        return _ended([sys.executable, "-m", "kcompat", *self.words(line)])


def _ended(command: list[str]) -> Ended:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return Ended(str(done.returncode), done.stdout, done.stderr)


def _of_both_releases(text: str) -> str:
    """Return the versions of a broker, without those that only the client of one of the sides has."""
    text = re.sub(r"(?m)^\t\w+(?=\(\d+\))", "\tAPI ", text)  # 3.9 does not know the names of newer APIs
    lines = [re.sub(r" \[(un)?usable: [^\]]+\],?$|,$", "", line) for line in text.splitlines()]
    return "\n".join(line for line in lines if not line.endswith("UNSUPPORTED"))


@contextmanager
def commands_beside(
    brokers: tuple[BrokerProcess, BrokerProcess], files: Mapping[str, str], at: Path
) -> Iterator[Benches]:
    """kcompat's commands beside the first broker and Kafka's beside the second, with `files` for both."""
    compile_runner(VERSION, at)
    for name, text in files.items():
        (at / name).write_text(text)
    with ExitStack() as stack:
        tools = stack.enter_context(closing(ToolsJvm(VERSION, at)))
        own, real = brokers
        yield Benches(
            OwnCommands(VERSION, {1: own}, tools, str(at)), RealCommands(VERSION, {1: real}, tools, str(at))
        )
