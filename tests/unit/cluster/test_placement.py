from __future__ import annotations

import pytest

from kcompat.cluster.placement import PlacementError, TooFewBrokersError, place_replicas

RACKS = {0: "r1", 1: "r3", 2: "r3", 3: "r2", 4: "r2", 5: "r1"}


def test_rack_aware_vectors_of_kafka() -> None:
    placed = place_replicas(RACKS, 7, 3, start=0, shift=0)
    assert placed == (
        (0, 3, 1),
        (3, 1, 5),
        (1, 5, 4),
        (5, 4, 2),
        (4, 2, 0),
        (2, 0, 3),
        (0, 4, 2),
    )


def test_without_racks_followers_shift_with_every_round() -> None:
    # The example in the comment of Kafka's AdminUtils: 5 brokers, 10 partitions, factor 3, start and shift 0.
    placed = place_replicas(dict.fromkeys(range(5)), 10, 3, start=0, shift=0)
    assert placed == (
        (0, 1, 2),
        (1, 2, 3),
        (2, 3, 4),
        (3, 4, 0),
        (4, 0, 1),
        (0, 2, 3),
        (1, 3, 4),
        (2, 4, 0),
        (3, 0, 1),
        (4, 1, 2),
    )


def test_more_partitions_go_on_where_the_topic_ended() -> None:
    brokers = dict.fromkeys(range(5))
    whole = place_replicas(brokers, 10, 3, start=0, shift=0)
    assert place_replicas(brokers, 5, 3, start=0, shift=0, first_partition=5) == whole[5:]


def test_one_broker_takes_everything() -> None:
    assert place_replicas({7: None}, 3, 1, start=0, shift=0) == ((7,), (7,), (7,))
    assert place_replicas({7: "r"}, 2, 1, start=0, shift=0) == ((7,), (7,))


@pytest.mark.parametrize("factor", [0, -1, 2])
def test_a_factor_no_broker_count_can_meet(factor: int) -> None:
    with pytest.raises(TooFewBrokersError):
        place_replicas({1: None}, 1, factor, start=0, shift=0)


def test_racks_on_some_brokers_only_are_an_error() -> None:
    with pytest.raises(PlacementError, match="rack"):
        place_replicas({0: "a", 1: None}, 1, 2, start=0, shift=0)
