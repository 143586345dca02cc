"""Random requests to a controller: the picture clients see, the store and what a restart finds agree; also
with a broker that answers late and fails some partitions.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kcompat.cluster.control_requests import LeaderAndIsr, Reply, StopReplica
from kcompat.cluster.entity_configs import EntityConfigs
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.controller import loading
from kcompat.controller.requests import metadata_update, updated_partitions
from kcompat.controller.values import PartitionsSpec, TopicSpec
from kcompat.protocol.errors import ErrorCode
from support.cluster_of_one import ClusterFixture
from support.controlled_brokers import FakeBroker
from support.fuzzing import examples

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcompat.cluster.control_requests import Answered, ControlRequest
    from kcompat.cluster.image import TopicImage
    from kcompat.controller.state import ControllerState
    from kcompat.promise import Promise

NAMES = st.sampled_from(["a", "b", "c.d", "c_d", "__consumer_offsets"])
COUNTS = st.integers(1, 4)
REQUESTS = st.lists(
    st.one_of(
        st.tuples(st.just("create"), st.dictionaries(NAMES, COUNTS, min_size=1)),
        st.tuples(st.just("delete"), st.lists(NAMES, min_size=1, unique=True)),
        st.tuples(st.just("grow"), st.dictionaries(NAMES, COUNTS, min_size=1)),
        st.tuples(st.just("configure"), NAMES),
    ),
    max_size=15,
)

Model = dict[str, int]


async def ask(promise: Any) -> Any:
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    promise.then(future.set_result)
    return await asyncio.wait_for(future, 10)


async def play(requests: list[tuple[str, Any]]) -> None:
    async with ClusterFixture() as fixture:
        model: Model = {}
        for kind, what in requests:
            await step(fixture, model, kind, what)
            image = fixture.cluster.image
            image.check_invariants()
            assert {name: len(topic.partitions) for name, topic in image.topics.items()} == model
        loaded = await check_store(fixture)
        assert not loaded.deleting
        assert all(
            part.leader_epoch == 0 for topic in image_of(fixture) for part in topic.partitions.values()
        )


def image_of(fixture: ClusterFixture) -> Iterable[TopicImage]:
    return fixture.cluster.image.topics.values()


async def check_store(fixture: ClusterFixture, failed: Iterable[tuple[str, int]] = ()) -> ControllerState:
    """Return the state that a restart would load, after a check that it equals the broker's image; `failed`
    are offline replicas.
    """
    fixture.store.tree.check_invariants()
    loaded = await loading.load(fixture.session, 1, 1, 0)
    loaded.check_invariants()
    loaded = replace(loaded, failed=frozenset((1, *key) for key in failed))
    restarted = MetadataCache(fixture.cluster.image.cluster_id)
    await EntityConfigs(fixture.session, restarted).read_all()
    restarted.apply(metadata_update(loaded, updated_partitions(loaded, loaded.topics.values())))
    assert restarted.image == fixture.cluster.image
    return loaded


async def step(fixture: ClusterFixture, model: Model, kind: str, what: Any) -> None:
    decisions = fixture.decisions
    if kind == "create":
        specs = [TopicSpec(name, count, 1) for name, count in what.items()]
        for result in await ask(decisions.create_topics(specs)):
            collides = any(known.replace(".", "_") == result.name.replace(".", "_") for known in model)
            assert (result.error is ErrorCode.NONE) == (not collides)
            if not collides:
                model[result.name] = what[result.name]
    elif kind == "delete":
        for name, outcome in (await ask(decisions.delete_topics(what))).items():
            assert (outcome.error is ErrorCode.NONE) == (name in model)
            model.pop(name, None)
    elif kind == "grow":
        specs = [PartitionsSpec(name, count) for name, count in what.items()]
        for name, outcome in (await ask(decisions.create_partitions(specs))).items():
            assert (outcome.error is ErrorCode.NONE) == (name in model and what[name] > model[name])
            if outcome.error is ErrorCode.NONE:
                model[name] = what[name]
    else:
        error = await ask(fixture.configs.replace("topics", what, {"retention.ms": "5"}))
        assert (error is ErrorCode.NONE) == (what in model)


@settings(max_examples=examples(60), deadline=None)
@given(REQUESTS)
def test_picture_store_and_model_agree(requests: list[tuple[str, Any]]) -> None:
    asyncio.run(play(requests))


class LateBroker(FakeBroker):
    """Acts and answers when it is told to; fails partition 0 of the topics in `broken_topics`."""

    def __init__(self, cluster: MetadataCache) -> None:
        super().__init__(cluster)
        self.is_late = False
        self.late: deque[tuple[ControlRequest, Answered]] = deque()
        self.broken_topics: set[str] = set()
        self.logs: set[tuple[str, int]] = set()
        self.not_led: set[tuple[str, int]] = set()

    def give(self, news: ControlRequest, answered: Answered) -> None:
        self.late.append((news, answered))
        assert len(self.late) == 1, "one request at a time"
        if not self.is_late:
            self.act()

    def act(self) -> None:
        if not self.late:
            return
        news, answered = self.late.popleft()
        failed: dict[tuple[str, int], ErrorCode] = {}

        def answer(_: object) -> None:
            answered(Reply(partitions=failed))

        if isinstance(news, LeaderAndIsr):
            for part in news.partitions:
                key = (part.topic, part.index)
                if part.index == 0 and part.topic in self.broken_topics and part.role.leader == 1:
                    failed[key] = ErrorCode.KAFKA_STORAGE_ERROR
                    self.not_led.add(key)
                self.logs.add(key)
        if isinstance(news, StopReplica):
            stopped = {(part.topic, part.index) for part in news.partitions if part.delete}
            broken = {key for key in stopped if key[1] == 0 and key[0] in self.broken_topics}
            failed = dict.fromkeys(broken, ErrorCode.KAFKA_STORAGE_ERROR)
            self.logs -= stopped - broken
            self.not_led -= stopped
        super().give(news, answer)


LATE_REQUESTS = st.lists(
    st.one_of(
        st.tuples(st.just("create"), st.dictionaries(NAMES, COUNTS, min_size=1)),
        st.tuples(st.just("delete"), st.lists(NAMES, min_size=1, unique=True)),
        st.tuples(st.just("grow"), st.dictionaries(NAMES, COUNTS, min_size=1)),
        st.tuples(st.just("configure"), NAMES),
        st.tuples(st.just("break"), NAMES),
        st.tuples(st.just("answer"), st.integers(1, 4)),
    ),
    max_size=25,
)


async def play_late(requests: list[tuple[str, Any]]) -> None:
    async with ClusterFixture(LateBroker) as fixture:
        broker = fixture.broker
        assert isinstance(broker, LateBroker)
        broker.is_late = True
        promises: list[Promise[Any]] = []
        for kind, what in requests:
            match kind:
                case "create":
                    specs = [TopicSpec(name, count, 1) for name, count in what.items()]
                    promises.append(fixture.decisions.create_topics(specs))
                case "delete":
                    promises.append(fixture.decisions.delete_topics(what))
                case "grow":
                    grown = [PartitionsSpec(name, count) for name, count in what.items()]
                    promises.append(fixture.decisions.create_partitions(grown))
                case "configure":
                    if what in fixture.cluster.image.topics:  # handlers know of no other
                        promises.append(fixture.configs.replace("topics", what, {"retention.ms": "5"}))
                case "break":
                    broker.broken_topics ^= {what}
                case _:
                    for _ in range(what):
                        broker.act()
            await ask(fixture.decisions.allocate_producer_ids())  # what was asked before is decided by now
            (await loading.load(fixture.session, 1, 1, 0)).check_invariants()
        broker.is_late = False
        while broker.late:
            broker.act()
            await ask(fixture.decisions.allocate_producer_ids())
        assert all(promise.done for promise in promises)
        loaded = await check_store(fixture, broker.not_led)
        seen = {(topic.name, index) for topic in image_of(fixture) for index in topic.partitions}
        assert {key for key in broker.logs if key[0] not in loaded.deleting} == seen
        led = {
            (topic.name, index): part.leader
            for topic in loaded.topics.values()
            for index, part in enumerate(topic.partitions)
        }
        assert {key for key, leader in led.items() if leader == -1} == broker.not_led


@settings(max_examples=examples(60), deadline=None)
@given(LATE_REQUESTS)
def test_a_broker_that_answers_late_and_fails_some_sees_what_the_store_says(
    requests: list[tuple[str, Any]],
) -> None:
    asyncio.run(play_late(requests))
