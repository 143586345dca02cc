"""The groups of a test: their members, the partitions of each, and the reasons why partitions moved."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, structs

from kcompat.group.mixed.embedded import read_message
from kcompat.protocol.messages.consumer_protocol import ConsumerProtocolAssignment
from kcompat.testing.story.evidence import SINCE_EARLIER, client_of, clock, counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kcompat.instrumentation.groups import Group, GroupMember
    from kcompat.instrumentation.recording.entry import RecordedRequest
    from kcompat.testing.story.evidence import Evidence

MOST_MOVES: Final = 8
MOST_MEMBERS: Final = 6
MOST_PLACES: Final = 5
_HEARTBEATS: Final = frozenset({"ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat"})


class MemberMove(Struct, frozen=True):
    """A change of a group that a request reveals: of its members, or of one member's partitions."""

    time: float
    client: str
    member: str
    what: str
    """The change as a verb, such as `joined` or `left`."""
    why: str = ""
    places: tuple[str, ...] | None = None
    """The partitions that the member was assigned; None if the change is not an assignment."""
    is_older: bool = False
    """Whether the client was connected before the test began."""

    def __str__(self) -> str:
        mark = f" ({SINCE_EARLIER})" if self.is_older else ""
        return f"{clock(self.time)} {self.client}{mark} {self.what}{self.why and ': '}{self.why}"


class Share(Struct, frozen=True):
    """The partitions of one member of a group."""

    client: str
    places: tuple[str, ...]
    is_older: bool
    """Whether the member joined before the test began."""


def groups_of_test(evidence: Evidence) -> list[Group]:
    """Return the groups that members joined or left in the test; if there are none, those that a request
    named.
    """
    everything = [*evidence.requests, *evidence.others]
    named = dict.fromkeys(asked.group for asked in everything if asked.group)
    there = [evidence.groups[name] for name in named if name in evidence.groups]
    return [group for group in there if moves(evidence, group.id)] or there


def lines_of(evidence: Evidence, group: Group) -> Iterator[str]:
    """Yield the lines of the report about a group: its state, its members, and their last changes."""
    yield f"{group.id}: a {group.kind} group, {group.state}, {counted(len(group.members), 'member')}"
    for member in group.members[:MOST_MEMBERS]:
        since = f"; {SINCE_EARLIER}" if is_older(evidence, group.id, member.id) else ""
        yield f"  {_name(member)} has {listed(places_of(member))}{since}"
    if len(group.members) > MOST_MEMBERS:
        yield f"  and {counted(len(group.members) - MOST_MEMBERS, 'more member')}"
    happened = sorted(
        [*moves(evidence, group.id), *ended(evidence, group.id, group.members)],
        key=lambda move: move.time,
    )
    for move in happened[-MOST_MOVES:]:
        yield f"  {move}"


def places_of(member: GroupMember) -> tuple[str, ...]:
    """Return the partitions of a member, or its tasks in a streams group, as texts."""
    tasks = [f"task {task}" for task in member.tasks.get("active", ())]
    return tuple(tasks) or _texts(member.assignment)


def listed(places: Sequence[str]) -> str:
    """Return partitions or tasks as one text of limited length."""
    more = len(places) - MOST_PLACES
    return ", ".join(places[:MOST_PLACES]) + (f" and {more} more" if more > 0 else "") or "nothing"


def shares(evidence: Evidence, group: Group) -> list[Share]:
    """Return the partitions of each member before the first member left during the test."""
    given: dict[str, MemberMove] = {}
    present = {member.id: member for member in group.members}
    for move in moves(evidence, group.id):
        if move.what == "left":
            break
        if move.places is not None:
            given[move.member] = move
    found = [
        Share(move.client, move.places or (), is_older(evidence, group.id, member))
        for member, move in given.items()
    ]
    return found + [
        Share(member.client_id, places_of(member), is_older(evidence, group.id, member.id))
        for member in present.values()
        if member.id not in given
    ]


def is_older(evidence: Evidence, group: str, member: str) -> bool:
    """Return whether a member joined before the test began: an earlier request names it, or no request of the
    test shows that it joined.
    """
    if any(asked.group == group and member in _members(asked) for asked in evidence.earlier):
        return True
    return all(move.member != member for move in moves(evidence, group))


def moves(evidence: Evidence, group: str, *, earlier: bool = False) -> list[MemberMove]:
    """Return the changes of a group that the requests of the test reveal, in order; with `earlier` also
    changes before the test.
    """
    found: list[MemberMove] = []
    joined: set[str] = set()
    given: dict[str, tuple[str, ...]] = {}
    requests = [*evidence.earlier, *evidence.in_test] if earlier else evidence.in_test
    for move in (move for asked in requests if asked.group == group for move in _moves(evidence, asked)):
        if move.places is not None:
            if given.get(move.member) == move.places:
                continue
            given[move.member] = move.places
        is_again = move.what == "joined" and move.member in joined
        found.append(structs.replace(move, what="joined again") if is_again else move)
        if move.what == "joined":
            joined.add(move.member)
        elif move.what == "left":
            joined.discard(move.member)
    return found


def ended(evidence: Evidence, group: str, members: Sequence[GroupMember]) -> Iterator[MemberMove]:
    """Yield the end of each member that did not leave the group, and is not one of its `members` any more."""
    everything = [*evidence.earlier, *evidence.in_test]
    happened = moves(evidence, group, earlier=True)
    gone = {move.member for move in happened if move.what == "left"}
    gone |= {member.id for member in members}
    last = {move.member: move for move in happened if "joined" in move.what and move.member not in gone}
    for move in last.values():
        heard = [
            asked.time for asked in everything if asked.group == group and move.member in _members(asked)
        ]
        yield MemberMove(
            max(heard, default=move.time),
            move.client,
            move.member,
            "was heard of last",
            "it did not leave, and its session has ended",
            is_older=move.is_older,
        )


def _moves(evidence: Evidence, asked: RecordedRequest) -> Iterator[MemberMove]:
    request, response = asked.request, asked.response
    if not request:
        return
    move = partial(MemberMove, asked.time, client_of(asked), is_older=evidence.is_older(asked))
    if asked.api == "JoinGroup":
        why = request.get("reason") or ""
        if asked.is_waiting:
            yield move(request["member_id"], "waits to join", why)
        elif response and not response["error_code"]:
            why = f"generation {response['generation_id']}{why and ', because '}{why}"
            yield move(response["member_id"], "joined", why)
    elif asked.api == "LeaveGroup":
        for each in request.get("members") or [{"member_id": request.get("member_id", "")}]:
            yield move(each["member_id"], "left", each.get("reason") or "")
    elif response and not response.get("error_code", -1):
        if asked.api == "SyncGroup":
            assignment = read_message(ConsumerProtocolAssignment, response["assignment"])
            rows = assignment.assigned_partitions if assignment else []
            places = _texts({row.topic: row.partitions for row in rows})
            yield move(request["member_id"], "was given", listed(places), places)
        elif asked.api in _HEARTBEATS:
            yield from _moves_of_heartbeat(evidence, move, request, response)


def _moves_of_heartbeat(
    evidence: Evidence, move: Callable[..., MemberMove], request: dict[str, Any], response: dict[str, Any]
) -> Iterator[MemberMove]:
    member = response.get("member_id") or request["member_id"]
    if request["member_epoch"] == 0:
        yield move(member, "joined", f"epoch {response['member_epoch']}")
    elif request["member_epoch"] < 0:
        yield move(member, "left")
    if response.get("assignment"):
        rows = response["assignment"]["topic_partitions"]
        places = _texts({evidence.topic_of(row): row["partitions"] for row in rows})
        yield move(member, "was given", listed(places), places)


def _members(asked: RecordedRequest) -> tuple[str | None, str | None]:
    """Return the member ids in a request and its answer."""
    return (asked.request or {}).get("member_id"), (asked.response or {}).get("member_id")


def _texts(partitions: Mapping[str, Sequence[int]]) -> tuple[str, ...]:
    return tuple(f"{topic}-{index}" for topic, indexes in partitions.items() for index in indexes)


def _name(member: GroupMember) -> str:
    instance = f" ({member.instance_id})" if member.instance_id else ""
    return f"{member.client_id or member.id}{instance}"
