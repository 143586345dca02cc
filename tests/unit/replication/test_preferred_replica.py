"""Which replica a consumer is sent to (KIP-392)."""

from __future__ import annotations

from kcompat.cluster.control_requests import Role
from kcompat.cluster.image import BrokerInfo
from kcompat.replication.leading.leader import IsrRule, Leader
from kcompat.replication.preferred_replica import SameRack
from kcompat.replication.reading import NO_REPLICA

ME, NEAR, ALSO_NEAR, FAR = range(1, 5)
LISTENER = "EXTERNAL"


def choice(rack: str = "a", listener: str = LISTENER, own_rack: str = "b") -> SameRack:
    way = {LISTENER: ("host", 1)}
    racks = {ME: own_rack, NEAR: "a", ALSO_NEAR: "a", FAR: "b"}
    return SameRack(rack, listener, ME, {broker: BrokerInfo(broker, of, way) for broker, of in racks.items()})


def leader(isr: tuple[int, ...] = (ME, NEAR, ALSO_NEAR, FAR), **ends: tuple[int, int]) -> Leader:
    """`ends` are log start and log end of followers, which have all from 0 to 10 if nothing else is said."""
    made = Leader(
        ME,
        Role(ME, 0, isr, (ME, NEAR, ALSO_NEAR, FAR)),
        IsrRule(30_000, lambda _: True, max_fetch_wait_ms=500, session_timeout_ms=18_000),
        min_insync_replicas=1,
        log_end_offset=10,
        high_watermark=10,
        now_ms=0,
    )
    for name, broker in (("near", NEAR), ("also_near", ALSO_NEAR), ("far", FAR)):
        start, end = ends.get(name, (0, 10))
        made.fetched(broker, end, start, log_end_offset=10, now_ms=0, broker_epoch=-1)
    return made


def test_the_one_that_has_most_in_the_same_rack() -> None:
    assert choice().choose(leader(near=(0, 9)), 5) == ALSO_NEAR
    assert choice().choose(leader(also_near=(0, 9)), 5) == NEAR


def test_the_leader_if_it_is_in_the_rack() -> None:
    assert choice(own_rack="a").choose(leader(), 5) == NO_REPLICA


def test_nobody_in_the_rack() -> None:
    assert choice(rack="c").choose(leader(), 5) == NO_REPLICA


def test_who_is_not_in_sync_may_never_catch_up() -> None:
    assert choice().choose(leader(isr=(ME, ALSO_NEAR), also_near=(0, 9)), 5) == ALSO_NEAR


def test_who_lacks_the_offset_does_not_do() -> None:
    near = leader(near=(6, 10), also_near=(0, 4))
    assert choice().choose(near, 5) == NO_REPLICA
    assert choice().choose(near, 6) == NEAR


def test_who_has_another_listener_is_not_reached() -> None:
    assert choice(listener="INTERNAL").choose(leader(), 5) == NO_REPLICA
