"""Metrics of the process, in the names of Prometheus' client libraries, and of its connections."""

from __future__ import annotations

import os
import resource
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kcompat.observe.exposition import Family, Kind, alone, labels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kcompat.observe.exposition import Sample
    from kcompat.observe.scrape import Scrape

_OWN: Final = Path("/proc/self")
_START_FIELD, _VIRTUAL_FIELD, _RESIDENT_FIELD = 19, 20, 21
"""Indices of fields in /proc/PID/stat after the name of the program."""


def _stat() -> list[str]:
    """Return the fields of /proc/self/stat after the name of the program; empty on systems without the
    file.
    """
    try:
        return (_OWN / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _cpu_seconds(_: Scrape) -> list[Sample]:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return alone(used.ru_utime + used.ru_stime)


def _from_stat(place: int, convert: Callable[[int], float]) -> Callable[[Scrape], list[Sample]]:
    def read(_: Scrape) -> list[Sample]:
        fields = _stat()
        return alone(convert(int(fields[place]))) if fields else []

    return read


def _unix_time(ticks: int) -> float:
    """Return the Unix time in seconds of a time in clock ticks since the start of the machine."""
    machine_started = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    return machine_started + ticks / os.sysconf("SC_CLK_TCK")


def _open_descriptors(_: Scrape) -> list[Sample]:
    try:
        return alone(len(os.listdir(_OWN / "fd")))  # noqa: PTH208 - iterdir makes an object of each name
    except OSError:
        return []


def _allowed_descriptors(_: Scrape) -> list[Sample]:
    return alone(resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def _disk_bytes(field: str) -> Callable[[Scrape], list[Sample]]:
    def read(_: Scrape) -> list[Sample]:
        try:
            lines = (_OWN / "io").read_text().splitlines()
        except OSError:
            return []
        return alone(int(dict(line.split(": ") for line in lines)[field]))

    return read


def _connections(scrape: Scrape) -> Iterator[Sample]:
    counts = Counter(connection.listener_name for connection in scrape.server.hub.connections)
    for listener in scrape.server.listeners:
        yield labels(listener=listener.name, networkProcessor=0), counts[listener.name]


def _softwares(scrape: Scrape) -> Iterator[Sample]:
    software_of = scrape.requests.requests.software_of
    counts = Counter((each.listener_name, software_of(each)) for each in scrape.server.hub.connections)
    for (listener, software), count in counts.items():
        named = {"clientSoftwareName": software.name, "clientSoftwareVersion": software.version}
        yield labels(**named, listener=listener, networkProcessor=0), count


FAMILIES: Final[tuple[Family[Scrape], ...]] = (
    Family(
        "kafka_server_socket_server_metrics_connection_count",
        Kind.GAUGE,
        "Open connections.",
        ("listener", "networkProcessor"),
        _connections,
    ),
    Family(
        "kafka_server_socket_server_metrics_connections_software",
        Kind.GAUGE,
        "Open connections by the software of their clients (KIP-511).",
        ("clientSoftwareName", "clientSoftwareVersion", "listener", "networkProcessor"),
        _softwares,
    ),
    Family(
        "kafka_server_kafkaserver_linux_disk_read_bytes",
        Kind.GAUGE,
        "Bytes that the process has caused to be read from disks.",
        (),
        _disk_bytes("read_bytes"),
    ),
    Family(
        "kafka_server_kafkaserver_linux_disk_write_bytes",
        Kind.GAUGE,
        "Bytes that the process has caused to be written to disks.",
        (),
        _disk_bytes("write_bytes"),
    ),
    Family(
        "process_cpu_seconds_total",
        Kind.COUNTER,
        "Processor time of the process in seconds.",
        (),
        _cpu_seconds,
    ),
    Family(
        "process_resident_memory_bytes",
        Kind.GAUGE,
        "Resident memory in bytes.",
        (),
        _from_stat(_RESIDENT_FIELD, lambda pages: pages * resource.getpagesize()),
    ),
    Family(
        "process_virtual_memory_bytes",
        Kind.GAUGE,
        "Virtual memory in bytes.",
        (),
        _from_stat(_VIRTUAL_FIELD, float),
    ),
    Family(
        "process_start_time_seconds",
        Kind.GAUGE,
        "Start of the process in seconds since 1970.",
        (),
        _from_stat(_START_FIELD, _unix_time),
    ),
    Family("process_open_fds", Kind.GAUGE, "Open file descriptors.", (), _open_descriptors),
    Family("process_max_fds", Kind.GAUGE, "Limit of open file descriptors.", (), _allowed_descriptors),
)
"""The metrics of the process, in the order of the page."""
