"""The event that dynamic configs have changed. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kcompat.controller.draft import Draft
from kcompat.controller.offline_replicas import elect_offline

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.controller.state import ControllerState, Decision
    from kcompat.protocol.errors import ErrorCode


class ConfigsChanged(Struct, frozen=True):
    """The event that configs of topics and brokers have changed, and that the controller's broker has applied
    them. `changed` has all dynamic configs of each changed entity; `elects_uncleanly` is the default for
    topics without `unclean.leader.election.enable`.
    """

    changed: Mapping[tuple[str, str], Mapping[str, str]]
    elects_uncleanly: bool

    def decide(self, state: ControllerState) -> Decision[None]:
        """Elect leaders of the offline partitions that only now may elect a replica out of sync."""
        known = {
            (kind, name): configs
            for (kind, name), configs in self.changed.items()
            if kind != "topics" or name in state.topics
        }
        after = replace(state.with_configs(known), elects_uncleanly=self.elects_uncleanly)
        freed = [
            topic
            for topic in (state.topics if self.elects_uncleanly != state.elects_uncleanly else _topics(known))
            if after.may_elect_uncleanly(topic) and not state.may_elect_uncleanly(topic)
        ]
        draft = Draft(after)
        elect_offline(
            draft, [(topic, index) for topic in freed for index in range(len(after.topics[topic].partitions))]
        )
        return draft.decision(None)

    def refused(self, error: ErrorCode) -> None:
        """Do nothing: no caller waits for an answer."""


def _topics(configs: Mapping[tuple[str, str], object]) -> list[str]:
    return [name for kind, name in configs if kind == "topics"]
