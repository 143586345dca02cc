"""A broker's ports with an exception in them, at one of the places that a run comes by.

A place is a call of a port (files, clock, chance, the metadata store), the end of a timer's callback or of a
thread's work, the beginning and the end of a handler, what becomes of its promise, a decision of the
controller, a listener of news, somebody who waits in a purgatory. All of it is put around the ports from
outside; a place in the code itself is reached where that code asks for the time.
"""

from __future__ import annotations

import errno
import sys
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from kcompat.api.context import Busy, Interruptible
from kcompat.api.dispatcher import Dispatcher
from kcompat.controller.decisions import Decisions
from kcompat.faults import contained
from kcompat.log.files import Files
from kcompat.promise import Promise
from kcompat.store.interface import StoreUnavailableError
from kcompat.store.process_store import ProcessStore

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from kcompat.api.registry import Handler, Served
    from kcompat.clock import Timer
    from kcompat.controller.state import ControllerState, Decision, Event
    from kcompat.log.files import OpenFile, Readable
    from kcompat.node.parts import Parts
    from kcompat.replication.partition import Partition
    from kcompat.store.interface import Op, OpResult, SetAcl
    from kcompat.worker import Worker
    from support.virtual_clock import VirtualClock

T = TypeVar("T")


class InjectedError(RuntimeError):
    """An exception that stands for a bug."""


def bug() -> Exception:
    """Return the exception to raise in code."""
    return InjectedError("a bug")


def bad_disk() -> Exception:
    """Return the exception to raise in operations on files."""
    return OSError(errno.EIO, "Input/output error")


def lost_store() -> Exception:
    """Return the exception to raise in the metadata store."""
    return StoreUnavailableError("the store cannot be reached")


class Injector:
    """Names the places that are passed while it is armed, and raises at number `at` of them."""

    def __init__(self, at: int | None = None) -> None:
        self.names: list[str] = []
        self.is_armed = False
        self.raised_at = ""
        """The name of the place that was the one."""
        self.has_bad_disk = False
        """Whether what was raised came from the files."""
        self._at = at

    def come_by(self, name: str, fault: Callable[[], Exception] = bug) -> None:
        """Here is a place."""
        if not self.is_armed:
            return
        self.names.append(name)
        if len(self.names) - 1 == self._at:
            self.raised_at, self.has_bad_disk = name, fault is bad_disk
            raise fault()


class FaultyFiles(Files):
    """Files on a disk that goes bad."""

    def __init__(self, injector: Injector) -> None:
        self._injector = injector

    def _come_by(self, what: str, path: str = "") -> None:
        _, dot, suffix = path.rpartition("/")[2].rpartition(".")
        kind = "deleted directory" if suffix.endswith("-delete") else dot + suffix if dot else "directory"
        self._injector.come_by(f"file: {what} {kind if path else ''}".rstrip(), bad_disk)

    def write(self, fd: int, data: Readable, position: int) -> int:
        self._come_by("write")
        return super().write(fd, data, position)

    def open(self, path: str) -> OpenFile:
        self._come_by("open", path)
        return super().open(path)

    def open_existing(self, path: str) -> OpenFile:
        self._come_by("open", path)
        return super().open_existing(path)

    def open_readonly(self, path: str) -> OpenFile:
        self._come_by("open", path)
        return super().open_readonly(path)

    def read_file(self, path: str) -> bytes:
        self._come_by("read", path)
        return super().read_file(path)

    def write_file(self, path: str, data: bytes, *, sync: bool = False) -> None:
        self._come_by("write", path)
        super().write_file(path, data, sync=sync)

    def replace_file(self, path: str, data: bytes, *, sync: bool) -> None:
        self._come_by("replace", path)
        super().replace_file(path, data, sync=sync)

    def truncate(self, file: OpenFile, size: int) -> None:
        self._come_by("truncate")
        super().truncate(file, size)

    def preallocate(self, file: OpenFile, size: int) -> None:
        self._come_by("preallocate")
        super().preallocate(file, size)

    def sync(self, file: OpenFile) -> None:
        self._come_by("sync")
        super().sync(file)

    def sync_directory(self, path: str) -> None:
        self._come_by("sync", path)
        super().sync_directory(path)

    def modified_ms(self, path: str) -> int:
        self._come_by("modified", path)
        return super().modified_ms(path)

    def set_modified_ms(self, path: str, modified_ms: int) -> None:
        self._come_by("set modified", path)
        super().set_modified_ms(path, modified_ms)

    def list(self, path: str) -> list[str]:
        self._come_by("list", path)
        return super().list(path)

    def make_directory(self, path: str) -> None:
        self._come_by("make", path)
        super().make_directory(path)

    def volume_bytes(self, path: str) -> tuple[int, int]:
        self._come_by("volume")
        return super().volume_bytes(path)

    def rename(self, source: str, target: str) -> None:
        self._come_by("rename", target)
        super().rename(source, target)

    def remove(self, paths: Iterable[str]) -> None:
        self._come_by("remove")
        super().remove(paths)

    def remove_tree(self, path: str) -> None:
        self._come_by("remove", path)
        super().remove_tree(path)


class FaultyClock:
    """A clock at which code stumbles. Like a loop, it survives what its timers raise."""

    def __init__(self, clock: VirtualClock, injector: Injector) -> None:
        self._clock = clock
        self._injector = injector

    def now_ms(self) -> int:
        code = sys._getframe(1).f_code
        self._injector.come_by(f"code: {code.co_filename.rpartition('/')[2]} {code.co_name}")
        return self._clock.now_ms()

    def elapsed_ms(self) -> int:
        return self._clock.elapsed_ms()

    def call_soon(self, callback: Callable[[], object]) -> None:
        self._clock.call_soon(self._run(callback))

    def call_later(self, delay_ms: float, callback: Callable[[], object]) -> Timer:
        return self._clock.call_later(delay_ms, self._run(callback))

    def call_from_thread(self, callback: Callable[[], object]) -> None:
        self._clock.call_from_thread(self._run(callback))

    def _run(self, callback: Callable[[], object]) -> Callable[[], object]:
        def run() -> None:
            with contained("a timer"):
                callback()
                self._injector.come_by(f"timer: {name_of(callback)}")

        run.__qualname__ = name_of(callback)
        return run


def name_of(callback: Any) -> str:
    """Return the qualified name of a callback."""
    while isinstance(callback, partial):
        callback = callback.func
    return str(callback.__qualname__)


class FaultyRandom(Random):
    """Chance that fails."""

    injector: Injector | None = None

    def getrandbits(self, k: int, /) -> int:
        if self.injector is not None:
            self.injector.come_by("random")
        return super().getrandbits(k)


class FaultyStore(ProcessStore):
    """A metadata store that takes no writes."""

    injector = Injector()

    async def commit(self, session_id: int, ops: Sequence[Op | SetAcl]) -> list[OpResult]:
        self.injector.come_by(f"store: {type(ops[-1]).__name__}", lost_store)
        return await super().commit(session_id, ops)


class FaultyWorker:
    """Threads whose work fails when it is done."""

    def __init__(self, worker: Worker, injector: Injector) -> None:
        self._worker = worker
        self._injector = injector

    def submit(self, work: Callable[[], object]) -> None:
        def run() -> None:
            work()
            self._injector.come_by(f"work: {name_of(work)}")

        self._worker.submit(run)

    def close(self) -> None:
        self._worker.close()


class _FaultyEvent:
    """Something the controller cannot decide, or not refuse."""

    def __init__(self, event: Event[Any], injector: Injector) -> None:
        self._event = event
        self._injector = injector

    def decide(self, state: ControllerState) -> Decision[Any]:
        self._injector.come_by(f"decision: {type(self._event).__name__}")
        return self._event.decide(state)

    def refused(self, error: Any) -> Any:
        self._injector.come_by(f"refusal: {type(self._event).__name__}")
        return self._event.refused(error)


class _Bystander:
    """Waits for ever on a partition, and fails when it is woken."""

    def __init__(self, injector: Injector) -> None:
        self._injector = injector

    def try_complete(self, _key: Hashable) -> None:
        self._injector.come_by("waiter: woken")

    def expire(self) -> None:
        raise AssertionError("it has no deadline")


def faulty_dispatcher(parts: Parts, injector: Injector) -> Dispatcher:
    """A dispatcher over handlers and decisions that fail; adds a listener that fails, too."""

    def submit(event: Event[T]) -> Promise[T]:
        promise: Promise[T] = parts.cluster.controller_election.submit(_FaultyEvent(event, injector))
        promise.then(lambda _: injector.come_by(f"callback: answer to {type(event).__name__}"))
        return promise.map(partial(_passed, injector, f"map: answer to {type(event).__name__}"))

    parts.storage.metadata.subscribe(lambda _old, _new: injector.come_by("listener: new image"))
    services = parts.services
    decisions = Decisions(submit, services.cluster.broker_id, parts.config, parts.environment.random)
    served = tuple(_faulty(each, injector) for each in services.server.served)
    return Dispatcher(
        replace(
            services,
            cluster=replace(services.cluster, decisions=decisions),
            server=replace(services.server, served=served),
        )
    )


def follow(parts: Parts, injector: Injector, topics: Iterable[str]) -> None:
    """Add who fails when it hears of a partition of `topics`: of its role, and of what happens to it."""

    def heard(_: Partition) -> None:
        injector.come_by("listener: leadership")

    for topic in topics:
        parts.storage.replicas.on_leadership(topic, heard)
    for partition in parts.storage.replicas:
        for purgatory in (parts.storage.replicas.produces, parts.storage.replicas.fetches):
            purgatory.wait(_Bystander(injector), (partition,), None)


def _passed(injector: Injector, name: str, value: T) -> T:
    injector.come_by(name)
    return value


def _faulty(served: Served, injector: Injector) -> Served:
    name = served.key.name

    def passed(response: Any) -> Any:
        if isinstance(response, Promise):
            response.then(lambda _: injector.come_by(f"callback: {name}"))
            return response.map(partial(_passed, injector, f"map: {name}"))
        if isinstance(response, Interruptible):
            return Interruptible(passed(response.promise), response.interrupt)
        if isinstance(response, Busy):
            return Busy(passed(response.outcome), response.holds)
        injector.come_by(f"handler: {name}, answered")
        return response

    def handle(context: Any, request: Any) -> Any:
        injector.come_by(f"handler: {name}")
        return passed(served.handler()(context, request))

    faulty: Handler = handle
    return replace(served, handler=lambda: faulty)
