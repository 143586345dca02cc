"""The interface of drivers, and the consumer thread that the Python drivers share."""

from __future__ import annotations

import itertools
import queue
import threading
from abc import ABC, abstractmethod
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

POLL_MS = 100
HEARTBEAT_MS = 300
OPERATION_TIMEOUT_S = 30


@dataclass(frozen=True)
class Record:
    """One record as the client shows it; ``offset`` is -1 in a record still to be produced."""

    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int = 0
    offset: int = -1


class DriverError(Exception):
    """An error that the broker answered, as the client shows it; ``code`` is Kafka's number."""

    def __init__(self, code: int, message: str = "") -> None:
        super().__init__(f"error {code} {message}")
        self.code = code


class Driver(ABC):
    """The operations every client library is put through.

    Group members have names that the driver makes up, so that a driver can live in another process.
    ``cannot`` names the operations a library does not have, with the reason.
    """

    cannot: ClassVar[Mapping[str, str]] = {}
    null_header_values: ClassVar[bool] = True

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    @abstractmethod
    def produce(self, topic: str, records: Sequence[Record], codec: str | None = None) -> None:
        """Produce the records, each to its partition, and wait until all are acknowledged."""

    @abstractmethod
    def consume(self, topic: str, partitions: Sequence[int], count: int, start: int = 0) -> list[Record]:
        """Read ``count`` records of these partitions from offset ``start`` on, without a group."""

    @abstractmethod
    def join(self, group: str, topic: str) -> str:
        """Start a member that subscribes to the topic, from the earliest offset; return its name."""

    @abstractmethod
    def received(self, member: str) -> list[Record]:
        """Return the records that the member has received so far."""

    @abstractmethod
    def assigned(self, member: str) -> list[int]:
        """The partitions the member owns now."""

    @abstractmethod
    def commit(self, member: str, topic: str, partition: int, offset: int) -> None:
        """Commit one offset and wait for the answer."""

    @abstractmethod
    def leave(self, member: str) -> None:
        """Close the member's consumer."""

    @abstractmethod
    def create_topic(self, topic: str, partitions: int, configs: Mapping[str, str]) -> None:
        """Create a topic with replication factor 1."""

    @abstractmethod
    def delete_topic(self, topic: str) -> None:
        """Delete a topic."""

    @abstractmethod
    def topics(self) -> list[str]:
        """The names of all topics."""

    @abstractmethod
    def partitions(self, topic: str) -> int:
        """How many partitions the topic has."""

    @abstractmethod
    def add_partitions(self, topic: str, total: int) -> None:
        """Raise the number of partitions to ``total``."""

    @abstractmethod
    def topic_config(self, topic: str, key: str) -> str:
        """The value of one topic setting."""

    @abstractmethod
    def set_topic_config(self, topic: str, key: str, value: str) -> None:
        """Change one topic setting."""

    @abstractmethod
    def groups(self) -> list[str]:
        """The names of all groups."""

    @abstractmethod
    def group(self, group: str) -> tuple[str, int]:
        """The state of a group and the number of its members."""

    @abstractmethod
    def committed(self, group: str, topic: str, partition: int) -> int:
        """The committed offset of one partition; -1 when there is none."""

    @abstractmethod
    def delete_group(self, group: str) -> None:
        """Delete an empty group."""

    @abstractmethod
    def close(self) -> None:
        """Close what is still open."""


class ConsumerPort(ABC):
    """A consumer of one library, used by one thread only."""

    @abstractmethod
    def poll(self) -> list[Record]:
        """Records that arrive within `POLL_MS`."""

    @abstractmethod
    def assigned(self) -> list[int]:
        """The partitions owned."""

    @abstractmethod
    def commit(self, topic: str, partition: int, offset: int) -> None:
        """Commit and wait."""

    @abstractmethod
    def close(self) -> None:
        """Leave the group and close."""


class Member:
    """A consumer in a thread of its own: it polls, collects, and in between does what others ask for."""

    def __init__(self, open_consumer: Callable[[], ConsumerPort]) -> None:
        self._records: list[Record] = []
        self._assigned: list[int] = []
        self._errands: queue.Queue[tuple[Future[None], Callable[[ConsumerPort], None]]] = queue.Queue()
        self._leaving = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(open_consumer,), daemon=True)
        self._thread.start()

    def records(self) -> list[Record]:
        self._check()
        return list(self._records)

    def assigned(self) -> list[int]:
        self._check()
        return list(self._assigned)

    def do(self, errand: Callable[[ConsumerPort], None]) -> None:
        """Run something with the consumer on its thread and wait for it."""
        self._check()
        done: Future[None] = Future()
        self._errands.put((done, errand))
        done.result(OPERATION_TIMEOUT_S)

    def leave(self) -> None:
        self._leaving.set()
        self._thread.join(OPERATION_TIMEOUT_S)
        self._check()

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _run(self, open_consumer: Callable[[], ConsumerPort]) -> None:
        try:
            consumer = open_consumer()
            try:
                while not self._leaving.is_set():
                    self._records += consumer.poll()
                    self._assigned = consumer.assigned()
                    self._run_errands(consumer)
            finally:
                consumer.close()
        except BaseException as error:
            self._failure = error

    def _run_errands(self, consumer: ConsumerPort) -> None:
        while not self._errands.empty():
            done, errand = self._errands.get()
            try:
                errand(consumer)
            except Exception as error:
                done.set_exception(error)
            else:
                done.set_result(None)


class ThreadedDriver(Driver):
    """The group operations of a driver whose consumers are `ConsumerPort`s."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__(bootstrap)
        self._members: dict[str, Member] = {}
        self._numbers = itertools.count(1)

    @abstractmethod
    def open_consumer(self, group: str, topic: str) -> ConsumerPort:
        """A consumer subscribed to the topic, from the earliest offset, without auto commit."""

    def join(self, group: str, topic: str) -> str:
        name = f"member-{next(self._numbers)}"
        self._members[name] = Member(lambda: self.open_consumer(group, topic))
        return name

    def received(self, member: str) -> list[Record]:
        return self._members[member].records()

    def assigned(self, member: str) -> list[int]:
        return self._members[member].assigned()

    def commit(self, member: str, topic: str, partition: int, offset: int) -> None:
        self._members[member].do(lambda consumer: consumer.commit(topic, partition, offset))

    def leave(self, member: str) -> None:
        self._members.pop(member).leave()

    def close(self) -> None:
        for name in list(self._members):
            self.leave(name)


def by_name(module: str, driver: str) -> type[Driver]:
    """The driver class with this name in the module ``drivers.MODULE``."""
    import importlib

    found: Any = getattr(importlib.import_module(f"drivers.{module}"), driver)
    assert issubclass(found, Driver)
    return found  # type: ignore[no-any-return]
