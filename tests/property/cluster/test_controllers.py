"""Controllers come and go, brokers die, return, bounce and answer late or never, and writes are refused: the
invariants I1, I2, I7 and I9 hold at every write, and everything ends as it must.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kcompat.cluster import znodes
from kcompat.controller.creation import CreatePartitions, CreateTopics
from kcompat.controller.deletion import DeleteTopics
from kcompat.controller.leader_election_requests import BalanceLeaders, ElectLeaders
from kcompat.controller.reassignment import Reassign
from kcompat.controller.shutdown import ControlledShutdown
from kcompat.controller.values import ElectionType, PartitionsSpec, TopicSpec
from kcompat.store.interface import BadVersionError, NoNodeError
from support.competing_controllers import ControllersFixture
from support.fuzzing import examples

BROKERS = 4
BROKER = st.integers(1, BROKERS)
TOPIC = st.sampled_from(["a", "b"])
INDEX = st.integers(0, 1)
REPLICAS = st.lists(BROKER, min_size=1, max_size=3, unique=True)

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("create"), TOPIC, st.lists(REPLICAS, min_size=1, max_size=2)),
        st.tuples(st.just("create"), TOPIC, st.lists(REPLICAS, min_size=1, max_size=2)),
        st.tuples(st.just("delete"), TOPIC),
        st.tuples(st.just("grow"), TOPIC),
        st.tuples(st.just("reassign"), TOPIC, INDEX, st.none() | REPLICAS),
        st.tuples(st.just("reassign"), TOPIC, INDEX, REPLICAS),
        st.tuples(st.just("elect"), TOPIC, INDEX),
        st.tuples(st.just("balance")),
        st.tuples(st.just("shut down"), BROKER),
        st.tuples(st.just("kill"), BROKER),
        st.tuples(st.just("kill"), BROKER),
        st.tuples(st.just("revive"), BROKER),
        st.tuples(st.just("revive"), BROKER),
        st.tuples(st.just("hold"), BROKER),
        st.tuples(st.just("release"), BROKER),
        st.tuples(st.just("cut off"), BROKER),
        st.tuples(st.just("reconnect"), BROKER),
        st.tuples(st.just("propose"), BROKER, st.sets(BROKER)),
        st.tuples(st.just("propose"), BROKER, st.sets(BROKER)),
        st.tuples(st.just("touch"), TOPIC, INDEX),
        st.tuples(st.just("depose")),
        st.tuples(st.just("wait"), st.sampled_from([0, 1, 3, 60])),
    ),
    max_size=30,
)


async def step(fixture: ControllersFixture, kind: str, *what: Any) -> None:  # noqa: C901
    match (kind, *what):
        case ("create", topic, replicas):
            size = len(replicas[0])
            assigned = [(index, each) for index, each in enumerate(replicas) if len(each) == size]
            spec = TopicSpec(topic, assignments=[(at, each) for at, (_, each) in enumerate(assigned)])
            config = fixture.members[1].broker.config.current
            fixture.submit(CreateTopics([spec], False, config, fixture.random))
        case ("delete", topic):
            fixture.submit(DeleteTopics([topic]))
        case ("grow", topic):
            fixture.submit(CreatePartitions([PartitionsSpec(topic, 2)], False))
        case ("reassign", topic, index, replicas):
            fixture.submit(Reassign({(topic, index): None if replicas is None else tuple(replicas)}))
        case ("elect", topic, index):
            fixture.submit(ElectLeaders(ElectionType.PREFERRED, [(topic, index)]))
        case ("balance",):
            fixture.submit(BalanceLeaders(0))
        case ("shut down", broker_id):
            fixture.leaving.add(broker_id)
            fixture.submit(ControlledShutdown(broker_id))
        case ("kill", broker_id):
            await fixture.kill(broker_id)
        case ("revive", broker_id):
            await fixture.revive(broker_id)
        case ("hold", broker_id):
            fixture.members[broker_id].broker.is_held = True
        case ("release", broker_id):
            fixture.members[broker_id].broker.release()
        case ("cut off", broker_id):
            fixture.members[broker_id].session.suspend()
        case ("reconnect", broker_id):
            fixture.members[broker_id].session.resume()
        case ("propose", broker_id, isr):
            fixture.propose(broker_id, lambda role: [each for each in role.replicas if each in isr])
        case ("touch", topic, index):
            await touch(fixture, topic, index)
        case ("depose",):
            data, stat = await fixture.outsider.get(znodes.CONTROLLER_EPOCH)
            with suppress(BadVersionError):
                await fixture.outsider.set(znodes.CONTROLLER_EPOCH, b"%d" % (int(data) + 1), stat.version)
        case ("wait", steps):
            await fixture.run(steps)


async def touch(fixture: ControllersFixture, topic: str, index: int) -> None:
    """Somebody else writes the state of a partition as it is: the version is another, and writes that expect
    the one before are refused.
    """
    path = znodes.partition_state_path(topic, index)
    with suppress(NoNodeError, BadVersionError):
        data, stat = await fixture.outsider.get(path)
        epoch = await fixture.outsider.exists(znodes.CONTROLLER_EPOCH)
        assert epoch is not None
        await fixture.judged_touch(path, data, stat.version, epoch.version)


async def check_end(fixture: ControllersFixture) -> None:
    """One controller, every partition led and in sync where it shall be, and everybody knows."""
    (controller,) = fixture.controllers()
    stored = await fixture.stored()
    stored.check_invariants()
    assert not stored.deleting
    for broker_id, member in fixture.members.items():
        assert member.controller_election.controller_id == controller
        broker = member.broker
        image = broker.cluster.image
        image.check_invariants()
        assert image.controller_id == controller
        assert sorted(image.brokers) == sorted(fixture.members)
        shown = {
            (name, index): (part.leader, part.leader_epoch, part.isr, part.replicas)
            for name, topic in image.topics.items()
            for index, part in topic.partitions.items()
        }
        assert shown == {
            (topic.name, index): (part.leader, part.leader_epoch, part.isr, part.replicas)
            for topic in stored.topics.values()
            for index, part in enumerate(topic.partitions)
        }
        mine = {
            (topic.name, index): (part.leader, part.leader_epoch, part.replicas)
            for topic in stored.topics.values()
            for index, part in enumerate(topic.partitions)
            if broker_id in part.replicas
        }
        assert {
            key: (role.leader, role.leader_epoch, role.replicas) for key, role in broker.roles.items()
        } == mine
        # A replica that was moved away from a dead broker is left on its disk, as with Kafka.
        assert set(broker.logs) >= set(mine)
    for topic in stored.topics.values():
        for part in topic.partitions:
            assert part.leader != -1
            assert not part.is_reassigned
            assert set(part.isr) == set(part.replicas)


async def play(steps: list[tuple[Any, ...]]) -> None:
    async with ControllersFixture(BROKERS) as fixture:
        for each in steps:
            await step(fixture, *each)
            await fixture.run(2)
        await fixture.heal()
        await check_end(fixture)


@settings(max_examples=examples(60), deadline=None)
@given(STEPS)
def test_the_invariants_hold_and_everything_ends_as_it_must(steps: list[tuple[Any, ...]]) -> None:
    asyncio.run(play(steps))
