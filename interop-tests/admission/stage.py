"""Where scenes are registered, and what they are played on: who asks, and about which things."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from differential.catalogue import common_versions
from differential.members import ready
from differential.play import Play
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.errors import ErrorCode

Scene: TypeAlias = Callable[["Asker", int], None]
OPEN_TOPIC, SECRET_TOPIC = "open-shared", "secret-shared"
SHARED = (OPEN_TOPIC, SECRET_TOPIC)
WRITTEN = ("open-written", "secret-written")
"""Topics that grow: their offsets are not compared."""
UNKNOWN = ("open-unknown", "secret-unknown")
OPEN_GROUP, SECRET_GROUP = "open-group", "secret-group"
GROUPS = (OPEN_GROUP, SECRET_GROUP)
DENIED = {error for error in ErrorCode if error.name.endswith("AUTHORIZATION_FAILED")}
TIMEOUT_MS = 10_000


class Asker(Play):
    """One persona's stage: what is asked on "main" is asked by it, all else by one who may do everything."""

    def name(self, suffix: str = "open") -> str:
        """A name that begins with `suffix`: the rules look at how a name begins."""
        return f"{suffix}-{self.prefix}"

    def topics(self, **configs: str) -> tuple[str, str]:
        """A new open topic and a new secret one."""
        return self.topic("open", **configs), self.topic("secret", **configs)


@dataclass(frozen=True)
class Played:
    """A scene, its API and the versions it is played at."""

    name: str
    scene: Scene
    key: ApiKey
    versions: tuple[int, ...]


SCENES: list[Played] = []


def scene(key: ApiKey, *versions: int) -> Callable[[Scene], Scene]:
    """Play the decorated scene at these versions of `key`; at the first and the last if none is named."""

    def register(play: Scene) -> Scene:
        common = common_versions(key)
        chosen = versions or tuple(sorted({common[0], common[-1]}))
        assert set(chosen) <= set(common), (play.__name__, chosen, common)
        SCENES.append(Played(play.__name__, play, key, chosen))
        return play

    return register


def share(play: Asker) -> None:
    """Make what the scenes have in common: topics with a record, groups with offsets."""
    ready(play)
    for topic in (*SHARED, *WRITTEN):
        wish = {"name": topic, "num_partitions": 1, "replication_factor": 1}
        play.do(ApiKey.CREATE_TOPICS, 4, topics=[wish], timeout_ms=TIMEOUT_MS)
        play.await_topic(topic)
        play.append(topic, b"one")
    for group in GROUPS:
        commit = {"group_id": group, "topics": [offsets_of(topic) for topic in SHARED]}
        answer = play.do(
            ApiKey.OFFSET_COMMIT, 2, generation_id_or_member_epoch=-1, retention_time_ms=-1, **commit
        )
        assert all(row.partitions[0].error_code == 0 for row in answer.topics), answer


def offsets_of(topic: str) -> dict[str, Any]:
    """A topic of a commit."""
    row = {"partition_index": 0, "committed_offset": 5, "committed_metadata": "note"}
    return {"name": topic, "partitions": [row]}
