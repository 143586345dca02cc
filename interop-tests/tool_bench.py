"""Kafka's command-line tools of one release beside brokers of two kinds, and what they print compared."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from difflib import unified_diff
from typing import TYPE_CHECKING

import pytest

from support.places import CACHE
from tools_jvm import ToolsJvm, compile_runner

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from support.broker_process import BrokerProcess
    from tools_jvm import Ended

VERSIONS = ("3.9.2", "4.3.0")
_OTHER = pytest.mark.thorough("the other version of the tools sends the same requests")
FIRST_OF_VERSIONS = (VERSIONS[0], pytest.param(VERSIONS[1], marks=_OTHER))
"""Parameters of a test that `make test` runs with the tools of Kafka 3.9.2 only."""
LAST_OF_VERSIONS = (pytest.param(VERSIONS[0], marks=_OTHER), VERSIONS[1])
"""Parameters of a test that `make test` runs with the tools of Kafka 4.3.0 only."""
TOOLS = "org.apache.kafka.tools."
CLASSES = {
    "topics": f"{TOOLS}TopicCommand",
    "configs": "kafka.admin.ConfigCommand",
    "groups": f"{TOOLS}consumer.group.ConsumerGroupCommand",
    "get-offsets": f"{TOOLS}GetOffsetShell",
    "log-dirs": f"{TOOLS}LogDirsCommand",
    "delete-records": f"{TOOLS}DeleteRecordsCommand",
    "console-consumer": f"{TOOLS}consumer.ConsoleConsumer",
    "reassign": f"{TOOLS}reassign.ReassignPartitionsCommand",
    "streams-reset": f"{TOOLS}StreamsResetter",
    "transactions": f"{TOOLS}TransactionsCommand",
    "leader-election": f"{TOOLS}LeaderElectionCommand",
    "client-metrics": f"{TOOLS}ClientMetricsCommand",
    "delegation-tokens": f"{TOOLS}DelegationTokenCommand",
    "metadata-quorum": f"{TOOLS}MetadataQuorumCommand",
    "features": f"{TOOLS}FeatureCommand",
    "share-groups": f"{TOOLS}consumer.group.ShareGroupCommand",
    "console-share-consumer": f"{TOOLS}consumer.ConsoleShareConsumer",
    "streams-groups": f"{TOOLS}streams.StreamsGroupCommand",
    "all-groups": f"{TOOLS}GroupsCommand",
}
MOVED = {"console-producer": "kafka.tools.ConsoleProducer", "acls": "kafka.admin.AclCommand"}
"""Tools that were in Scala before Kafka 4."""

FOR_ALL_OR_NOTHING = "The update failed for all features since the following feature had an error: "
"""Text of UpdateFeatures before the reason from version 2 on, which a Kafka with ZooKeeper does not have."""
UNORDERED = re.compile(
    "console-(share-)?consumer|(share-|streams-)?groups .*--(list|members)"
    "|transactions (list|find-hanging|describe-producers)|acls"
    "|configs --describe .*--entity-type (users|clients|ips)"
)
"""Commands that print their lines in the order of a hash table, or of arrival."""
LOOKS = re.compile("--(list|describe|verify)|transactions (list|describe|find-hanging)")
TIMES_TO_LOOK = 20
SINCE = (r"(?m)\b\d{13}( +\t)\d+ +\t", r"(?m)()\b\d{8} +\t$")
"""How long a transaction has been open, in milliseconds after its beginning, and in minutes since 1970."""

RECORDS = "".join(f"k{n}:value {n}\n" for n in range(20))
PATIENT = ("--request-timeout-ms", "20000")
"""The console producer waits a second and a half, and warns of a broker that takes longer."""


@dataclass(frozen=True)
class Bench:
    """Brokers by id, a JVM with the tools of one release, and the directory of files that arguments name."""

    version: str
    brokers: Mapping[int, BrokerProcess]
    jvm: ToolsJvm
    files: str

    def run(self, line: str) -> Ended:
        """Run a line of a script."""
        name, *arguments = shlex.split(line.replace("FILES", self.files).replace("PARSE", self._parse()))
        bootstrap = ",".join(broker.bootstrap for broker in self.brokers.values() if broker.is_running())
        text, patience = (RECORDS, PATIENT) if name == "console-producer" else ("", ())
        options = ["--bootstrap-server", bootstrap, *arguments, *patience]
        return self.jvm.run(self._main_class(name), options, text)

    def _main_class(self, name: str) -> str:
        if name in MOVED:
            scala = MOVED[name]
            return scala if self.version.startswith("3.") else TOOLS + scala.rpartition(".")[2]
        return CLASSES[name]

    def _parse(self) -> str:
        option = "--property" if self.version.startswith("3.") else "--reader-property"
        return f"{option} parse.key=true {option} key.separator=:"

    def said(self, line: str) -> list[str]:
        """Return the lines that a run prints, without the parts that may differ: ports, directories, ids,
        times, frames of Java, advice of SLF4J; whether there can be eligible leader replicas, and whether no
        feature or only this one was not changed; the order of logs, of quotas and of credentials, and which
        broker was first back in an ISR.
        """
        ended = self.run(line)
        text = f"{ended.out}\n--\n{ended.err}"
        for broker_id, broker in self.brokers.items():
            text = text.replace(str(broker.home), f"HOME{broker_id}")
            text = text.replace(str(broker.port), f"PORT{broker_id}")
        text = text.replace(FOR_ALL_OR_NOTHING, "")
        text = re.sub(r"(?m)^SLF4J: .*\n?", "", text)  # once in a JVM, with whatever tool runs then
        text = re.sub(r"TopicId: \S{22}", "TopicId: ID", text)
        text = re.sub(r"\badminclient-\d+", "adminclient-N", text)
        text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UUID", text)
        text = re.sub(r"(?m)^\[\d{4}-\d\d-\d\d \S+\]", "TIME", text)
        text = re.sub(r"Elr: (N/A)?\tLastKnownElr: (N/A)?", "Elr: ", text)
        for pattern in SINCE:
            text = re.sub(pattern, r"TIME\1DURATION", text)
        text = re.sub(r"\b\d{13}\b", "TIME", text)
        # Kafka's tools go through a hash table. Between ACLs they print a tab, around them spaces.
        text = re.sub(r"(?m)^\s+(\(principal=.*\)) *$", r"\1", text)
        text = re.sub(
            r"(?m)(?<= for partitions )\S+(, \S+)*$",
            lambda all_: ", ".join(sorted(all_[0].split(", "))),
            text,
        )
        text = re.sub(
            r"(?m)^(.* configs for .* are )(\S+, .*)$",
            lambda row: row[1] + ", ".join(sorted(row[2].split(", "))),
            text,
        )
        text = re.sub(r"Isr: ([\d,]+)", lambda isr: "Isr: " + ",".join(sorted(isr[1].split(","))), text)
        lines = [
            _sorted(line) if line.startswith('{"brokers"') else line
            for line in text.splitlines()
            if not line.startswith("\tat ")
        ]
        return [f"exit code {ended.code}", *(sorted(lines) if UNORDERED.match(line) else lines)]


@dataclass(frozen=True)
class Benches:
    """kcompat, and Kafka."""

    ours: Bench
    kafka: Bench

    def compare(self, script: str) -> None:
        """Run a script line by line. A look is repeated: Kafka shows a change a moment after it was made."""
        different = []
        with ThreadPoolExecutor(2) as pool:
            for line in filter(None, script.splitlines()):
                for _ in range(TIMES_TO_LOOK if LOOKS.search(line) else 1):
                    ours, kafka = pool.map(_said, (self.ours, self.kafka), (line, line))
                    if ours == kafka:
                        break
                else:
                    different += [f"$ {line}", *unified_diff(kafka, ours, "Kafka", "kcompat", lineterm="")]
        assert not different, "\n".join(different)


def _said(bench: Bench, line: str) -> list[str]:
    return bench.said(line)


def insist_on_tools() -> None:
    """Skip what needs tools that are not there."""
    if shutil.which("javac") is None or not all((CACHE / f"kafka-{v}" / "libs").is_dir() for v in VERSIONS):
        pytest.skip("install a Java 17 JDK and run python interop-tests/fetch.py jars")


@contextmanager
def side_by_side(
    version: str,
    ours: Mapping[int, BrokerProcess],
    kafka: Mapping[int, BrokerProcess],
    files: Mapping[str, str],
    at: Path,
) -> Iterator[Benches]:
    """The tools of a release beside brokers of ours and of Kafka, by id; what they need is made in `at`.

    `files` are those that scripts name, with HOME1 for the directory of broker 1.
    """
    compile_runner(version, at)
    with closing(ToolsJvm(version, at)) as one, closing(ToolsJvm(version, at)) as other:
        yield Benches(
            Bench(version, ours, one, _written(files, ours, at / "kcompat")),
            Bench(version, kafka, other, _written(files, kafka, at / "kafka")),
        )


def _written(files: Mapping[str, str], brokers: Mapping[int, BrokerProcess], directory: Path) -> str:
    directory.mkdir()
    for name, text in files.items():
        placed = text
        for broker_id, broker in brokers.items():
            placed = placed.replace(f"HOME{broker_id}", str(broker.home))
        (directory / name).write_text(placed)
    return str(directory)


def _sorted(line: str) -> str:
    """Return the output of kafka-log-dirs in order; a log's size depends on how its producer has filled
    batches, and the lag of a copy on the time.
    """
    shown = json.loads(re.sub(r'"(size|offsetLag)":[1-9]\d*', r'"\1":1', line))
    for broker in shown["brokers"]:
        broker["logDirs"].sort(key=lambda directory: directory["logDir"])
        for directory in broker["logDirs"]:
            directory["partitions"].sort(key=lambda row: row["partition"])
    return json.dumps(shown)
