"""Random requests to a controller: the picture clients see, the store and what a restart finds agree."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kcompat.cluster.feed import MetadataCache
from kcompat.controller import loading
from kcompat.controller.requests import all_configs, picture
from kcompat.controller.values import PartitionsSpec, TopicSpec
from kcompat.protocol.errors import ErrorCode
from support.cluster_world import ClusterWorld

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
    async with ClusterWorld() as world:
        model: Model = {}
        for kind, what in requests:
            await step(world, model, kind, what)
            image = world.cluster.image
            image.check_invariants()
            assert {name: len(topic.partitions) for name, topic in image.topics.items()} == model
        world.store.tree.check_invariants()
        image = world.cluster.image
        loaded = await loading.load(world.session, 1, 1, 0)
        loaded.check_invariants()
        assert not loaded.deleting
        restarted = MetadataCache(image.cluster_id)
        restarted.hear(all_configs(loaded))
        restarted.hear(picture(loaded, loaded.topics.values()))
        assert restarted.image == image
        assert all(part.leader_epoch == 0 for topic in image.topics.values() for part in topic.partitions)


async def step(world: ClusterWorld, model: Model, kind: str, what: Any) -> None:
    decisions = world.decisions
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
        error = await ask(decisions.set_configs("topics", what, {"retention.ms": "5"}))
        assert (error is ErrorCode.NONE) == (what in model)


@settings(max_examples=60, deadline=None)
@given(REQUESTS)
def test_picture_store_and_model_agree(requests: list[tuple[str, Any]]) -> None:
    asyncio.run(play(requests))
