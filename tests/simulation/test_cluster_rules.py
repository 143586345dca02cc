"""The rules of the stories find faults of replication: one is planted for each of the invariants, in the
brokers or in the controller's writes.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from kcompat.cluster.znodes import (
    CONTROLLER_EPOCH,
    encode_epoch,
    encode_partition_state,
    partition_state_path,
)
from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import build_batch, read_header
from kcompat.records.record import Record
from kcompat.replication.isr import Committed
from kcompat.replication.leading.leader import IsrRule, Leader
from kcompat.replication.role import Follower
from kcompat.store.interface import ANY_VERSION, Check, SetData
from support.cluster_story import TOPIC, StoryError, tell
from support.default_settings import log_settings
from support.recorded_files import memory_directory

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kcompat.cluster.znodes import StoredPartitionState
    from kcompat.replication.partition import Partition
    from kcompat.store.interface import Op
    from support.cluster_story import Fault
    from support.history import Place
    from support.virtual_cluster import VirtualCluster

SEED = "planted"
SEED_OF_FOUR = "planted 10"
"""Four brokers, so that each partition has one which is no replica of it."""
LONG_AGO_MS = 1_000_000
PLACE = r"stable-\d"
REPLICA = rf"{PLACE} of broker \d"
STATE = r"StoredPartitionState\("
NOBODY_LAGS = IsrRule(LONG_AGO_MS, lambda _: True, max_fetch_wait_ms=500, session_timeout_ms=18_000)


# -- in what controllers write -------------------------------------------------------------------------------


def commit(cluster: VirtualCluster, ops: Sequence[Op]) -> None:
    """Have the store write this; what keeps it from that is logged, and ends the story."""
    asyncio.ensure_future(cluster.store.commit(0, ops)).add_done_callback(lambda done: done.result())


def version_of(cluster: VirtualCluster, path: str) -> int:
    return cluster.store.tree.get(path).version


def guard(cluster: VirtualCluster) -> Op:
    """The condition on which a controller writes."""
    return Check(CONTROLLER_EPOCH, version_of(cluster, CONTROLLER_EPOCH))


def setting(cluster: VirtualCluster, place: Place, state: StoredPartitionState) -> Op:
    """Write a state, on condition of its version."""
    path = partition_state_path(*place)
    return SetData(path, encode_partition_state(state), version_of(cluster, path))


def store(cluster: VirtualCluster, place: Place, state: StoredPartitionState) -> bool:
    commit(cluster, [guard(cluster), setting(cluster, place, state)])
    return True


def led_states(cluster: VirtualCluster) -> Iterator[tuple[Place, StoredPartitionState]]:
    """States of the topic, of partitions that have a leader and others in their ISR."""
    for place, state in cluster.store.states.items():
        if place[0] == TOPIC and state.leader in state.isr and len(state.isr) > 1:
            yield place, state


def store_two_leaders(cluster: VirtualCluster) -> bool:
    """Another is written down as the leader of the same epoch."""
    for place, state in led_states(cluster):
        other = next(each for each in state.isr if each != state.leader)
        return store(cluster, place, replace(state, leader=other))
    return False


def store_older_epoch(cluster: VirtualCluster) -> bool:
    for place, state in led_states(cluster):
        if state.leader_epoch:
            return store(cluster, place, replace(state, leader_epoch=state.leader_epoch - 1))
    return False


def store_for_older_controller(cluster: VirtualCluster) -> bool:
    """A controller writes that has been succeeded."""
    for place, state in led_states(cluster):
        older = replace(state, controller_epoch=state.controller_epoch - 1)
        return store(cluster, place, older)
    return False


def store_older_controller(cluster: VirtualCluster) -> bool:
    """The epoch of controllers itself is set back."""
    version = version_of(cluster, CONTROLLER_EPOCH)
    commit(cluster, [SetData(CONTROLLER_EPOCH, encode_epoch(0), version)])
    return True


def elect_from_outside(cluster: VirtualCluster) -> bool:
    """A replica is elected that had fallen out of the ISR."""
    topics = cluster.store.topics()
    for place, state in led_states(cluster):
        for other in set(topics[place[0]].replicas[place[1]]) - set(state.isr):
            elected = replace(state, leader=other, leader_epoch=state.leader_epoch + 1, isr=(other,))
            return store(cluster, place, elected)
    return False


def store_leader_outside(cluster: VirtualCluster) -> bool:
    """The leader is taken out of the ISR."""
    for place, state in led_states(cluster):
        others = tuple(each for each in state.isr if each != state.leader)
        return store(cluster, place, replace(state, isr=others))
    return False


def store_empty_isr(cluster: VirtualCluster) -> bool:
    for place, state in led_states(cluster):
        none = replace(state, leader=-1, leader_epoch=state.leader_epoch + 1, isr=())
        return store(cluster, place, none)
    return False


def store_unguarded(cluster: VirtualCluster) -> bool:
    """A state is written by somebody who may be no controller any more."""
    for place, state in led_states(cluster):
        commit(cluster, [setting(cluster, place, state)])
        return True
    return False


def store_guarded_by_nothing(cluster: VirtualCluster) -> bool:
    """Write a state with a check of the controller epoch that accepts any version."""
    for place, state in led_states(cluster):
        commit(cluster, [Check(CONTROLLER_EPOCH, ANY_VERSION), setting(cluster, place, state)])
        return True
    return False


def store_over_anything(cluster: VirtualCluster) -> bool:
    """A state is written whatever is there."""
    for place, state in led_states(cluster):
        data = encode_partition_state(state)
        commit(cluster, [guard(cluster), SetData(partition_state_path(*place), data, ANY_VERSION)])
        return True
    return False


# -- in brokers ----------------------------------------------------------------------------------------------


def replicas(cluster: VirtualCluster) -> Iterator[tuple[int, Partition]]:
    for broker_id, node in cluster.running.items():
        yield from ((broker_id, each) for each in node.parts.storage.replicas if each.topic == TOPIC)


def leaders(cluster: VirtualCluster) -> Iterator[tuple[int, Partition, Leader]]:
    """Return the leaders that the store confirms, if they have committed records."""
    for broker_id, partition in replicas(cluster):
        machine, state = partition.state, cluster.store.states.get((TOPIC, partition.index))
        if not isinstance(machine, Leader) or state is None or machine.epoch != state.leader_epoch:
            continue
        if len(state.isr) > 1 and machine.high_watermark > partition.log.log_start_offset:
            yield broker_id, partition, machine


def followers(cluster: VirtualCluster) -> Iterator[tuple[int, Partition, Partition, Leader]]:
    """Return the replicas that follow a leader in its epoch, each with the leader's replica."""
    for _, led, leader in leaders(cluster):
        for broker_id, partition in replicas(cluster):
            is_one = partition.index == led.index and isinstance(partition.state, Follower)
            if is_one and partition.state.epoch == leader.epoch:
                yield broker_id, partition, led, leader


def followers_in_sync(cluster: VirtualCluster) -> Iterator[tuple[int, Partition, Partition, Leader]]:
    for broker_id, partition, led, leader in followers(cluster):
        if broker_id in cluster.store.states[TOPIC, led.index].isr:
            yield broker_id, partition, led, leader


def machine_of(kind: type[Leader], broker_id: int, partition: Partition) -> Leader:
    """Return the machine that makes a replica lead in the epoch that it has."""
    return kind(
        broker_id,
        replace(partition.role, leader=broker_id),
        NOBODY_LAGS,
        min_insync_replicas=2,
        log_end_offset=partition.log.log_end_offset,
        high_watermark=partition.high_watermark,
        now_ms=0,
    )


def lead_beside_the_leader(cluster: VirtualCluster) -> bool:
    """A follower takes itself for the leader."""
    for broker_id, partition, _, _ in followers(cluster):
        partition.state = machine_of(Leader, broker_id, partition)
        return True
    return False


def go_back_to_an_older_role(cluster: VirtualCluster) -> bool:
    """A follower obeys a controller's request that was overtaken by another."""
    for _, partition, _, leader in followers(cluster):
        if leader.epoch:
            partition.role = replace(partition.role, leader_epoch=leader.epoch - 1)
            partition.state = Follower(leader.epoch - 1, partition.high_watermark)
            return True
    return False


def write_what_the_leader_has_not(cluster: VirtualCluster) -> bool:
    """A follower appends something of its own."""
    for _, partition, led, leader in followers(cluster):
        end = partition.log.log_end_offset
        if end == led.log.log_end_offset:
            own = build_batch([Record(0, 1, None, b"mine")], base_offset=end, leader_epoch=leader.epoch)
            return partition.log.append_as_follower(memoryview(own), leader.epoch, 0).error == 0
    return False


def lower_the_high_watermark(cluster: VirtualCluster) -> bool:
    for _, partition, leader in leaders(cluster):
        leader.high_watermark = partition.log.log_start_offset
        return True
    return False


def lose_what_was_committed(cluster: VirtualCluster) -> bool:
    """A member of the ISR cuts its log below what it has told that it has."""
    for _, partition, _, leader in followers_in_sync(cluster):
        below = leader.high_watermark - 1
        partition.state = Follower(partition.state.epoch, min(partition.high_watermark, below))
        return partition.log.truncate_to(below)
    return False


class TakeTheHighWatermarkBeforeCutting:
    """A leader that is isolated writes what it alone has, and the others elect another. When it follows that,
    it takes the high watermark from the answer that tells it where its log differs, and does not cut first.
    """

    def __init__(self) -> None:
        self._with_tail: tuple[int, Partition] | None = None

    def __call__(self, cluster: VirtualCluster) -> bool:
        for _, partition, _, leader in followers(cluster):
            log = partition.log
            if log.epochs.latest < leader.epoch and log.log_end_offset > leader.epoch_start_offset:
                partition.state = Follower(leader.epoch, log.log_end_offset)
                return True
        old = self._with_tail
        if old is None or old not in replicas(cluster):
            self._with_tail = next((write_a_tail(cluster, *each) for each in leaders(cluster)), None)
        elif old[1].is_leader and cluster.store.states[TOPIC, old[1].index].leader_epoch > old[1].state.epoch:
            cluster.heal()
            for other in set(cluster.broker_ids) - {old[0]}:
                cluster.slow(other, old[0], 1)  # so that it is seen before it has cut
        return False


def write_a_tail(
    cluster: VirtualCluster, broker_id: int, partition: Partition, _: Leader
) -> tuple[int, Partition]:
    """Have a leader write something that no other gets."""
    cluster.isolate(broker_id)
    batch = memoryview(build_batch([Record(0, 1, None, b"a tail")]))
    partition.append(batch, read_header(batch), 1, 0)
    return broker_id, partition


def wait_for_nobody(cluster: VirtualCluster) -> bool:
    """A leader takes an ISR for stored that the controller was not even asked for."""
    for broker_id, partition, leader in leaders(cluster):
        if isinstance(leader.state, Committed):
            pending = leader.shrink(partition.log.log_end_offset + 1, 10**15)
            assert pending is not None
            return leader.accepted(pending, leader.epoch, leader.partition_epoch, (broker_id,))
    return False


class Hasty(Leader):
    """Says that everything is committed."""

    __slots__ = ()

    def committed(self, required_offset: int) -> ErrorCode | None:
        return ErrorCode.NONE


def acknowledge_before_it_is_committed(cluster: VirtualCluster) -> bool:
    """While a member of its ISR cannot hear of it."""
    for other, _, partition, _ in followers_in_sync(cluster):
        leader = partition.role.leader
        partition.state = machine_of(Hasty, leader, partition)
        cluster.cut(leader, other)
        return True
    return False


def acknowledge_alone(cluster: VirtualCluster) -> bool:
    """Leaders forget, time and again, that acks=all asks for two in sync."""
    for _, partition in replicas(cluster):
        partition.require_in_sync(1)
    return False


def hold_what_others_have(cluster: VirtualCluster) -> bool:
    """A broker keeps a replica that has moved. What it holds is of a later epoch than any: no broker deletes
    that.
    """
    for broker_id, node in cluster.running.items():
        topic, logs = cluster.store.topics()[TOPIC], node.parts.storage.logs
        for index, replicas in enumerate(topic.replicas):
            if broker_id not in replicas and logs.get(TOPIC, index) is None:
                log = logs.create(TOPIC, index, topic.topic_id, log_settings())
                batch = memoryview(build_batch([Record(0, 1, None, b"left")]))
                return log.append_as_leader(batch, read_header(batch), 10**6, 0).error == 0
    return False


@pytest.mark.parametrize(
    ("fault", "verdict"),
    [
        (store_two_leaders, f"I1: two leaders in an epoch: {PLACE}: {STATE}.* then {STATE}"),
        (lead_beside_the_leader, rf"I1: {REPLICA} leads in epoch \d+, as broker \d did"),
        (store_older_epoch, f"I2: an epoch falls: {PLACE}: {STATE}.* then {STATE}"),
        (store_for_older_controller, f"I2: an epoch falls: {PLACE}: {STATE}.* then {STATE}"),
        (store_older_controller, r"I2: the controller's epoch fell from \d+ to 0"),
        (go_back_to_an_older_role, rf"I2: {REPLICA} went back from epoch \d+ to \d+"),
        (write_what_the_leader_has_not, rf"I3: {REPLICA} has Batch\(.*\), where another has \(\d+, \d+\)"),
        (lower_the_high_watermark, rf"I4: the high watermark of {REPLICA} fell from \d+ to \d+"),
        (
            lose_what_was_committed,
            r"I4: broker \d is in the ISR of .* and ends at \d+, below the high watermark",
        ),
        (wait_for_nobody, rf"I5: \('stable', \d\) is led with Committed\(.*\), stored is {STATE}"),
        (acknowledge_before_it_is_committed, r"I6: what was acknowledged at \d+ of .* is not on broker \d"),
        (acknowledge_alone, r"I6: broker \d acknowledges what was sent to .*, and since .* too few in sync"),
        (elect_from_outside, f"I7: not elected from the ISR: {PLACE}: {STATE}.* then {STATE}"),
        (store_leader_outside, f"the leader is not in the ISR: {PLACE}: {STATE}"),
        (store_empty_isr, f"the ISR is empty: {PLACE}: {STATE}"),
        (TakeTheHighWatermarkBeforeCutting(), rf"I4: {REPLICA} has Batch\(.* below its high watermark"),
        (store_unguarded, r"I9: no guard of the controller's epoch in \[SetData\("),
        (store_guarded_by_nothing, r"I9: no guard of the controller's epoch in \[Check\("),
        (store_over_anything, r"I9: a state written on no condition: SetData\("),
    ],
)
def test_a_planted_fault_is_found(fault: Fault, verdict: str) -> None:
    insist_on(verdict, fault, SEED)


def test_a_planted_directory_is_found_in_the_end() -> None:
    verdict = r"not tidy: broker \d holds stable-\d of \(\d, \d, \d\)"
    insist_on(verdict, hold_what_others_have, SEED_OF_FOUR)


def insist_on(verdict: str, fault: Fault, seed: str) -> None:
    """See that the story of a seed, with a fault, ends with this verdict."""
    with memory_directory() as home, pytest.raises(StoryError) as found:
        tell(home / "story", seed, fault, in_company=False)
    *transcript, _, said = str(found.value).splitlines()
    assert said.startswith(f"seed {seed}: ViolationError(")
    assert re.search(verdict, said.replace("\\", "")), said
    assert transcript
