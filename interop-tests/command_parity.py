"""Kafka's scripts and kcompat's commands beside equal brokers, and what they print compared.

Each line of a table is one call: the name of a script without `kafka-`, its arguments, and after ` <<< ` what
it reads from standard input, with escapes. BOOT stands for the address of the broker, FILES for a directory.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from difflib import unified_diff
from typing import TYPE_CHECKING

from support.eventually import limit_s
from tool_bench import CLASSES, MOVED, TOOLS
from tools_jvm import Ended

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from support.broker_process import BrokerProcess
    from tools_jvm import ToolsJvm

TIMES = 20
"""How often a call that only looks is repeated while the outputs differ: a broker may need a moment, and a
consumer with a timeout more of them on a busy machine."""
LOOKS = re.compile(
    r"--(list|describe|verify)\b|transactions .*(list|describe|find-hanging)|console-consumer (?!.*--group)"
)
NAMES = {"consumer-groups": "groups", "reassign-partitions": "reassign"}
"""Names of scripts that the table of classes has under another name."""
UNORDERED = re.compile(
    r"consumer-groups .*(--list|--all-groups|--members|--export|scenarios)|acls |console-consumer"
    r"|transactions .*(list|find-hanging|describe-producers)"
)
"""Calls whose lines Kafka prints in the order of a hash table or of arrival."""

_UNSAID = (
    "TIME WARN",
    "TIME ERROR [AdminClient",
    "SLF4J: ",
    "kcompat: ",
    "Warning: --property is deprecated",
    "The consumer rebalance protocol (KIP-848) is production-ready!",
    "com.fasterxml.jackson.databind.exc.InvalidFormatException: Cannot deserialize value of type `int`",
)
"""Beginnings of lines that one side prints alone: logs, the last line of a command of ours that no broker
answered, advice of Kafka 4.3 to classic groups, and the exception of a plan for several groups, which the
script reads as a plan for one group first."""
_HELP = re.compile(r"Option .*\bDescription\b|usage: ")
_TRACE = re.compile(r"(java|joptsimple|com\.fasterxml|org\.apache\.kafka)\.[\w.$]+(Exception|Error)\b.*")
_FRAMES = re.compile(r"\s+at |\s+\.\.\. \d|Caused by: |\s+Suppressed: | at \[Source")


@dataclass(frozen=True)
class Side:
    """A broker, and the function that runs commands beside it."""

    broker: BrokerProcess
    files: Path
    run: Callable[[str, list[str], str], Ended]

    def said(self, line: str) -> list[str]:
        """Return the exit code and the lines that a call prints, without what may differ.

        The first line of a stack trace is among them if no line before has its message.
        """
        call, _, text = line.partition(" <<< ")
        call = call.replace("BOOT", self.broker.bootstrap).replace("FILES", str(self.files))
        name, *arguments = shlex.split(call)
        ended = self.run(name, arguments, text.encode().decode("unicode_escape"))
        out, more = self._lines(ended.out)
        err, traces = self._lines(ended.err)
        shown = "\n".join(out + err)
        unsaid = [trace for trace in more + traces if trace.rpartition("Exception: ")[2] not in shown]
        if UNORDERED.search(line):
            out = sorted(out)
        return [f"exit code {ended.code}", *out, "--", *err, *unsaid[:1]]

    def _lines(self, text: str) -> tuple[list[str], list[str]]:
        """Return the lines of an output without stack traces, and the first lines of those."""
        text = text.replace(str(self.broker.port), "PORT").replace(str(self.files), "FILES")
        text = text.replace(str(self.broker.home), "HOME")
        for pattern, shown in _SHOWN:
            text = re.sub(pattern, shown, text)
        kept: list[str] = []
        traces: list[str] = []
        is_logged = False
        for line in text.splitlines():
            if _HELP.match(line):
                break
            was_logged, is_logged = is_logged, line.startswith("TIME ERROR")
            if _FRAMES.match(line) or line.startswith(_UNSAID):
                continue
            if _TRACE.fullmatch(line) and not was_logged:
                traces.append(line)
            else:
                kept.append(line.rstrip())
        return [line.lstrip() if "(principal=" in line else line for line in kept if line], traces


def _ordered(names: re.Match[str]) -> str:
    """Return a list of names in order, with the text before and after it."""
    return names[1] + ", ".join(sorted(names[2].split(", "))) + names[3]


_SHOWN = (
    (r"(?m)^\[\d{4}-\d\d-\d\d [\d:,]+\]", "TIME"),
    (r"(?m)\b\d{13}( *\t)\d+ *\t", r"MILLISECONDS\1DURATION"),
    (r"(?m)\b\d{8} *\t$", "MINUTES"),
    (r"\b\d{13}\b", "MILLISECONDS"),
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UUID"),
    (r"adminclient-\d+", "adminclient-N"),
    (r"(Valid states are: |Valid types are: )(.*)()", _ordered),
    (r"(?m)(takes (?:one of these|the following) options: )(.*)()$", _ordered),
    (r"(scenarios: \[|operations \[|consumer groups \()(.*)([\])])", _ordered),
)
"""Patterns of what differs from run to run, or is the order of a hash table, and what is shown instead."""


def by_script(jvm: ToolsJvm, version: str) -> Callable[[str, list[str], str], Ended]:
    """Return the function that runs a script of a release."""

    def run(name: str, arguments: list[str], text: str) -> Ended:
        known = NAMES.get(name, name)
        if known in MOVED:
            scala = MOVED[known]
            main = scala if version.startswith("3.") else TOOLS + scala.rpartition(".")[2]
        else:
            main = CLASSES[known]
        return jvm.run(main, arguments, text)

    return run


def by_command(name: str, arguments: list[str], text: str) -> Ended:
    """Run a command of kcompat in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "kcompat", name, *arguments],
        input=text,
        capture_output=True,
        text=True,
        timeout=limit_s(90),
        check=False,
        env={**os.environ, "TZ": "UTC"},
    )
    return Ended(str(done.returncode), done.stdout, done.stderr)


def make_topics(*brokers: BrokerProcess) -> None:
    """Make the topics of the tables: `one` with a partition, `two` with two."""
    for broker in brokers:
        for topic, partitions in (("one", "1"), ("two", "2")):
            words = ["--create", "--topic", topic, "--partitions", partitions]
            ended = by_command("topics", ["--bootstrap-server", broker.bootstrap, *words], "")
            assert ended.code == "0", ended


def write_files(directory: Path, texts: Mapping[str, str]) -> Path:
    """Write files by their names, and return the directory that FILES stands for."""
    for name, text in texts.items():
        (directory / name).write_text(text)
    return directory


def compare(table: str, kafka: Side, ours: Side) -> None:
    """Run each call of a table on both sides, and insist that they print the same."""
    calls = list(filter(None, map(str.strip, table.splitlines())))
    different = []
    with ThreadPoolExecutor(2) as pool:
        for line in calls:
            for _ in range(TIMES if LOOKS.search(line) else 1):
                theirs, found = pool.map(lambda side, line=line: side.said(line), (kafka, ours))
                if theirs == found:
                    break
            else:
                rows = [f"$ {line}", *unified_diff(theirs, found, "script", "kcompat", lineterm="")]
                different.append("\n".join(rows))
    print(f"{len(calls) - len(different)} of {len(calls)} calls print the same")
    assert not different, "\n".join(different)
