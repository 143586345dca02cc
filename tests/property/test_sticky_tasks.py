"""Tasks of streams groups are shared out evenly, each once, and stay where they were."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kcompat.group.kinds.streams.sticky import StreamsMemberSpec, StreamsSpec, TaskCount, assign
from kcompat.group.kinds.streams.tasks import Task, Tasks, each_task

MEMBERS = tuple("abcdefgh")
PROCESSES = ("p", "q", "r")
FORMER = st.dictionaries(
    st.sampled_from("0123"), st.frozensets(st.integers(0, 6), min_size=1, max_size=4), max_size=3
)


@st.composite
def specs(draw: st.DrawFn) -> StreamsSpec:
    """Groups whose members may have been to have anything, also what there is no more."""
    subtopologies = {
        name: TaskCount(draw(st.integers(1, 6)), draw(st.booleans()))
        for name in draw(st.lists(st.sampled_from("0123"), unique=True, max_size=3))
    }
    members = {
        name: StreamsMemberSpec(draw(st.sampled_from(PROCESSES)), Tasks(draw(FORMER), draw(FORMER)))
        for name in draw(st.lists(st.sampled_from(MEMBERS), unique=True, min_size=1))
    }
    return StreamsSpec(members, subtopologies, draw(st.integers(0, 3)))


def assigned_again(spec: StreamsSpec, targets: dict[str, Tasks]) -> StreamsSpec:
    """The group whose members are to have this now; those that are not named have left."""
    members = {
        name: StreamsMemberSpec(spec.members[name].process_id, target) for name, target in targets.items()
    }
    return replace(spec, members=members)


def settled(spec: StreamsSpec) -> tuple[StreamsSpec, dict[str, Tasks]]:
    """The group after it was assigned from nothing."""
    members = {name: StreamsMemberSpec(member.process_id) for name, member in spec.members.items()}
    targets = assign(replace(spec, members=members))
    return assigned_again(spec, targets), targets


def active(targets: dict[str, Tasks]) -> list[tuple[str, Task]]:
    """Return the pairs of member and active task."""
    return [(name, task) for name, target in targets.items() for task in each_task(target.active)]


def copies(targets: dict[str, Tasks]) -> list[tuple[str, Task]]:
    """Return the pairs of member and standby task."""
    return [(name, task) for name, target in targets.items() for task in each_task(target.standby)]


@given(specs())
def test_each_task_is_active_once(spec: StreamsSpec) -> None:
    tasks = {(name, number) for name, count in spec.subtopologies.items() for number in range(count.tasks)}
    found = [task for _, task in active(assign(spec))]
    assert sorted(found) == sorted(tasks)


@given(specs())
def test_copies_are_of_tasks_that_keep_state_and_in_processes_of_their_own(spec: StreamsSpec) -> None:
    targets = assign(spec)
    where: dict[Task, list[str]] = {}
    for name, task in (*active(targets), *copies(targets)):
        where.setdefault(task, []).append(spec.members[name].process_id)
    processes = {member.process_id for member in spec.members.values()}
    for (subtopology, _), found in where.items():
        assert len(found) == len(set(found)), "a process has a task twice"
        is_stateful = spec.subtopologies[subtopology].is_stateful
        wanted = min(spec.standby_replicas, len(processes) - 1) if is_stateful else 0
        assert len(found) == 1 + wanted


@given(specs())
def test_loads_are_even(spec: StreamsSpec) -> None:
    _, targets = settled(spec)
    counts = Counter(dict.fromkeys(spec.members, 0))
    counts.update(name for name, _ in active(targets))
    assert max(counts.values()) - min(counts.values()) <= 2


@given(specs())
def test_active_tasks_stay_where_nothing_has_changed(spec: StreamsSpec) -> None:
    again, targets = settled(replace(spec, standby_replicas=0))
    assert set(active(assign(again))) == set(active(targets))


@given(specs(), st.data())
def test_who_stays_keeps_its_active_tasks_when_another_leaves(spec: StreamsSpec, data: st.DataObject) -> None:
    again, targets = settled(replace(spec, standby_replicas=0))
    gone = data.draw(st.sampled_from(sorted(spec.members)))
    left = {name: target for name, target in targets.items() if name != gone}
    assert set(active(left)) <= set(active(assign(assigned_again(again, left))))


@given(specs())
def test_a_member_gets_what_it_had_a_copy_of(spec: StreamsSpec) -> None:
    """Where one of two processes ends, what it had active is active where its copies were."""
    members = {name: StreamsMemberSpec(f"process of {name}") for name in "ab"}
    targets = assign(replace(spec, members=members, standby_replicas=1))
    left = {"a": targets["a"]}
    later = assign(
        replace(spec, members={"a": StreamsMemberSpec("process of a", targets["a"])}, standby_replicas=1)
    )
    assert {task for _, task in active(left)} <= {task for _, task in active(later)}
    assert copies(later) == []


def test_nobody_gets_anything_in_a_group_without_members() -> None:
    assert assign(StreamsSpec({}, {"0": TaskCount(3)})) == {}
