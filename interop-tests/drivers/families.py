"""The clients of all families by name, each as a function that lists the topics."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Final, Self

from drivers.logins import (
    LoginFailedError,
    MissingError,
    aiokafka,
    confluent,
    go,
    kafka_python,
    kafkajs,
    kcat,
)
from drivers.old_logins import JAVA, confluent_2, kafka_python_2, old_java
from kcompat.security.client_settings import SETTINGS
from real_kafka import properties_text
from support.places import CACHE
from tools_jvm import ToolsJvm, compile_runner

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kcompat.security.client_settings import ClientAccess

    ListTopics = Callable[[ClientAccess], list[str]]

_OTHERS: Final[dict[str, ListTopics]] = {
    "kafka-python": kafka_python,
    "aiokafka": aiokafka,
    "confluent": confluent,
    "kcat": kcat,
    "kafkajs": kafkajs,
    "franz-go": go("franz"),
    "sarama": go("sarama"),
    "kafka-go": go("kafkago"),
    "kafka-python-2.0.2": kafka_python_2,
    "confluent-2.0.2": confluent_2,
}
_WITH_TOOLS: Final = ("3.9.2", "4.3.0")
CLIENTS: Final = (*_OTHERS, *(f"java-{version}" for version in (*JAVA, *_WITH_TOOLS)))
"""Names of the clients."""


class Families:
    """The clients. Kafka's tools share one virtual machine a version, which ends with the `with` block."""

    def __init__(self, make_directory: Callable[[str], Path]) -> None:
        """Prepare no client yet; `make_directory` returns a new directory with a name like the given one."""
        self._make_directory = make_directory
        self._running = ExitStack()
        self._java: dict[str, ListTopics] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def client(self, name: str) -> ListTopics:
        """Return the function of a client. Raises `MissingError` if this machine lacks what it needs."""
        if name in _OTHERS:
            return _OTHERS[name]
        version = name.removeprefix("java-")
        if version not in self._java:
            make = self._with_tools if version in _WITH_TOOLS else self._old
            self._java[version] = make(version)
        return self._java[version]

    def _old(self, version: str) -> ListTopics:
        return old_java(version, self._make_directory(f"java-{version}"))

    def _with_tools(self, version: str) -> ListTopics:
        if shutil.which("javac") is None or not (CACHE / f"kafka-{version}" / "libs").is_dir():
            raise MissingError("install a Java 17 JDK and run python interop-tests/fetch.py jars")
        runner = self._make_directory(f"tools-{version}")
        compile_runner(version, runner)
        jvm = ToolsJvm(version, runner)
        self._running.callback(jvm.close)
        return partial(_kafka_topics, jvm, self._make_directory("clients"))


def _kafka_topics(jvm: ToolsJvm, directory: Path, access: ClientAccess) -> list[str]:
    """List the topics with Kafka's own tool."""
    config = directory / "client.properties"
    config.write_text(properties_text(SETTINGS["java"](access)))
    arguments = ("--bootstrap-server", access.bootstrap_servers, "--command-config", str(config), "--list")
    ended = jvm.run("org.apache.kafka.tools.TopicCommand", arguments)
    if ended.code != "0":
        raise LoginFailedError(ended.out + ended.err)
    return ended.out.split()
