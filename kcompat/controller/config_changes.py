"""The event that changes dynamic configs. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.cluster.news import UpdateConfigs
from kcompat.cluster.store import Create, SetData
from kcompat.cluster.znodes import config_path, encode_config
from kcompat.controller.requests import to_all
from kcompat.controller.state import Decision
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.cluster.store import Op
    from kcompat.controller.state import ControllerState


class SetConfigs(Struct, frozen=True):
    """Replace all dynamic configs of one entity by `configs`.

    `basis` are the configs that the caller started from: the answer is INVALID_UPDATE_VERSION where others
    are in force. None replaces any.
    """

    kind: str
    name: str
    configs: Mapping[str, str]
    basis: Mapping[str, str] | None = None

    def decide(self, state: ControllerState) -> Decision[ErrorCode]:
        """Write them and show them."""
        if self.kind == "topics" and self.name not in state.topics:
            return Decision(state, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if self.basis is not None and self.basis != state.configs(self.kind, self.name):
            return Decision(state, ErrorCode.INVALID_UPDATE_VERSION)
        entity = (self.kind, self.name)
        path, data = config_path(*entity), encode_config(self.configs)
        write: Op = SetData(path, data) if entity in state.entity_configs else Create(path, data)
        news = UpdateConfigs({entity: dict(self.configs)})
        return Decision(state.with_configs(news.changed), ErrorCode.NONE, [write], to_all(state, news))

    def refused(self, error: ErrorCode) -> ErrorCode:
        """The error itself."""
        return error
