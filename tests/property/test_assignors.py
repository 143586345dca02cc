"""Promises of the server-side assignors, whatever the members, subscriptions and last targets."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from kcompat.group.assignors.range import RangeAssignor
from kcompat.group.assignors.simple import SimpleAssignor
from kcompat.group.assignors.spec import GroupSpec, MemberSpec
from kcompat.group.assignors.uniform import UniformAssignor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.group.assignors.spec import Assignor

Targets = dict[str, dict[bytes, frozenset[int]]]

TOPICS = [bytes([index]) * 16 for index in range(1, 6)]
MEMBERS = [f"m{index}" for index in range(9)]


@st.composite
def groups(draw: st.DrawFn, *, even: bool | None = None) -> GroupSpec:
    """A group whose last targets are disjoint, but perhaps of topics that are not subscribed to any more."""
    counts = draw(st.dictionaries(st.sampled_from(TOPICS), st.integers(1, 12), min_size=1))
    names = draw(st.lists(st.sampled_from(MEMBERS), unique=True, min_size=1))
    subsets = st.frozensets(st.sampled_from(sorted(counts)))
    is_even = draw(st.booleans()) if even is None else even
    same = draw(subsets)
    targets: dict[str, dict[bytes, set[int]]] = {name: {} for name in names}
    for topic_id, count in sorted(counts.items()):
        for index in range(count):
            owner = draw(st.sampled_from([*names, None]))
            if owner is not None:
                targets[owner].setdefault(topic_id, set()).add(index)
    members = {
        name: MemberSpec(
            same if is_even else draw(subsets),
            {topic_id: frozenset(indexes) for topic_id, indexes in targets[name].items()},
            draw(st.sampled_from([None, f"i{name}"])),
        )
        for name in names
    }
    return GroupSpec(members, counts, len({member.topics for member in members.values()}) == 1)


def owners(targets: Mapping[str, Mapping[bytes, frozenset[int]]]) -> dict[tuple[bytes, int], str]:
    found: dict[tuple[bytes, int], str] = {}
    for member_id, target in targets.items():
        for topic_id, indexes in target.items():
            assert indexes, "no topic has an empty set"
            for index in indexes:
                assert (topic_id, index) not in found
                found[topic_id, index] = member_id
    return found


def check_whole(assignor: Assignor, spec: GroupSpec) -> dict[tuple[bytes, int], str]:
    """Each partition that somebody subscribes to has one owner, and that is a subscriber."""
    found = owners(assignor.assign(spec))
    wanted = {topic_id for member in spec.members.values() for topic_id in member.topics}
    assert found.keys() == {(t, index) for t in wanted for index in range(spec.partition_counts[t])}
    assert all(topic_id in spec.members[member_id].topics for (topic_id, _), member_id in found.items())
    return found


def loads(spec: GroupSpec, found: Mapping[tuple[bytes, int], str]) -> Counter[str]:
    return Counter({**dict.fromkeys(spec.members, 0), **Counter(found.values())})


@given(groups())
def test_every_partition_has_one_owner_who_subscribes_to_it(spec: GroupSpec) -> None:
    check_whole(RangeAssignor(), spec)
    check_whole(UniformAssignor(), spec)


@given(groups())
def test_range_gives_runs_in_the_order_of_members(spec: GroupSpec) -> None:
    found = owners(RangeAssignor().assign(spec))
    order = sorted(spec.members, key=lambda m: (spec.members[m].instance_id is None, m))
    for topic_id, count in spec.partition_counts.items():
        run = [found[topic_id, index] for index in range(count) if (topic_id, index) in found]
        assert run == sorted(run, key=order.index)
        sizes = Counter(run)
        of_all = [sizes[m] for m in order if topic_id in spec.members[m].topics]
        assert of_all == sorted(of_all, reverse=True)
        assert not of_all or of_all[0] - of_all[-1] <= 1


@given(groups(even=True))
def test_uniform_is_even_and_moves_only_what_it_must(spec: GroupSpec) -> None:
    found = check_whole(UniformAssignor(), spec)
    sizes = loads(spec, found)
    assert max(sizes.values()) - min(sizes.values()) <= 1
    before = owners({m: member.target for m, member in spec.members.items()})
    topics = next(iter(spec.members.values())).topics
    quota, extra = divmod(len(found), len(spec.members))
    held = Counter(owner for (topic_id, _), owner in before.items() if topic_id in topics)
    # As many as can be kept where the first `extra` of those with more than the quota keep one more.
    over = sorted(member for member, size in held.items() if size > quota)[:extra]
    keepable = sum(min(size, quota + (member in over)) for member, size in held.items())
    assert sum(before.get(partition) == owner for partition, owner in found.items()) >= keepable


@given(groups(even=False))
def test_uniform_is_balanced_for_uneven_subscriptions(spec: GroupSpec) -> None:
    """No partition can go to another subscriber and make the loads more alike."""
    found = check_whole(UniformAssignor(), spec)
    sizes = loads(spec, found)
    for (topic_id, _), owner in found.items():
        for member_id, member in spec.members.items():
            if topic_id in member.topics:
                assert sizes[owner] - sizes[member_id] <= 1


@given(groups())
def test_uniform_changes_nothing_when_asked_again(spec: GroupSpec) -> None:
    targets = UniformAssignor().assign(spec)
    again = GroupSpec(
        {
            member_id: MemberSpec(member.topics, targets[member_id], member.instance_id)
            for member_id, member in spec.members.items()
        },
        spec.partition_counts,
        spec.is_homogeneous,
    )
    assert UniformAssignor().assign(again) == targets


def share(spec: GroupSpec) -> tuple[GroupSpec, Mapping[str, Mapping[bytes, frozenset[int]]]]:
    """The group with only its even partitions to be had, and what its members get."""
    counts = spec.partition_counts
    assignable = {topic_id: frozenset(range(0, count, 2)) for topic_id, count in counts.items()}
    some = GroupSpec(spec.members, counts, spec.is_homogeneous, assignable)
    return some, SimpleAssignor().assign(some)


@given(groups())
def test_simple_gives_everything_to_somebody_and_something_to_everybody(spec: GroupSpec) -> None:
    some, targets = share(spec)
    assert targets.keys() == spec.members.keys()
    wanted = {topic_id for member in spec.members.values() for topic_id in member.topics}
    found = {(t, index) for target in targets.values() for t, indexes in target.items() for index in indexes}
    assert found == {(topic_id, index) for topic_id in wanted for index in some.partitions_of(topic_id)}
    for member_id, target in targets.items():
        assert target.keys() <= spec.members[member_id].topics
        assert bool(target) or not spec.members[member_id].topics or not spec.is_homogeneous


@given(groups(even=True))
def test_simple_is_about_even_and_gives_no_partition_to_more_than_it_must(spec: GroupSpec) -> None:
    some, targets = share(spec)
    topics = next(iter(spec.members.values())).topics
    partitions = [(topic_id, index) for topic_id in topics for index in some.partitions_of(topic_id)]
    if not partitions:
        return
    sharing = -(-len(spec.members) // len(partitions))
    most = -(-sharing * len(partitions) // len(spec.members))
    assert max(sum(map(len, target.values())) for target in targets.values()) <= most
    holders = Counter(
        (topic_id, index)
        for target in targets.values()
        for topic_id, indexes in target.items()
        for index in indexes
    )
    assert max(holders.values()) <= sharing


@given(groups())
def test_simple_changes_nothing_when_asked_again(spec: GroupSpec) -> None:
    some, targets = share(spec)
    members = {
        member_id: MemberSpec(member.topics, targets[member_id]) for member_id, member in spec.members.items()
    }
    again = GroupSpec(members, some.partition_counts, some.is_homogeneous, some.assignable)
    sizes = {member_id: sum(map(len, target.values())) for member_id, target in targets.items()}
    after = SimpleAssignor().assign(again)
    assert {member_id: sum(map(len, target.values())) for member_id, target in after.items()} == sizes
    for member_id, target in targets.items():
        for topic_id, indexes in target.items():
            assert indexes <= after[member_id].get(topic_id, frozenset())
