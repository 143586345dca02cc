"""Clients that send a broker what they like, and one that must not notice."""

from __future__ import annotations

import socket
import struct
import threading
import time
from typing import TYPE_CHECKING

from kcompat.records.batch import build_batch, read_records
from kcompat.records.record import Record
from support.eventually import limit_s
from support.raw_client import RawClient
from support.raw_requests import fetch, produce

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MIB = 1 << 20


def now_ms() -> int:
    """The time of records that retention leaves alone."""
    return int(time.time() * 1000)


class HealthyNeighbour(threading.Thread):
    """Produces a record and reads it back, over and over; `rounds` of them until something goes wrong."""

    def __init__(self, address: tuple[str, int], topic: str) -> None:
        super().__init__(daemon=True)
        self._address = address
        self._topic = topic
        self._stop_asked = threading.Event()
        self.rounds = 0
        self.slowest_s = 0.0
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            with RawClient(self._address) as client:
                while not self._stop_asked.wait(0.01):
                    started = time.monotonic()
                    self._round(client)
                    self.slowest_s = max(self.slowest_s, time.monotonic() - started)
                    self.rounds += 1
        except Exception as error:
            self.error = error

    def _round(self, client: RawClient) -> None:
        value = b"%d" % self.rounds
        answer = produce(client, self._topic, build_batch([Record(0, now_ms(), None, value)]))
        assert (answer.error_code, answer.base_offset) == (0, self.rounds)
        fetched = fetch(client, self._topic, self.rounds, max_wait_ms=1000)
        assert fetched.error_code == 0
        assert [record.value for record in read_records(memoryview(fetched.records))] == [value]

    def finish(self) -> None:
        self._stop_asked.set()
        self.join(15)
        assert not self.is_alive()


class Sender(threading.Thread):
    """Sends frames from a shared iterator, each until it is answered, refused, or waited for long enough."""

    def __init__(
        self,
        address: tuple[str, int],
        frames: Iterator[bytes],
        lock: threading.Lock,
        prelude: Sequence[bytes],
    ) -> None:
        super().__init__(daemon=True)
        self._address = address
        self._prelude = prelude
        self._frames = frames
        self._lock = lock
        self._socket: socket.socket | None = None
        self.sent = self.answered = 0
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            while frame := self._next():
                self._send(frame)
                self.sent += 1
        except Exception as error:
            self.error = error
        finally:
            self._hang_up()

    def _next(self) -> bytes | None:
        with self._lock:
            return next(self._frames, None)

    def _send(self, frame: bytes) -> None:
        if self._socket is None:
            self._socket = connect(self._address, self._prelude)
        whole = len(frame) >= 4 and struct.unpack_from(">i", frame)[0] == len(frame) - 4
        try:
            self._socket.sendall(frame)
            if not whole:
                self._socket.shutdown(socket.SHUT_WR)
            answer = self._socket.recv(1 << 16)
            if answer and whole:
                self.answered += 1
                size = struct.unpack_from(">i", answer)[0] + 4 - len(answer)
                while size > 0:
                    size -= len(self._socket.recv(size))
                return
        except OSError:
            pass
        self._hang_up()

    def _hang_up(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def connect(address: tuple[str, int], prelude: Sequence[bytes] = ()) -> socket.socket:
    """A connection whose end leaves no TIME_WAIT behind, and whose reads give up soon."""
    connection = socket.create_connection(address, timeout=limit_s(5))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for frame in prelude:
        connection.sendall(frame)
        assert connection.recv(1 << 16), "the broker closed in the middle of the prelude"
    connection.settimeout(0.1)
    return connection


def send_all(
    address: tuple[str, int], frames: Iterable[bytes], threads: int = 8, prelude: Sequence[bytes] = ()
) -> list[Sender]:
    """Send the frames by several threads; each connection begins with the frames of the prelude, which are
    answered.
    """
    lock = threading.Lock()
    shared = iter(frames)
    senders = [Sender(address, shared, lock, prelude) for _ in range(threads)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    assert [sender.error for sender in senders if sender.error] == []
    return senders


def half_open_connections(address: tuple[str, int]) -> list[socket.socket]:
    """Peers that say nothing, part of a length, or announce much and never send it."""
    connections = []
    for beginning in (
        b"",
        b"\x00",
        struct.pack(">i", 100 * MIB) + b"\x00\x00",
        struct.pack(">i", 100) + bytes(50),
    ):
        for _ in range(50):
            connection = socket.create_connection(address, timeout=limit_s(5))
            connection.sendall(beginning)
            connections.append(connection)
    return connections
