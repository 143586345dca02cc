"""A real Kafka of one KRaft node, as a module and as a command.

In a test:           ``with RealKafka() as kafka: connect(kafka.bootstrap)``
From a shell:        ``python interop-tests/real_kafka.py`` prints the bootstrap address and runs until
Ctrl-C.

The jars come from ``.cache/kafka-VERSION/libs``; ``python interop-tests/fetch.py jars`` fetches them.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from typing import TYPE_CHECKING

from support.broker_process import NO_LISTENERS, BrokerProcess
from support.kafka_jars import class_path, java, short_lived
from support.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CLUSTER_ID = "kcompatInteropTests00w"


class RealKafka(BrokerProcess):
    """One Kafka process, broker and controller, on free ports of the loopback address.

    ``properties`` are added to its server.properties, with its directory in place of HOME. ``heap`` is a size
    as ``-Xmx`` takes it. ``options`` are further ones of its JVM: those of one that does not live long,
    unless told otherwise.
    """

    def __init__(
        self,
        version: str = "3.9.2",
        properties: Mapping[str, str] | None = None,
        heap: str = "512m",
        data_dir: Path | None = None,
        port: int | None = None,
        options: Sequence[str] | None = None,
        listeners: Mapping[str, str] = NO_LISTENERS,
    ) -> None:
        self.name = f"kafka-{version}"
        super().__init__(data_dir, port, listeners)
        self.version = version
        self._heap = heap
        self._options = short_lived(version) if options is None else options
        self._extra = self.placed(properties or {})
        self._controller_port = free_port()
        self._properties_path = self.home / "server.properties"
        self._logs = self.home / "data"

    def prepare(self) -> None:
        """Write server.properties and format the log directory, once."""
        if (self._logs / "meta.properties").exists():
            return
        self._properties_path.write_text(properties_text(self._settings()))
        arguments = ["format", "--cluster-id", CLUSTER_ID, "--config", str(self._properties_path)]
        self._java("kafka.tools.StorageTool", *arguments, heap="128m")

    def command(self) -> list[str]:
        """The command line that runs the broker in the foreground."""
        return self._command("kafka.Kafka", str(self._properties_path), heap=self._heap)

    def _settings(self) -> dict[str, str]:
        ports = {"PLAINTEXT": self.port} | {name: port for name, (_, port) in self.listeners.items()}
        clients = ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items())
        protocols = {"CONTROLLER": "PLAINTEXT", "PLAINTEXT": "PLAINTEXT"}
        protocols |= {name: protocol for name, (protocol, _) in self.listeners.items()}
        settings = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "listeners": f"{clients},CONTROLLER://127.0.0.1:{self._controller_port}",
            "advertised.listeners": clients,
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": f"1@127.0.0.1:{self._controller_port}",
            "listener.security.protocol.map": ",".join(
                f"{name}:{protocol}" for name, protocol in protocols.items()
            ),
            "log.dirs": str(self._logs),
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
        }
        if self.version.startswith("3."):
            settings["group.coordinator.rebalance.protocols"] = "classic,consumer"
        else:
            settings["group.consumer.assignment.interval.ms"] = "0"
            settings["group.share.assignment.interval.ms"] = "0"
            settings["group.streams.assignment.interval.ms"] = "0"
            settings["group.streams.initial.rebalance.delay.ms"] = "0"
            settings["share.coordinator.state.topic.replication.factor"] = "1"
            settings["share.coordinator.state.topic.min.isr"] = "1"
        return settings | self._extra

    def _command(self, main_class: str, *arguments: str, heap: str) -> list[str]:
        return [
            java(),
            f"-Xmx{heap}",
            *self._options,
            "-cp",
            class_path(self.version),
            main_class,
            *arguments,
        ]

    def _java(self, main_class: str, *arguments: str, heap: str) -> None:
        done = subprocess.run(
            self._command(main_class, *arguments, heap=heap), capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise RuntimeError(f"{main_class} failed:\n{done.stdout}{done.stderr}")


def properties_text(settings: Mapping[str, object]) -> str:
    """Return a properties file of Java with these settings."""
    lines = [f"{key}={value}\n" for key, value in settings.items()]
    text = "".join(line.replace("\\", "\\\\") for line in lines)
    return "".join(each if each.isascii() else f"\\u{ord(each):04x}" for each in text)


def main() -> None:
    """Run a Kafka until SIGINT or SIGTERM."""
    parser = argparse.ArgumentParser(description="Run a real Kafka of one node until Ctrl-C.")
    parser.add_argument("--version", default="3.9.2", help="the Kafka release (default: 3.9.2)")
    parser.add_argument("--port", type=int, help="the port to listen on (default: a free one)")
    parser.add_argument("--heap", default="512m", help="the heap, as -Xmx takes it (default: 512m)")
    parser.add_argument(
        "--property", action="append", default=[], metavar="KEY=VALUE", help="a broker setting"
    )
    arguments = parser.parse_args()
    properties = dict(item.split("=", 1) for item in arguments.property)
    asked_to_stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: asked_to_stop.set())
    with RealKafka(arguments.version, properties, arguments.heap, port=arguments.port) as kafka:
        print(kafka.bootstrap, flush=True)
        asked_to_stop.wait()


if __name__ == "__main__":
    main()
