"""Streams groups of KIP-1071."""

from __future__ import annotations

from typing import TYPE_CHECKING

from admission.scenes.consumer_groups import CONFIG_OPERATIONS
from admission.stage import OPEN_TOPIC, SECRET_TOPIC, SHARED, UNKNOWN, Asker, scene
from differential.scenarios.streams_groups import (
    BEAT,
    DESCRIBE,
    LEAVE,
    going_on,
    in_order,
    joining,
    subtopology,
    topic_info,
)
from kcompat.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from kcompat.protocol.messages.streams_group_describe import StreamsGroupDescribeResponse

GROUPS = ("open", "secret")


@scene(BEAT)
def streams_group_heartbeat(play: Asker, version: int) -> None:
    for group in (play.name(name) for name in GROUPS):
        for topics in ([OPEN_TOPIC], list(SHARED), list(UNKNOWN), []):
            play.call(BEAT, version, **joining(group, "m", subtopology("0", *topics)))
            play.call(BEAT, version, **going_on(group, "m", LEAVE))
        for sink in SHARED:
            writing = subtopology("0", OPEN_TOPIC, repartition_sink_topics=[sink])
            play.call(BEAT, version, **joining(f"{group}-{sink}", "m", writing))
    play.call(BEAT, version, **joining("", "m", subtopology("0", OPEN_TOPIC)))


@scene(BEAT)
def streams_groups_that_need_topics(play: Asker, version: int) -> None:
    """Whether a member may have its topics made: they are none that anybody has made before."""
    for name in GROUPS:
        changelog = topic_info(f"{play.name(name)}-{version}-changelog")
        stateful = subtopology("0", OPEN_TOPIC, state_changelog_topics=[changelog])
        play.call(BEAT, version, **joining(play.name("open"), "m", stateful))
        play.call(BEAT, version, **going_on(play.name("open"), "m", LEAVE))
        play.do(ApiKey.DELETE_GROUPS, 2, groups_names=[play.name("open")])


def _trimmed(answer: StreamsGroupDescribeResponse) -> None:
    in_order(answer)
    for group in answer.groups:
        group.authorized_operations &= ~CONFIG_OPERATIONS


@scene(DESCRIBE)
def streams_group_describe(play: Asker, version: int) -> None:
    groups = [play.name(name) for name in ("open", "open-both", "secret")]
    for group, topics in zip(groups, ([OPEN_TOPIC], SHARED, [SECRET_TOPIC]), strict=True):
        play.do(BEAT, 0, **joining(group, "m", subtopology("0", *topics)))
    asked = [*groups, "open-none", "secret-none"]
    play.call(DESCRIBE, version, trim=_trimmed, group_ids=asked)
    play.call(DESCRIBE, version, trim=_trimmed, group_ids=asked, include_authorized_operations=True)
