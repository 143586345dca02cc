"""A broker of `kcompat start` with a metrics port."""

from __future__ import annotations

import http.client
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

from prometheus_client.parser import text_string_to_metric_families

from support.control_client import ControlClient
from support.eventually import limit_s
from support.raw_client import RawClient
from support.start_command import started

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

READY: Final = re.compile(r"kcompat is listening on (\S+) and stores in .+\n")
URL: Final = re.compile(r"metrics are at (http://\S+)/metrics\n")
CONTROL: Final = re.compile(r"the control port is (http://\S+)\n")


class Sample(NamedTuple):
    """One line of a page of metrics."""

    labels: dict[str, str]
    value: float


class Page:
    """A page of metrics, read by Prometheus' own client library."""

    def __init__(self, text: str) -> None:
        self.samples: dict[str, list[Sample]] = {}
        self.types: dict[str, str] = {}
        for family in text_string_to_metric_families(text):
            self.types[family.name] = family.type
            for sample in family.samples:
                # This parser ends the names of all counters in _total, also those of Kafka's in _count.
                name = sample.name.replace("_count_total", "_count")
                self.samples.setdefault(name, []).append(Sample(sample.labels, sample.value))

    def value(self, name: str, **labels: str) -> float:
        """Return the value of the only sample with exactly these labels."""
        (found,) = [each.value for each in self.samples[name] if each.labels == labels]
        return found


class WatchedBroker(NamedTuple):
    """A broker, or several, and their metrics ports."""

    addresses: list[tuple[str, int]]
    urls: list[str]
    control: ControlClient

    def ask(self, path: str, broker: int = 0, **headers: str) -> tuple[int, str]:
        """Return status and body of the answer to a GET."""
        connection = http.client.HTTPConnection(urlsplit(self.urls[broker]).netloc, timeout=limit_s(30))
        try:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def page(self, broker: int = 0) -> Page:
        """Return the metrics of a broker."""
        status, text = self.ask("/metrics", broker)
        assert status == 200, text
        return Page(text)

    def client(self, broker: int = 0, client_id: str = "raw") -> RawClient:
        """Connect to a broker."""
        return RawClient(self.addresses[broker], client_id=client_id)


@contextmanager
def watched_broker(*options: str, cwd: Path, brokers: int = 1) -> Iterator[WatchedBroker]:
    """Start brokers with metrics ports and a control port; at the end they stop cleanly, without an error in
    their log.
    """
    ports = ("--port", "0", "--metrics-port", "0", "--control-port", "0")
    with started(*ports, "--brokers", str(brokers), *options, cwd=cwd) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(2 + brokers)]
        ready, control = READY.fullmatch(lines[0]), CONTROL.fullmatch(lines[1])
        assert ready is not None, (lines, process.communicate())
        assert control is not None, (lines, process.communicate())
        addresses = [each.rpartition(":") for each in ready[1].split(",")]
        yield WatchedBroker(
            [(host, int(port)) for host, _, port in addresses],
            [found[1] for line in lines[2:] if (found := URL.fullmatch(line)) is not None],
            ControlClient(control[1]),
        )
        process.terminate()
        _, err = process.communicate(timeout=limit_s(20))
        assert process.returncode == 0, err
        assert " ERROR " not in err, err
