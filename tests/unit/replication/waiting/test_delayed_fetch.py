from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.cluster.control_requests import Role
from kcompat.protocol.errors import ErrorCode
from kcompat.replication.reading import FetchSpec, PartitionReader
from kcompat.replication.waiting.delayed_fetch import DelayedFetch
from kcompat.replication.waiting.delayed_progress import DelayedProgress
from kcompat.replication.waiting.fetch_session import FetchTarget
from support.current import current

from ..conftest import ME, append

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.replication.partition import Partition

    MakePartition = Callable[..., Partition]

    from kcompat.replication.purgatory import Delayed
    from kcompat.replication.replica_manager import ReplicaManager
    from kcompat.replication.waiting.delayed_fetch import Results
    from support.virtual_clock import VirtualClock


OTHER = 2
IN_SYNC_WITH_NOBODY = Role(leader=ME, leader_epoch=0, isr=(ME,), replicas=(ME, OTHER))


def wait_for_commit(
    replicas: ReplicaManager, partition: Partition, offset: int
) -> tuple[Delayed[str], list[ErrorCode]]:
    settled: list[ErrorCode] = []
    operation = DelayedProgress({partition: offset}, lambda _, error: settled.append(error), "answer")
    return replicas.produces.wait(operation, (partition,), 1000), settled


def test_a_produce_waits_for_the_high_watermark(
    make_partition: MakePartition, replicas: ReplicaManager
) -> None:
    partition = make_partition(role=IN_SYNC_WITH_NOBODY, min_insync_replicas="2")
    append(partition, b"a")
    delayed, settled = wait_for_commit(replicas, partition, 1)
    assert not delayed.promise.done
    replicas.take_role("t", 0, Role(leader=ME, leader_epoch=1, isr=(ME,), replicas=(ME,)))
    assert delayed.promise.value == "answer"
    assert settled == [ErrorCode.NONE]
    assert len(replicas.produces) == 0


def test_a_produce_times_out(
    make_partition: MakePartition, replicas: ReplicaManager, clock: VirtualClock
) -> None:
    partition = make_partition(role=IN_SYNC_WITH_NOBODY, min_insync_replicas="2")
    append(partition, b"a")
    delayed, settled = wait_for_commit(replicas, partition, 1)
    clock.advance(999)
    assert not current(delayed.promise.done)
    clock.advance(1)
    assert delayed.promise.done
    assert settled == [ErrorCode.REQUEST_TIMED_OUT]


def test_a_produce_hears_of_lost_leadership(make_partition: MakePartition, replicas: ReplicaManager) -> None:
    partition = make_partition(role=IN_SYNC_WITH_NOBODY, min_insync_replicas="2")
    append(partition, b"a")
    _, settled = wait_for_commit(replicas, partition, 1)
    replicas.take_role("t", 0, Role(leader=OTHER, leader_epoch=1, isr=(OTHER,), replicas=(ME, OTHER)))
    assert settled == [ErrorCode.NOT_LEADER_OR_FOLLOWER]


def fetch_of(*partitions: Partition | ErrorCode, min_bytes: int = 1) -> DelayedFetch:
    targets = [
        (FetchTarget(f"t{at}", 0, FetchSpec(0, 10_000)), partition) for at, partition in enumerate(partitions)
    ]
    return DelayedFetch(list(targets), PartitionReader(), min_bytes=min_bytes, max_bytes=100_000)


def wait_for_data(replicas: ReplicaManager, fetch: DelayedFetch) -> Delayed[Results]:
    results = fetch.read()
    assert not fetch.must_answer(results)
    return replicas.fetches.wait(fetch, fetch.keys, 500)


def sizes(results: Results) -> list[int]:
    return [len(fetched.records) for _, fetched in results]


def test_a_fetch_wakes_after_the_event_that_appended(
    make_partition: MakePartition, replicas: ReplicaManager, clock: VirtualClock
) -> None:
    first, second = make_partition("a"), make_partition("b")
    delayed = wait_for_data(replicas, fetch_of(first, second))
    append(second, b"x")
    assert not delayed.promise.done
    clock.advance(0)
    assert sizes(delayed.promise.value) == [0, second.log.size]


def test_a_fetch_waits_for_enough_bytes_over_all_partitions(
    make_partition: MakePartition, replicas: ReplicaManager, clock: VirtualClock
) -> None:
    first, second = make_partition("a"), make_partition("b")
    append(first, b"x")
    size = first.log.size
    delayed = wait_for_data(replicas, fetch_of(first, second, min_bytes=3 * size))
    append(first, b"y")
    clock.advance(0)
    assert not delayed.promise.done
    append(second, b"z")
    clock.advance(0)
    assert sizes(delayed.promise.value) == [2 * size, size]


def test_a_fetch_ends_at_its_deadline_with_what_there_is(
    make_partition: MakePartition, replicas: ReplicaManager, clock: VirtualClock
) -> None:
    delayed = wait_for_data(replicas, fetch_of(make_partition()))
    clock.advance(500)
    assert sizes(delayed.promise.value) == [0]
    assert len(replicas.fetches) == 0


def test_a_follower_hears_at_the_deadline_what_was_committed_while_it_waited(
    make_partition: MakePartition, replicas: ReplicaManager, clock: VirtualClock
) -> None:
    """Nothing was appended: it was this very fetch that committed all there is."""
    partition = make_partition(role=Role(leader=ME, leader_epoch=0, isr=(ME, OTHER), replicas=(ME, OTHER)))
    append(partition, b"a")
    target = FetchTarget("t", 0, FetchSpec(1, 10_000))
    fetch = DelayedFetch(
        [(target, partition)], PartitionReader(replica_id=OTHER), min_bytes=1, max_bytes=100_000
    )
    results = fetch.read()
    fetch.note(results, clock.now_ms())
    assert not fetch.must_answer(results)
    delayed = replicas.replica_fetches.wait(fetch, fetch.keys, 500)
    clock.advance(500)
    assert [fetched.high_watermark for _, fetched in delayed.promise.value] == [1]


def test_a_fetch_can_be_cut_short(make_partition: MakePartition, replicas: ReplicaManager) -> None:
    delayed = wait_for_data(replicas, fetch_of(make_partition()))
    delayed.expire()
    delayed.expire()
    assert sizes(delayed.promise.value) == [0]


def test_a_deleted_partition_ends_the_wait(make_partition: MakePartition, replicas: ReplicaManager) -> None:
    delayed = wait_for_data(replicas, fetch_of(make_partition()))
    replicas.remove("t", 0)
    assert delayed.promise.value[0][1].error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_an_unknown_partition_does_not_end_the_wait_but_a_bad_offset_does(
    make_partition: MakePartition,
) -> None:
    fetch = fetch_of(make_partition("a"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert not fetch.must_answer(fetch.read())
    nothing_known = fetch_of(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert nothing_known.must_answer(nothing_known.read())
    bad = DelayedFetch(
        [(FetchTarget("b", 0, FetchSpec(7, 10_000)), make_partition("b"))],
        PartitionReader(),
        min_bytes=1,
        max_bytes=100,
    )
    assert bad.must_answer(bad.read())


def test_only_the_first_batch_may_pass_the_limit(make_partition: MakePartition) -> None:
    first, second = make_partition("a"), make_partition("b")
    append(first, b"x" * 200)
    append(second, b"y" * 200)
    fetch = fetch_of(first, second)
    fetch._max_bytes = 10
    assert sizes(fetch.read()) == [first.log.size, 0]


def test_what_woke_a_fetch_is_sent_as_far_as_others_leave_room(
    make_partition: MakePartition, replicas: ReplicaManager, clock: VirtualClock
) -> None:
    first, second = make_partition("a"), make_partition("b")
    fetch = fetch_of(first, second)
    delayed = wait_for_data(replicas, fetch)
    append(second, b"y" * 200)
    append(first, b"x" * 200)
    fetch._max_bytes = first.log.size + 10
    clock.advance(0)
    assert sizes(delayed.promise.value) == [first.log.size, 0]
