"""The text of the story of a failing test: what it shows, in which order, and that it is bounded."""

from __future__ import annotations

from kcompat.instrumentation.faults.reports import FaultReport
from kcompat.instrumentation.groups import Group, GroupMember
from kcompat.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kcompat.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kcompat.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from kcompat.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kcompat.testing.story.evidence import Evidence, clock
from kcompat.testing.story.report import tell
from support.recorded_requests import recorded


def heartbeat(at: float, client: str = "c", group: str = "g", error: int = 0, port: int = 1) -> object:
    request = HeartbeatRequest(group_id=group, member_id=f"{client}-id")
    return recorded(request, HeartbeatResponse(error_code=error), at, client, 3, port)


def metadata(at: float, client: str = "c", port: int = 1) -> object:
    return recorded(MetadataRequest(topics=[]), MetadataResponse(), at, client, 4, port)


def told(*requests: object, **rest: object) -> list[str]:
    return tell(Evidence("localhost:1", list(requests), **rest)).splitlines()  # type: ignore[arg-type]


def test_a_broker_to_which_no_client_came_tells_nothing() -> None:
    assert told() == []


def test_equal_requests_are_one_line_at_the_time_of_the_last() -> None:
    assert told(metadata(1), heartbeat(2), metadata(3)) == [
        "Last requests to localhost:1:",
        f"  {clock(2)} c Heartbeat group g: ok",
        f"  {clock(3)} c Metadata: ok (2 times since {clock(1)})",
    ]


def test_the_reason_of_a_refusal_is_shown() -> None:
    assert told(heartbeat(1, error=25))[-1] == (
        f"  {clock(1)} c Heartbeat group g: UNKNOWN_MEMBER_ID: The group has no such member"
    )


def test_the_story_is_bounded_and_shows_failures_and_new_clients_first() -> None:
    requests = [heartbeat(0, "failing", error=25)]
    others = [metadata(number, f"old{number}", port=9) for number in range(30)]
    requests += [metadata(number, f"new{number}") for number in range(10)]
    members = [
        GroupMember(f"m{number}", f"member{number}", "/h", assignment={"t": [0]}) for number in range(30)
    ]
    groups = {"g": Group("g", "classic", "Stable", "consumer", "range", -1, members, [])}
    lines = told(*requests, others=others, groups=groups)
    assert len(lines) <= 40
    text = "\n".join(lines)
    assert "failing Heartbeat" in text
    assert all(f"new{number} " in text for number in range(10))
    assert lines[-2].endswith("old29 (since an earlier test) Metadata: ok")
    assert "old1 " not in text
    assert lines[-1] == "  and 29 other requests"


def test_the_moves_of_a_group_are_told_in_order() -> None:
    def join(at: float, client: str, generation: int, reason: str | None = None) -> object:
        return recorded(
            JoinGroupRequest(group_id="g", member_id=f"{client}-id", reason=reason),
            JoinGroupResponse(member_id=f"{client}-id", generation_id=generation),
            at,
            client,
            8,
        )

    leaving = [LeaveGroupRequest.MemberIdentity(member_id="a-id", reason="the consumer is being closed")]
    leave = recorded(LeaveGroupRequest(group_id="g", members=leaving), LeaveGroupResponse(), 4, "a", 5)
    members = [GroupMember("b-id", "b", "/h", assignment={"t": [0, 1]})]
    groups = {"g": Group("g", "classic", "Stable", "consumer", "range", -1, members, [])}
    lines = told(
        join(1, "a", 1), join(2, "lost", 2), join(3, "b", 2), join(3, "a", 2, "a new member"), leave,
        heartbeat(5, "lost"), join(6, "b", 3), groups=groups,
    )  # fmt: skip
    assert lines[: lines.index("Last requests to localhost:1:")] == [
        "Groups:",
        "  g: a classic group, Stable, 1 member",
        "    b has t-0, t-1",
        f"    {clock(1)} a joined: generation 1",
        f"    {clock(2)} lost joined: generation 2",
        f"    {clock(3)} b joined: generation 2",
        f"    {clock(3)} a joined again: generation 2, because a new member",
        f"    {clock(4)} a left: the consumer is being closed",
        f"    {clock(5)} lost was heard of last: it did not leave, and its session has ended",
        f"    {clock(6)} b joined again: generation 3",
    ]


def test_names_that_clients_choose_cannot_end_a_line_or_control_a_terminal() -> None:
    evil = "x\x1b[2J\nGroups:"
    group = Group(evil, "classic", "Stable", "consumer", "range", -1, [GroupMember("m", evil, "/h")], [])
    request = JoinGroupRequest(group_id=evil, member_id="")
    joined = recorded(request, JoinGroupResponse(error_code=25), 1, evil, 3)
    lines = told(joined, groups={evil: group})
    assert lines.count("Groups:") == 1
    assert all(line.isprintable() for line in lines)
    assert sum("x\\x1b[2J\\nGroups:" in line for line in lines) >= 3


def test_interventions_are_told_with_their_times() -> None:
    lines = told(
        metadata(5),
        faults=[
            FaultReport("A member expired", "caused", 1.0, 1.0, 0, is_intervention=True),
            FaultReport("Broker 1 is isolated", "caused", 2.0, None, 0, is_intervention=True),
            FaultReport("A transaction hangs", "caused", 3.0, 4.0, 0, is_intervention=True),
        ],
    )
    assert lines[:4] == [
        "Faults in force in this test:",
        f"  A member expired, at {clock(1)}",
        f"  Broker 1 is isolated, since {clock(2)}",
        f"  A transaction hangs, from {clock(3)} to {clock(4)}",
    ]


def test_faults_are_named_first_and_mark_the_requests_that_they_struck() -> None:
    waits = recorded(MetadataRequest(topics=[]), None, 1, "c", 4)
    exchanges = frozenset({(waits.peer, waits.correlation_id)})
    drop = FaultReport("Metadata is served and never answered", "dropped", 0, 2, 1, exchanges=exchanges)
    full = FaultReport("the disk of /d is full", "caused", 0, None, 2, is_of_disk=True)
    assert told(waits, faults=[drop, full]) == [
        "Faults in force in this test:",
        f"  Metadata is served and never answered: it struck 1 request, over since {clock(2)}",
        "  the disk of /d is full: it struck 2 operations",
        "Last requests to localhost:1:",
        f"  {clock(1)} c Metadata: waiting, dropped by a fault",
    ]
    assert told(faults=[drop]) == []
