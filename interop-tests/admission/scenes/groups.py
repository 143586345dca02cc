"""Groups: their coordinators, members and offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from admission.stage import DENIED, GROUPS, OPEN_TOPIC, SHARED, UNKNOWN, Asker, offsets_of, scene
from differential.members import ASSIGNMENT, joining
from differential.transactions import coordinated
from kcompat.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from kcompat.protocol.messages.list_groups import ListGroupsResponse

TRANSACTIONAL_IDS = ("open-id", "secret-id")
SHARE = 2


@scene(ApiKey.FIND_COORDINATOR, 0, 1, 3, 4, 6)
def find_coordinator(play: Asker, version: int) -> None:
    def only_denials(answer: Any) -> None:
        """Share groups are not served."""
        for row in (answer, *answer.coordinators):
            if row.error_code not in DENIED:
                row.error_code, row.error_message, row.node_id, row.host, row.port = 0, "", -1, "", -1

    for name in TRANSACTIONAL_IDS:
        coordinated(play, name)
    key = ApiKey.FIND_COORDINATOR
    for group in GROUPS:
        play.call(key, version, key=group, coordinator_keys=[group])
    if version >= 1:
        for kind in (0, 1, SHARE, 9):
            for name in (*TRANSACTIONAL_IDS, "secret-id:AAAAAAAAAAAAAAAAAAAAAA:0"):
                trim = only_denials if kind == SHARE else None
                play.call(key, version, trim=trim, key=name, coordinator_keys=[name], key_type=kind)
    if version >= 4:
        play.call(key, version, coordinator_keys=list(GROUPS))


def _any_member(answer: Any) -> None:
    """Member ids are made up."""
    for field in ("member_id", "leader"):
        if getattr(answer, field):
            setattr(answer, field, "<member>")
    answer.members = []


@scene(ApiKey.JOIN_GROUP, 0, 3, 5, 9)
def join_group(play: Asker, version: int) -> None:
    for name in (play.name("open"), play.name("secret"), ""):
        play.call(ApiKey.JOIN_GROUP, version, trim=_any_member, **joining(name))


@scene(ApiKey.SYNC_GROUP)
def sync_group(play: Asker, version: int) -> None:
    for group in (*GROUPS, "secret-none", ""):
        fields = {"group_id": group, "generation_id": 1, "member_id": "m"}
        rows = [{"member_id": "m", "assignment": ASSIGNMENT}]
        play.call(ApiKey.SYNC_GROUP, version, assignments=rows, **fields)
        typed = {"protocol_type": "consumer", "protocol_name": "range"}
        play.call(ApiKey.SYNC_GROUP, version, assignments=rows, **fields, **typed)


@scene(ApiKey.HEARTBEAT)
def heartbeat(play: Asker, version: int) -> None:
    for group in (*GROUPS, "secret-none", ""):
        play.call(ApiKey.HEARTBEAT, version, group_id=group, generation_id=1, member_id="m")


@scene(ApiKey.LEAVE_GROUP, 0, 3, 5)
def leave_group(play: Asker, version: int) -> None:
    for group in (*GROUPS, "secret-none", ""):
        play.call(ApiKey.LEAVE_GROUP, version, group_id=group, member_id="m", members=[{"member_id": "m"}])


@scene(ApiKey.DESCRIBE_GROUPS, 0, 3, 5)
def describe_groups(play: Asker, version: int) -> None:
    groups = [*GROUPS, "open-none", "secret-none"]
    play.call(ApiKey.DESCRIBE_GROUPS, version, groups=groups)
    if version >= 3:
        play.call(ApiKey.DESCRIBE_GROUPS, version, groups=groups, include_authorized_operations=True)


@scene(ApiKey.LIST_GROUPS, 0, 4, 5)
def list_groups(play: Asker, version: int) -> None:
    def shared(answer: ListGroupsResponse) -> None:
        answer.groups = [row for row in answer.groups if row.group_id in GROUPS]

    play.call(ApiKey.LIST_GROUPS, version, trim=shared)


@scene(ApiKey.DELETE_GROUPS)
def delete_groups(play: Asker, version: int) -> None:
    names = [play.name("open"), play.name("secret")]
    for name in names:
        commit = {"group_id": name, "topics": [offsets_of(OPEN_TOPIC)], "retention_time_ms": -1}
        play.do(ApiKey.OFFSET_COMMIT, 2, generation_id_or_member_epoch=-1, **commit)
    asked = [*names, "open-none", "secret-none", "secret-none"]
    play.call(ApiKey.DELETE_GROUPS, version, groups_names=asked)


@scene(ApiKey.OFFSET_COMMIT, 1, 5, 9, 10)
def offset_commit(play: Asker, version: int) -> None:
    topics = [offsets_of(topic) for topic in (*SHARED, *UNKNOWN)]
    common = {"generation_id_or_member_epoch": -1, "retention_time_ms": -1}
    for group in (play.name("open"), play.name("secret"), ""):
        play.call(ApiKey.OFFSET_COMMIT, version, group_id=group, topics=topics, **common)
    play.call(ApiKey.OFFSET_COMMIT, version, group_id=play.name("secret"), topics=[], **common)


@scene(ApiKey.OFFSET_FETCH, 1, 2, 5, 7, 8, 9, 10)
def offset_fetch(play: Asker, version: int) -> None:
    rows = [{"name": topic, "partition_indexes": [0, 3]} for topic in (*SHARED, *UNKNOWN)]
    for group in (*GROUPS, "secret-none"):
        for topics in (rows, None) if version >= 2 else (rows,):
            asked = [{"group_id": group, "topics": topics}]
            play.call(ApiKey.OFFSET_FETCH, version, group_id=group, topics=topics, groups=asked)
    if version >= 8:
        asked = [{"group_id": group, "topics": rows} for group in GROUPS]
        play.call(ApiKey.OFFSET_FETCH, version, groups=asked)


@scene(ApiKey.OFFSET_DELETE)
def offset_delete(play: Asker, version: int) -> None:
    rows = [{"partition_index": 0}, {"partition_index": 9}]
    topics = [{"name": topic, "partitions": rows} for topic in (*SHARED, *UNKNOWN)]
    for group in (play.name("open"), play.name("secret")):
        commit = {"group_id": group, "topics": [offsets_of(topic) for topic in SHARED]}
        play.do(ApiKey.OFFSET_COMMIT, 2, generation_id_or_member_epoch=-1, retention_time_ms=-1, **commit)
        play.call(ApiKey.OFFSET_DELETE, version, group_id=group, topics=topics)
    for group in ("open-none", "secret-none", ""):
        play.call(ApiKey.OFFSET_DELETE, version, group_id=group, topics=topics)
