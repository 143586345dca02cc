"""The memory of half-received frames."""

from __future__ import annotations

from kcompat.net.limits import Limits, ReceiveMemory
from kcompat.net.sizes import MIB


def test_defaults() -> None:
    limits = Limits()
    assert limits.max_frame == 104857600
    assert limits.receive_memory_per_ip == 32 * MIB
    assert limits.sweep_period_s == 2.0
    assert Limits(max_idle_s=0.1).sweep_period_s == 0.025


def test_the_share_of_an_address_and_the_total() -> None:
    memory = ReceiveMemory(limit=100, per_host=40)
    assert memory.reserve("a1", "a", 40)
    assert memory.reserve("b1", "b", 40)
    assert memory.reserve("c1", "c", 20)
    assert memory.reserve("c1", "c", 20)  # the one that may go over the total
    assert not memory.reserve("d1", "d", 1)
    assert memory.used == 120
    memory.check_invariants()
    memory.release("c1", "c", 40)
    assert memory.reserve("d1", "d", 1)


def test_one_owner_at_a_time_may_go_over_the_share_of_its_address() -> None:
    memory = ReceiveMemory(limit=1000, per_host=40)
    assert memory.reserve("first", "a", 30)
    assert memory.reserve("second", "a", 30)
    assert not memory.reserve("first", "a", 10)
    assert memory.reserve("second", "a", 100)
    memory.release("second", "a", 130)
    assert memory.reserve("first", "a", 100)
    memory.release("first", "a", 130)
    assert memory.used == 0
    memory.check_invariants()


def test_bytes_that_are_there_are_counted_anyway() -> None:
    memory = ReceiveMemory(limit=10, per_host=10)
    memory.count("a", 15)
    assert memory.used == 15
    memory.release("x", "a", 15)
    memory.check_invariants()
