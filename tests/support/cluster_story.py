"""The story of a simulated cluster, drawn from a seed: faults and administration while clients work, then
peace, and the question whether every promise was kept.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Final

from support.cluster_admin import Administrator
from support.cluster_clients import Consumer, Producer
from support.cluster_coordinators import Committer
from support.cluster_copiers import Company, Nobody
from support.cluster_disks import DiskAccidents
from support.cluster_rules import ClusterRules
from support.cluster_waiters import Waiter
from support.guarded_store import ViolationError
from support.history import History, violations
from support.virtual_cluster import SESSION_TIMEOUT_MS, VirtualCluster
from support.virtual_loop import run_virtually

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from pathlib import Path

    from support.history import Place
    from support.virtual_loop import VirtualLoop

TOPIC: Final = "stable"
FAULTS: Final = 25
HEALED_WITHIN_S: Final = 60
LAST_LINES: Final = 60
LOOK_EVERY_S: Final = 0.02
ASK_EVERY_S: Final = 0.5
"""Whether all is at peace."""


class StoryError(AssertionError):
    """A promise was broken; the text is the end of the transcript, and how to see it again."""


Fault = Callable[[VirtualCluster], bool]
"""Something that no broker does by itself; whether it was done."""


class Story:
    """One seed's. A `fault` is tried again and again until it is done: the rules have to find it."""

    def __init__(
        self, loop: VirtualLoop, home: Path, seed: str, fault: Fault | None = None, *, in_company: bool = True
    ) -> None:
        self.random = Random(f"{seed} story")
        size, disks = self.random.choice([3, 3, 3, 4, 5]), self.random.choice([1, 1, 2])
        self.cluster = VirtualCluster(loop, home, seed, size, disks=disks)
        self.rules = ClusterRules(self.cluster)
        self.cluster.store.wrote = self._wrote
        self.history = History([], [], {})
        self.admin = Administrator(self.cluster, TOPIC, Random(f"{seed} admin"))
        self.disks = DiskAccidents(self.cluster, Random(f"{seed} disks"))
        self.company = Company(self.cluster, TOPIC, seed) if in_company else Nobody()
        self._seed = seed
        self._fault = fault
        self._work: set[asyncio.Task[None]] = set()
        self._company_work: set[asyncio.Task[None]] = set()
        self._reading: set[asyncio.Task[None]] = set()
        self._producers: dict[Place, Producer] = {}
        self._stops: set[asyncio.Task[None]] = set()

    async def run(self) -> list[str]:
        """The transcript. Raises StoryError."""
        faults = _LoggedFaults()
        loggers = [logging.getLogger(name) for name in ("kcompat", "asyncio")]
        for logger in loggers:
            logger.addHandler(faults)
        try:
            await self._tell()
            faults.check()
        except Exception as error:
            raise StoryError(self._transcript(error)) from error
        finally:
            for logger in loggers:
                logger.removeHandler(faults)
            for task in (*self._work, *self._company_work, *self._reading, *self._stops):
                task.cancel()
            self.company.stop()
            await self.cluster.close()
        self.cluster.happened("the end")
        return self.cluster.events

    def _transcript(self, error: BaseException) -> str:
        lines = self.cluster.events[-LAST_LINES:]
        return "\n".join([*lines, "", f"seed {self._seed}: {error!r}"])

    # -- the story ---------------------------------------------------------------------------------------

    async def _tell(self) -> None:
        cluster = self.cluster
        for broker_id in cluster.broker_ids:
            cluster.start(broker_id)
        await cluster.started()
        async with asyncio.timeout(20):
            await self.admin.insist_on(TOPIC, partitions=2)
            await self.company.prepare(self.admin)
        self._follow_partitions()
        committer = Committer(cluster, (TOPIC, 0), Random(f"{self._seed} committer"))
        self._begin(committer.run())
        for work in self.company.work():
            self._company_work.add(asyncio.ensure_future(work))
        for work in self.company.watch():
            self._reading.add(asyncio.ensure_future(work))
        await self._pass(2)
        for _ in range(FAULTS):
            await self._pass(self.random.expovariate(1.5))
            await self._trouble()
            self._look(thoroughly=True)
        await self._heal()
        await self._kill_a_coordinator()
        for producer in self._producers.values():
            producer.is_done = True
        committer.is_done = True
        async with asyncio.timeout(30):
            await asyncio.gather(*self._work)
        await self._until(self._unquiet, "in sync")
        async with asyncio.timeout(30):
            await committer.check()
            for place in self._producers:
                reader = Consumer(cluster, place, Random(f"{self._seed} end"), self.history)
                self.history.final[place] = await reader.read_to_the_end()
        await self._finish_company()
        await self._until(self.rules.coordinators.unsettled, "decided")
        self.rules.coordinators.check_decisions()
        await self._pass(3)
        self._look(thoroughly=True)
        for task in self._reading:
            task.cancel()
        async with asyncio.timeout(30):
            await self.company.check(self.history.final)
        found = violations(self.history)
        if found:
            raise ViolationError("; ".join(found[:5]))
        await self._until(self.rules.unlike, "alike")
        await self._until(self.rules.strays, "tidy")
        self.admin.check()

    async def _finish_company(self) -> None:
        """Have the company do all that there is to do, and let it end."""
        ends = {index: records[-1][0] + 1 for (_, index), records in self.history.final.items() if records}
        deadline_s = self.cluster.now_s + HEALED_WITHIN_S
        while left := await self.company.unfinished(ends):
            if self.cluster.now_s > deadline_s:
                raise ViolationError(f"after {HEALED_WITHIN_S} s {'; '.join(left)}")
            await self._pass(ASK_EVERY_S)
        self.company.finish()
        async with asyncio.timeout(30):
            await asyncio.gather(*self._company_work)

    def _begin(self, work: Coroutine[object, object, None]) -> None:
        self._work.add(asyncio.ensure_future(work))

    def _follow_partitions(self) -> None:
        """Have a producer and a consumer for each partition that there is."""
        for place in self.cluster.store.states:
            if place[0] == TOPIC and place not in self._producers:
                seed = f"{self._seed} {place}"
                producer = Producer(self.cluster, place, Random(f"{seed} producer"), self.history, self.rules)
                self._producers[place] = producer
                self._begin(producer.run())
                consumer = Consumer(self.cluster, place, Random(f"{seed} consumer"), self.history)
                self._reading.add(asyncio.ensure_future(consumer.run()))

    async def _pass(self, seconds: float) -> None:
        """Let time pass, and look again and again."""
        while seconds > 0:
            await asyncio.sleep(min(seconds, LOOK_EVERY_S))
            seconds -= LOOK_EVERY_S
            if self._fault is not None:
                self._look()  # at what was before
                self._fault = None if self._fault(self.cluster) else self._fault
            self._look()

    def _wrote(self, what: str) -> None:
        """Look at once who is in the ISR that was just stored, until something is found."""
        self.cluster.happened(what)
        if self.cluster.store.broken:
            return
        try:
            self.rules.check()
        except ViolationError as error:
            self.cluster.store.broken.append(str(error))

    def _look(self, *, thoroughly: bool = False) -> None:
        self.cluster.look_at_starts()
        self.cluster.lose_what_was_not_synced()
        self.rules.check(thoroughly=thoroughly)
        self._follow_partitions()
        self.company.look()
        for task in (*self._work, *self._company_work, *self._reading, *self._stops):
            if task.done() and not task.cancelled():
                task.result()

    # -- trouble -----------------------------------------------------------------------------------------

    async def _trouble(self) -> None:
        chosen: Callable[[], None] = self.random.choices(
            [
                *(
                    self._kill,
                    self._kill_all,
                    self._cut_power,
                    self._start,
                    self._stop,
                    self._isolate,
                    self._cut,
                ),
                *(self._slow, self._lose_store, self._mend_store, self.cluster.heal, self._administer),
                *(self.disks.fill, self.disks.fail, self.disks.mend),
            ],
            [3, 1, 2, 8, 2, 2, 2, 1, 2, 2, 3, 6, 1, 1, 2],
        )[0]
        chosen()

    def _some(self) -> int | None:
        running = sorted(self.cluster.running)
        return self.random.choice(running) if running else None

    def _kill(self) -> None:
        broker_id = self._some()
        if broker_id is not None:
            self.cluster.kill(broker_id)

    def _kill_all(self) -> None:
        """All that run are killed at once and start again, long before their sessions end."""
        killed = sorted(self.cluster.running)
        for broker_id in killed:
            self.cluster.kill(broker_id)
        for broker_id in killed:
            self.cluster.start(broker_id)

    def _cut_power(self) -> None:
        broker_id = self._some()
        if broker_id is not None:
            self.cluster.cut_power(broker_id)

    def _start(self) -> None:
        cluster = self.cluster
        down = [
            each
            for each in cluster.broker_ids
            if each not in cluster.running
            and each not in cluster.starting
            and each not in cluster.without_power
            and each not in cluster.stopping
        ]
        if down:
            cluster.start(self.random.choice(down))

    def _stop(self) -> None:
        broker_id = self._some()
        if broker_id is not None:
            self._stops.add(self.cluster.stop(broker_id))

    def _isolate(self) -> None:
        broker_id = self._some()
        if broker_id is not None:
            self.cluster.isolate(broker_id)

    def _cut(self) -> None:
        source, target = self.random.sample(self.cluster.broker_ids, 2)
        self.cluster.cut(source, target)

    def _slow(self) -> None:
        source, target = self.random.sample(self.cluster.broker_ids, 2)
        self.cluster.slow(source, target, self.random.uniform(0.05, 1))

    def _lose_store(self) -> None:
        broker_id = self._some()
        if broker_id is not None:
            self.cluster.cut_from_store(broker_id)

    def _mend_store(self) -> None:
        broker_id = self._some()
        if broker_id is not None:
            self.cluster.mend_store(broker_id)

    def _administer(self) -> None:
        self._stops.add(asyncio.ensure_future(self.admin.do_something()))

    # -- peace -------------------------------------------------------------------------------------------

    async def _heal(self) -> None:
        cluster = self.cluster
        cluster.heal()
        self.disks.mend_all()
        # What is starting may have found a disk failed before it was mended.
        await self._until(lambda: [f"{each} starts" for each in cluster.starting], "started")
        for broker_id in [each for each in cluster.running if cluster.has_lost_disk(each)]:
            self._stops.add(cluster.stop(broker_id))
        await self._until(lambda: [f"{each} stops" for each in cluster.stopping], "stopped")
        await self._pass(2 * SESSION_TIMEOUT_MS / 1000)
        cluster.without_power.clear()
        for broker_id in cluster.broker_ids:
            if broker_id not in cluster.running and broker_id not in cluster.starting:
                self.disks.drop_what_is_left(broker_id)
                cluster.start(broker_id)
        async with asyncio.timeout(HEALED_WITHIN_S):
            await cluster.started()
        await self._until(self._unquiet, "in sync")

    async def _kill_a_coordinator(self) -> None:
        """See that a client outlives its coordinator where nothing else happens to the cluster."""
        waiter = Waiter(self.cluster, (TOPIC, 0), Random(f"{self._seed} waiter"))
        killed = await waiter.outlive_coordinator()
        if killed is not None:
            self.cluster.start(killed)
            await self.cluster.started()
            await self._until(self._unquiet, "in sync")

    def _unquiet(self) -> list[str]:
        """Return a sentence for each thing that is not yet as it must be in the end."""
        store = self.cluster.store
        found = [
            f"{path} has {names}" for path in ("/admin/delete_topics",) if (names := store.children(path))
        ]
        if "/admin/reassign_partitions" in store.tree.nodes:
            found.append("a reassignment goes on")
        for name, topic in store.topics().items():
            for index, replicas in enumerate(topic.replicas):
                state = store.states.get((name, index))
                if state is None or set(state.isr) != set(replicas) or state.leader < 0:
                    found.append(f"{name}-{index} of {replicas} is {state}")
            if topic.adding or topic.removing:
                found.append(f"{name} is reassigned: {topic}")
        for broker_id, node in self.cluster.running.items():
            image = node.parts.storage.metadata.image
            if sorted(image.brokers) != self.cluster.broker_ids or image.controller_id not in image.brokers:
                found.append(
                    f"broker {broker_id} sees {sorted(image.brokers)}, controller {image.controller_id}"
                )
            shown = {
                (name, index): (info.leader, info.leader_epoch, set(info.isr))
                for name, topic in image.topics.items()
                for index, info in topic.partitions.items()
            }
            stored = {
                place: (state.leader, state.leader_epoch, set(state.isr))
                for place, state in store.states.items()
            }
            if shown != stored:
                found.append(f"broker {broker_id} is shown {shown}, stored is {stored}")
        return found

    async def _until(self, problems: Callable[[], list[str]], what: str) -> None:
        """Wait until there are none."""
        for _ in range(int(HEALED_WITHIN_S / ASK_EVERY_S)):
            if not problems():
                self.cluster.happened(f"all is {what}")
                return
            await self._pass(ASK_EVERY_S)
        raise ViolationError(f"after {HEALED_WITHIN_S} s not {what}: {'; '.join(problems())}")


class _LoggedFaults(logging.Handler):
    """Collects tracebacks that brokers, or the loop for them, log: contained faults."""

    def __init__(self) -> None:
        super().__init__()
        self._found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[0] is not None:
            self._found.append(self.format(record))

    def check(self) -> None:
        """Raise ViolationError if there was one."""
        if self._found:
            raise ViolationError(f"the log shows {self._found[0]}")


def tell(home: Path, seed: str, fault: Fault | None = None, *, in_company: bool = True) -> list[str]:
    """The transcript of what a seed brings about; without company there are groups that commit alone, and no
    transactions. Raises StoryError.
    """
    home.mkdir()
    return run_virtually(lambda loop: Story(loop, home, seed, fault, in_company=in_company).run())
