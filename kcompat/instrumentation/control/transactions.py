"""Producers that are fenced and transactions that hang, by the control port."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.instrumentation.control.faults import Fault, kept
from kcompat.instrumentation.faults import transactions

if TYPE_CHECKING:
    from kcompat.instrumentation.control.control import Control


class WhichProducer(Struct, forbid_unknown_fields=True):
    """The choice of a transactional producer."""

    transactional_id: str


async def fence_producer(control: Control, which: WhichProducer) -> None:
    """Take a transactional id from its producer, as another producer does that begins to use it."""
    await transactions.fence_producer(control.nodes, which.transactional_id)


async def hang_transaction(control: Control, which: WhichProducer) -> Fault:
    """Let the coordinator forget the open transaction of an id, so that it hangs until the fault ends."""
    return kept(control, [await transactions.hang_transaction(control.nodes, which.transactional_id)])
