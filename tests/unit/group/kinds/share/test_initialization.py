"""The share partitions that a group has initialized, begun to initialize, or deletes."""

from __future__ import annotations

from kcompat.group.kinds.share.initialization import Initialization, TopicPartitions

ONE, TWO = b"1" * 16, b"2" * 16
BEGUN = {ONE: TopicPartitions("one", frozenset({0})), TWO: TopicPartitions("two", frozenset({0, 1}))}


def test_what_was_begun_is_initialized_once_it_completes() -> None:
    state = Initialization().with_begun(BEGUN).with_completed(BEGUN)
    assert state == Initialization(initialized=BEGUN)


def test_partitions_that_were_not_begun_stay_out() -> None:
    first = {TWO: TopicPartitions("two", frozenset({1}))}
    state = Initialization().with_begun(first).with_completed(BEGUN)
    assert state == Initialization(initialized=first)


def test_a_completion_after_a_deletion_is_late() -> None:
    """A second request for an initialization completes when its topic has been deleted."""
    state = Initialization().with_begun(BEGUN).with_completed(BEGUN)
    state = state.with_deleting([ONE]).with_deleted([ONE])
    assert state.with_completed(BEGUN) == Initialization(initialized={TWO: BEGUN[TWO]})


def test_a_completion_during_a_deletion_is_late() -> None:
    state = Initialization().with_begun(BEGUN).with_deleting([ONE])
    state = state.with_completed(BEGUN)
    assert state == Initialization(initialized={TWO: BEGUN[TWO]}, deleting=frozenset({ONE}))
