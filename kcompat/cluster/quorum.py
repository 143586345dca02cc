"""The metadata store as DescribeQuorum shows it: a quorum whose only voter and leader is the controller.

Kafka's counterpart in a KRaft cluster: the metadata log and the `KafkaRaftClient` that replicates it.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

from kcompat.cluster import znodes
from kcompat.cluster.payloads import DamagedZnodeError
from kcompat.store.interface import StoreError
from kcompat.store.promised import PromisedTasks

if TYPE_CHECKING:
    from kcompat.promise import Promise
    from kcompat.store.interface import MetadataStore

_log = logging.getLogger(__name__)


class QuorumState(NamedTuple):
    """Current controller in the store, its epoch, and the last transaction of the store."""

    controller_id: int
    controller_epoch: int
    last_zxid: int
    """The id of the last transaction in the store."""


class MetadataQuorum:
    """Reader of the quorum state for one broker."""

    def __init__(self, store: MetadataStore) -> None:
        self._store = store
        self._tasks = PromisedTasks("quorum")

    def read(self) -> Promise[QuorumState | None]:
        """Read the current quorum state from the store; None if there is no controller or the store cannot be
        read.
        """
        return self._tasks.run(self._read())

    def stop(self) -> None:
        """Cancel the pending reads."""
        self._tasks.cancel()

    async def _read(self) -> QuorumState | None:
        try:
            nodes = await self._store.get_many([znodes.CONTROLLER, znodes.CONTROLLER_EPOCH])
            controller, epoch = nodes
            if controller is None or epoch is None:
                return None
            return QuorumState(
                znodes.decode_controller(controller[0]), znodes.decode_epoch(epoch[0]), self._store.last_zxid
            )
        except (StoreError, DamagedZnodeError) as error:
            _log.warning("the controller cannot be read from the metadata store: %s", error)
            return None
