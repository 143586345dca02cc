"""Joins of the classic group protocol, and what becomes of members that do not go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from differential.catalogue import scenario
from differential.members import (
    DESCRIBE,
    HEARTBEAT,
    JOIN,
    LEAVE,
    SYNC,
    join,
    joining,
    ready,
    stable,
    state,
    sync,
)

if TYPE_CHECKING:
    from differential.play import Play


@scenario(JOIN)
def one_member(play: Play, version: int) -> None:
    ready(play)
    group = play.name("g")
    joined = join(play, version, group)
    sync(play, min(version, 5), group, joined)
    play.call(HEARTBEAT, 1, group_id=group, generation_id=joined.generation_id, member_id=joined.member_id)
    again = play.call(JOIN, version, **joining(group, joined.member_id))
    sync(play, min(version, 5), group, again)
    play.call(JOIN, version, **joining(group, joined.member_id, names=("sticky",)))
    leaving = {"group_id": group, "member_id": joined.member_id}
    play.call(LEAVE, 1, **leaving)
    play.call(LEAVE, 1, **leaving)
    rejoined = play.call(JOIN, version, **joining(group, joined.member_id))
    play.note("known again", rejoined.error_code == 0)


@scenario(JOIN)
def joins_refused(play: Play, version: int) -> None:
    ready(play)
    group = play.name("g")
    play.call(JOIN, version, **joining(group, "nobody"))
    play.call(JOIN, version, **joining(""))
    for timeout in (0, 1, -1, 1_800_001):
        play.call(JOIN, version, **joining(group, session_timeout_ms=timeout))
    play.call(JOIN, version, **joining(group, names=()))
    play.call(JOIN, version, **joining(group, protocol_type=""))
    play.until(lambda: state(play, group) == "Empty", "the refused joins have left an empty group")
    play.call(DESCRIBE, 0, groups=[group])


@scenario(JOIN)
def joins_that_do_not_agree(play: Play, version: int) -> None:
    group = play.name("g")
    stable(play, group)
    play.call(JOIN, version, **joining(group, names=("sticky",)))
    play.call(JOIN, version, **joining(group, protocol_type="connect"))
    play.call(JOIN, version, **joining(group, names=()))
    play.call(JOIN, version, **joining(group, "nobody"))


@scenario(JOIN, since=4)
def join_with_an_id_that_was_given(play: Play, version: int) -> None:
    ready(play)
    group = play.name("g")
    first = play.call(JOIN, version, **joining(group))
    second = play.call(JOIN, version, **joining(group))
    play.until(lambda: state(play, group) == "Empty", "the members to be have made the group")
    play.call(DESCRIBE, 0, groups=[group])
    play.call(HEARTBEAT, 1, group_id=group, generation_id=-1, member_id=first.member_id)
    leaving = {"group_id": group, "member_id": second.member_id}
    play.call(LEAVE, 1, **leaving)
    joined = play.call(JOIN, version, **joining(group, first.member_id))
    sync(play, 5, group, joined)


@scenario(JOIN)
def two_members(play: Play, version: int) -> None:
    ready(play)
    group = play.name("g")
    first = join(play, version, group, names=("range", "roundrobin"), on="a")
    sync(play, 3, group, first, on="a")
    arriving = joining(group, names=("roundrobin", "range"))
    if version >= 4:
        arriving["member_id"] = play.call(JOIN, version, on="b", **arriving).member_id
    play.send(JOIN, version, on="b", **arriving)
    play.until(lambda: state(play, group) == "PreparingRebalance", "the group rebalances")
    play.call(
        HEARTBEAT, 1, on="a", group_id=group, generation_id=first.generation_id, member_id=first.member_id
    )
    names = ("range", "roundrobin")
    request = joining(group, first.member_id, names=names)
    again = play.call(
        JOIN, version, on="a", trim=lambda answer: first_first(first, answer.members), **request
    )
    second = play.receive(JOIN, version, on="b")
    request = {"group_id": group, "generation_id": second.generation_id, "member_id": second.member_id}
    play.send(SYNC, 3, on="b", **request)
    sync(play, 3, group, again, second, on="a")
    play.receive(SYNC, 3, on="b")
    play.until(lambda: state(play, group) == "Stable", "the group is stable")

    play.call(DESCRIBE, 5, groups=[group], trim=lambda answer: first_first(first, answer.groups[0].members))
    leaving = {"group_id": group, "member_id": first.member_id}
    play.call(LEAVE, 1, on="a", **leaving)
    play.call(
        HEARTBEAT, 1, on="b", group_id=group, generation_id=second.generation_id, member_id=second.member_id
    )


def first_first(first: Any, members: list[Any]) -> None:
    """Put the first of two members first: Kafka's order is that of a hash table."""
    members.sort(key=lambda member: member.member_id != first.member_id)


@scenario(JOIN, since=5)
def static_member(play: Play, version: int) -> None:
    ready(play)
    group = play.name("g")
    mine = {"group_instance_id": "static"}
    first = play.call(JOIN, version, **joining(group, **mine))
    sync(play, 5, group, first, **mine)
    successor = play.call(JOIN, version, **joining(group, **mine))
    play.call(JOIN, version, **joining(group, first.member_id, **mine))
    play.call(JOIN, version, **joining(group, "somebody", group_instance_id="other"))
    for member in (first.member_id, successor.member_id, "nobody"):
        beat = {"group_id": group, "generation_id": first.generation_id, "member_id": member}
        play.call(HEARTBEAT, 4, **beat, **mine)
        play.call(HEARTBEAT, 4, **beat, group_instance_id="unknown")
    sync(play, 5, group, successor, **mine)
    play.call(DESCRIBE, 5, groups=[group])
    play.call(LEAVE, 5, group_id=group, members=[{"member_id": "", "group_instance_id": "static"}])
    play.call(DESCRIBE, 5, groups=[group])


@scenario(JOIN, since=5)
def static_member_with_new_protocols(play: Play, version: int) -> None:
    ready(play)
    group = play.name("g")
    mine = {"group_instance_id": "static"}
    first = play.call(JOIN, version, **joining(group, **mine))
    sync(play, 5, group, first, **mine)
    second = play.call(JOIN, version, **joining(group, names=("roundrobin", "range"), **mine))
    play.note("the generation moved", second.generation_id - first.generation_id)


@scenario(JOIN, until=0)
def member_that_falls_silent(play: Play, version: int) -> None:
    ready(play)
    group = play.name("g")
    joined = play.call(JOIN, version, **joining(group, session_timeout_ms=1000))
    sync(play, 0, group, joined)
    play.until(lambda: state(play, group) == "Empty", "the group is empty")
    play.call(DESCRIBE, 0, groups=[group])
    play.call(HEARTBEAT, 0, group_id=group, generation_id=joined.generation_id, member_id=joined.member_id)


@scenario(JOIN, since=3, until=3)
def member_that_does_not_join_again(play: Play, version: int) -> None:
    ready(play)
    group = play.name("g")
    first = play.call(JOIN, version, on="a", **joining(group, rebalance_timeout_ms=1500))
    sync(play, 1, group, first, on="a")
    second = play.call(JOIN, version, on="b", **joining(group, rebalance_timeout_ms=1500))
    sync(play, 1, group, second, on="b")
    beat = {"group_id": group, "generation_id": first.generation_id, "member_id": first.member_id}
    play.call(HEARTBEAT, 1, on="a", **beat)
    play.call(DESCRIBE, 0, groups=[group])


@scenario(JOIN, since=3, until=3)
def leader_that_does_not_sync(play: Play, version: int) -> None:
    ready(play)
    group = play.name("g")
    joined = play.call(JOIN, version, on="a", **joining(group, rebalance_timeout_ms=300))
    play.until(lambda: state(play, group) == "Empty", "the member that did not sync is gone")
    beat = {"group_id": group, "generation_id": joined.generation_id, "member_id": joined.member_id}
    play.call(HEARTBEAT, 1, on="a", **beat)
