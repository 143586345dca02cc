"""How a broker leaves its cluster in peace: others lead what it leads before it stops (controlled shutdown).

Kafka's counterpart: `KafkaServer.controlledShutdown`.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, TypeVar

from kcompat.peer.errors import PeerError
from kcompat.protocol.errors import error_of

if TYPE_CHECKING:
    from kcompat.node.parts import Parts
    from kcompat.promise import Promise

T = TypeVar("T")

logger = logging.getLogger(__name__)


async def hand_leaderships_over(parts: Parts) -> None:
    """Have the controller move the leaderships of this broker away, in `controlled.shutdown.max.retries`
    attempts at most. A broker that is alone has nobody to hand them to.
    """
    config = parts.config.current
    if not config.get("controlled.shutdown.enable"):
        return
    for left in reversed(range(config.integer("controlled.shutdown.max.retries"))):
        if parts.cluster.image.brokers.keys() <= {parts.services.broker_id}:
            return
        problem = await _attempt(parts)
        if problem is None:
            return
        logger.warning("leaderships were not handed over: %s", problem)
        if left:
            await asyncio.sleep(config.integer("controlled.shutdown.retry.backoff.ms") / 1000)


async def _attempt(parts: Parts) -> str | None:
    """Ask once; what keeps this broker from stopping, if anything does."""
    try:
        if parts.candidacy.is_here:
            decided = parts.decisions.controlled_shutdown(parts.services.broker_id, parts.registration.epoch)
            answer = await _arrival(decided)
            error, still_led = answer.error, list(answer.partitions)
        else:
            response = await _arrival(parts.peering.controller.controlled_shutdown())
            error = error_of(response.error_code)
            still_led = [(each.topic_name, each.partition_index) for each in response.remaining_partitions]
    except PeerError as fault:
        return str(fault)
    if error:
        return error.message
    if still_led:
        return f"nobody else can lead {', '.join(f'{topic}-{index}' for topic, index in still_led)}"
    return None


async def _arrival(promise: Promise[T]) -> T:
    """The value of a promise, or what it fails with."""
    arrived: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    promise.then(arrived.set_result, arrived.set_exception)
    return await arrived
