from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from kcompat.cluster.placement import place_replicas
from support.fuzzing import examples


@st.composite
def clusters(draw: st.DrawFn) -> tuple[dict[int, str | None], int, int, int, int]:
    brokers = draw(st.lists(st.integers(0, 50), min_size=1, max_size=9, unique=True))
    racked = draw(st.booleans())
    racks = {broker: draw(st.sampled_from("abcd")) if racked else None for broker in brokers}
    partitions, factor = draw(st.integers(0, 40)), draw(st.integers(1, len(brokers)))
    return racks, partitions, factor, draw(st.integers(0, 8)), draw(st.integers(0, 8))


@settings(max_examples=examples(200), deadline=None)
@given(clusters())
def test_every_partition_gets_its_replicas_on_different_brokers_and_racks(
    cluster: tuple[dict[int, str | None], int, int, int, int],
) -> None:
    racks, partitions, factor, start, shift = cluster
    placed = place_replicas(racks, partitions, factor, start=start, shift=shift)
    assert len(placed) == partitions
    for replicas in placed:
        assert len(set(replicas)) == len(replicas) == factor
        assert set(replicas) <= racks.keys()
        used = {racks[broker] for broker in replicas}
        assert len(used) == min(factor, len(set(racks.values())))


@settings(max_examples=examples(100), deadline=None)
@given(clusters())
def test_leaders_are_spread_evenly(cluster: tuple[dict[int, str | None], int, int, int, int]) -> None:
    racks, partitions, factor, start, shift = cluster
    placed = place_replicas(racks, partitions, factor, start=start, shift=shift)
    led = Counter(replicas[0] for replicas in placed)
    counts = [led[broker] for broker in racks]
    assert max(counts) - min(counts) <= 1
