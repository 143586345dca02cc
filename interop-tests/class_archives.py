"""Archives of the classes that Kafka's brokers and tools load, for short-lived JVMs.

A JVM that maps such an archive (class data sharing) does not read, parse and verify these classes again.
"""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING

from real_kafka import RealKafka
from support.kafka_jars import QUICK, archive, class_path, jars, java
from zookeeper_kafka import ZooKeeper, ZooKeeperKafka

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_ID = re.compile(" id: .*")
"""The number of a class within one list, and its source where another class loader loads it."""


def archive_classes(version: str, target: Path) -> None:
    """Write to the directory `target` the archive of what a broker, the console clients and an admin tool of
    this release load.
    """
    options = ("-Xshare:off", f"-XX:DumpLoadedClassList={target}/%p.list")
    with RealKafka(version, options=(*QUICK, *options)) as kafka:
        tools = "kafka.tools" if version.startswith("3.") else "org.apache.kafka.tools"
        topic = ("--bootstrap-server", kafka.bootstrap, "--topic", "archived")
        _run(version, *options, f"{tools}.ConsoleProducer", *topic)
        consumer = "org.apache.kafka.tools.consumer.ConsoleConsumer"
        _run(version, *options, consumer, *topic, "--from-beginning", "--max-messages", "1")
        _run(version, *options, "org.apache.kafka.tools.TopicCommand", *topic, "--describe")
    if version.startswith("3."):
        with ZooKeeper() as zookeeper, ZooKeeperKafka(zookeeper, options=(*QUICK, *options)):
            pass
    lists = list(target.glob("*.list"))
    lines = dict.fromkeys(_ID.sub("", line) for path in lists for line in path.read_text().splitlines())
    for path in lists:
        path.unlink()
    names = target / "classes.list"
    names.write_text("\n".join(lines) + "\n")
    dump = ("-Xshare:dump", f"-XX:SharedClassListFile={names}")
    _run(version, *dump, f"-XX:SharedArchiveFile={target / archive(version).name}", path=jars(version))


def _run(version: str, *arguments: str, path: Sequence[Path] = ()) -> None:
    """Run a JVM on `path`, or on the class path of this release, with a record as its standard input."""
    classes = os.pathsep.join(map(str, path)) or class_path(version)
    command = [java(), *QUICK, "-cp", classes, *arguments]
    done = subprocess.run(command, input="record\n", capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
