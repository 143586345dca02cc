"""The groups of a test: members, what each has, and why partitions moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, structs

from kcompat.testing.story.evidence import client_of, clock, counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kcompat.instrumentation.groups import Group, GroupMember
    from kcompat.instrumentation.recording.entry import RecordedRequest
    from kcompat.testing.story.evidence import Evidence

MOST_MOVES: Final = 6
MOST_MEMBERS: Final = 6
_HEARTBEATS: Final = frozenset({"ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat"})


class Move(Struct, frozen=True):
    """A change of a group's membership that a request shows."""

    time: float
    client: str
    member: str
    what: str
    """The change as a verb, such as `joined` or `left`."""
    why: str = ""

    def __str__(self) -> str:
        return f"{clock(self.time)} {self.client} {self.what}{self.why and ': '}{self.why}"


def groups_of_test(evidence: Evidence) -> list[Group]:
    """Return the groups that members joined or left in the test; if there are none, those that a request
    named.
    """
    named = dict.fromkeys(asked.group for asked in evidence.requests if asked.group)
    there = [evidence.groups[name] for name in named if name in evidence.groups]
    return [group for group in there if moves(evidence.requests, group.id)] or there


def lines_of(evidence: Evidence, group: Group) -> Iterator[str]:
    """Yield the lines about a group: its state, its members, and the last moves."""
    yield f"{group.id}: a {group.kind} group, {group.state}, {counted(len(group.members), 'member')}"
    for member in group.members[:MOST_MEMBERS]:
        yield f"  {_name(member)} has {assignment(member)}{_since(evidence, group, member)}"
    if len(group.members) > MOST_MEMBERS:
        yield f"  and {counted(len(group.members) - MOST_MEMBERS, 'more member')}"
    happened = moves(evidence.requests, group.id)
    happened += [*ended(evidence, group)]
    happened.sort(key=lambda move: move.time)
    for move in happened[-MOST_MOVES:]:
        yield f"  {move}"


def assignment(member: GroupMember) -> str:
    """Return the partitions or tasks of a member as text."""
    places = [f"{topic}-{index}" for topic, indexes in member.assignment.items() for index in indexes]
    places += [f"task {task}" for task in member.tasks.get("active", ())] if not places else []
    return ", ".join(places[:5]) + (f" and {len(places) - 5} more" if len(places) > 5 else "") or "nothing"


def is_older(evidence: Evidence, group: Group, member: GroupMember) -> bool:
    """Return whether a member joined before the test began: an earlier request names it, or none of the test
    shows how it joined.
    """
    if any(asked.group == group.id and member.id in _members(asked) for asked in evidence.earlier):
        return True
    return all(move.member != member.id for move in moves(evidence.requests, group.id))


def moves(requests: Sequence[RecordedRequest], group: str) -> list[Move]:
    """Return the changes of a group's membership that requests show, in order."""
    found: list[Move] = []
    joined: set[str] = set()
    for move in (move for asked in requests if asked.group == group for move in _moves(asked)):
        is_again = move.what == "joined" and move.member in joined
        found.append(structs.replace(move, what="joined again") if is_again else move)
        if move.what == "joined":
            joined.add(move.member)
        elif move.what == "left":
            joined.discard(move.member)
    return found


def ended(evidence: Evidence, group: Group) -> Iterator[Move]:
    """Yield the end of each member that did not leave, and is none any more."""
    everything = [*evidence.earlier, *evidence.requests]
    happened = moves(everything, group.id)
    gone = {move.member for move in happened if move.what == "left"}
    gone |= {member.id for member in group.members}
    last = {move.member: move for move in happened if "joined" in move.what and move.member not in gone}
    for move in last.values():
        heard = [
            asked.time for asked in everything if asked.group == group.id and move.member in _members(asked)
        ]
        yield Move(
            max(heard, default=move.time),
            move.client,
            move.member,
            "was heard of last",
            "it did not leave, and its session has ended",
        )


def _moves(asked: RecordedRequest) -> Iterator[Move]:
    request, response = asked.request, asked.response
    if not request:
        return
    client = client_of(asked)
    if asked.api == "JoinGroup":
        why = request.get("reason") or ""
        if asked.is_waiting:
            yield Move(asked.time, client, request["member_id"], "waits to join", why)
        elif response and not response["error_code"]:
            yield Move(
                asked.time,
                client,
                response["member_id"],
                "joined",
                f"generation {response['generation_id']}{why and ', because '}{why}",
            )
    elif asked.api == "LeaveGroup":
        for each in request.get("members") or [{"member_id": request.get("member_id", "")}]:
            yield Move(asked.time, client, each["member_id"], "left", each.get("reason") or "")
    elif asked.api in _HEARTBEATS and response and not response["error_code"]:
        yield from _moves_of_heartbeat(asked, request, response)


def _moves_of_heartbeat(
    asked: RecordedRequest, request: dict[str, Any], response: dict[str, Any]
) -> Iterator[Move]:
    member = response.get("member_id") or request["member_id"]
    if request["member_epoch"] == 0:
        yield Move(asked.time, client_of(asked), member, "joined", f"epoch {response['member_epoch']}")
    elif request["member_epoch"] < 0:
        yield Move(asked.time, client_of(asked), member, "left")


def _members(asked: RecordedRequest) -> tuple[str | None, str | None]:
    """Return the member ids in a request and its answer."""
    return (asked.request or {}).get("member_id"), (asked.response or {}).get("member_id")


def _name(member: GroupMember) -> str:
    instance = f" ({member.instance_id})" if member.instance_id else ""
    return f"{member.client_id or member.id}{instance}"


def _since(evidence: Evidence, group: Group, member: GroupMember) -> str:
    return "; it joined before this test" if is_older(evidence, group, member) else ""
