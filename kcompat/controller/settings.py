"""Events that change dynamic configs and hand out producer ids. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kcompat.cluster.store import Create, SetData
from kcompat.cluster.znodes import (
    PRODUCER_ID_BLOCK,
    PRODUCER_ID_BLOCK_SIZE,
    ProducerIdBlock,
    config_path,
    encode_config,
    encode_producer_ids,
)
from kcompat.controller.state import ABSENT, Decision, UpdateMetadata
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.cluster.store import Op
    from kcompat.controller.state import ControllerState

MAX_PRODUCER_ID = 2**63 - 1


class SetConfigs(Struct, frozen=True):
    """Replace the dynamic configs of one entity: all of them, as they shall be.

    `basis` is what they were made from; INVALID_UPDATE_VERSION says that they are no longer that. None
    replaces whatever there is.
    """

    kind: str
    name: str
    configs: Mapping[str, str]
    basis: Mapping[str, str] | None = None

    def decide(self, state: ControllerState) -> Decision[ErrorCode]:
        """Write them and show them."""
        if self.kind == "topics" and self.name not in state.image.topics:
            return Decision(state, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if self.basis is not None and self.basis != state.image.configs(self.kind, self.name):
            return Decision(state, ErrorCode.INVALID_UPDATE_VERSION)
        entity = (self.kind, self.name)
        path, data = config_path(*entity), encode_config(self.configs)
        write: Op = SetData(path, data) if entity in state.image.entity_configs else Create(path, data)
        image = state.image.with_configs({entity: dict(self.configs)})
        return Decision(replace(state, image=image), ErrorCode.NONE, [write], [UpdateMetadata(image)])

    def refused(self, error: ErrorCode) -> ErrorCode:
        """The error itself."""
        return error


class AllocateProducerIds(Struct, frozen=True):
    """Take the next block of producer ids for a broker; no id is handed out twice while the cluster lives."""

    broker_id: int

    def decide(self, state: ControllerState) -> Decision[ProducerIdBlock | None]:
        """The block behind the last one; None when the ids are used up."""
        first = state.last_producer_id + 1
        block = ProducerIdBlock(self.broker_id, first, first + PRODUCER_ID_BLOCK_SIZE - 1)
        if block.last > MAX_PRODUCER_ID:
            return Decision(state, None)
        data, version = encode_producer_ids(block), state.producer_ids_version
        write: Op = (
            Create(PRODUCER_ID_BLOCK, data)
            if version == ABSENT
            else SetData(PRODUCER_ID_BLOCK, data, version)
        )
        after = replace(state, last_producer_id=block.last, producer_ids_version=version + 1)
        return Decision(after, block, [write])

    def refused(self, error: ErrorCode) -> ProducerIdBlock | None:  # noqa: ARG002
        """No block."""
        return None
