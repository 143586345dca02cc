"""A broker in a process of its own: start, stop, kill, start again on the same port and data."""

from __future__ import annotations

import contextlib
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Self

from support.eventually import Patience, limit_s
from support.places import REPOSITORY
from support.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

NO_LISTENERS: Final[Mapping[str, str]] = MappingProxyType({})
_API_VERSIONS_V0 = struct.pack(">ihhih", 10, 18, 0, 1, -1)


def answers_api_versions(port: int, host: str = "127.0.0.1") -> bool:
    """Whether a broker on this port answers an ApiVersions request."""
    with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=2) as connection:
        connection.settimeout(2)
        connection.sendall(_API_VERSIONS_V0)
        return len(connection.recv(8)) > 0
    return False


class BrokerProcess(ABC):
    """One broker process with its data directory.

    ``with`` starts it and stops it; `kill` and `start` in between play an accident: the port and the data
    stay. The data directory is a temporary one, removed at the end, unless the caller names it.
    """

    name: str
    host = "127.0.0.1"
    """Where clients find it."""
    left_in: Path | None = None
    """Where temporary data directories are made and left; None: with the system's others, and removed."""

    def __init__(
        self,
        data_dir: Path | None = None,
        port: int | None = None,
        listeners: Mapping[str, str] = NO_LISTENERS,
    ) -> None:
        """Prepare the process. `listeners` are the security protocols of further listeners, by name."""
        self.port = free_port() if port is None else port
        self.listeners = {name: (protocol, free_port()) for name, protocol in listeners.items()}
        """Protocol and port of the further listeners, by name."""
        self._own_dir = None if data_dir else Path(tempfile.mkdtemp(prefix=f"{self.name}-", dir=self.left_in))
        self.home = data_dir or self._own_dir or Path()
        self.home.mkdir(parents=True, exist_ok=True)
        self.log_path = self.home / "process.log"
        self._process: subprocess.Popen[bytes] | None = None

    def placed(self, properties: Mapping[str, str]) -> dict[str, str]:
        """These properties, where HOME stands for the data directory."""
        return {key: value.replace("HOME", str(self.home)) for key, value in properties.items()}

    @abstractmethod
    def command(self) -> list[str]:
        """The command line that runs the broker in the foreground."""

    def prepare(self) -> None:  # noqa: B027 - most brokers need no preparation
        """Prepare the first start, for instance by configuration or formatting."""

    @property
    def bootstrap(self) -> str:
        """The address to give to clients as ``bootstrap.servers``."""
        return f"{self.host}:{self.port}"

    def bootstrap_of(self, listener: str) -> str:
        """The address of one of the further listeners."""
        return f"{self.host}:{self.listeners[listener][1]}"

    @property
    def pid(self) -> int:
        """The process id of the running broker."""
        assert self._process is not None, "the broker is not running"
        return self._process.pid

    def start(self, timeout_s: float = 120) -> None:
        """Start the process and return when it answers; raise with the end of its log when it does not."""
        self.prepare()
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=REPOSITORY
            )
        patience = Patience(timeout_s)
        while not self.is_ready():
            if self._process.poll() is not None or not patience.lasts:
                self.kill()
                raise RuntimeError(f"{self.name} did not start; the end of its log:\n{self.log_tail()}")
            time.sleep(0.02)

    def is_ready(self) -> bool:
        """Whether the process serves requests."""
        return answers_api_versions(self.port, self.host)

    def is_running(self) -> bool:
        """Whether the process was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def log_tail(self, characters: int = 4000) -> str:
        """The end of what the process has printed."""
        return self.log_path.read_text(errors="replace")[-characters:]

    def stop(self, timeout_s: float = 20) -> None:
        """Ask the process to shut down cleanly; kill it when it takes longer than that."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(limit_s(timeout_s))
        except subprocess.TimeoutExpired:
            self.kill()
        self._process = None

    def kill(self) -> None:
        """End the process at once, as ``kill -9`` does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop the process and remove its temporary directory, unless directories are to be left."""
        self.stop()
        if self._own_dir is not None and self.left_in is None:
            shutil.rmtree(self._own_dir, ignore_errors=True)
