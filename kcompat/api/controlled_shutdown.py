"""ControlledShutdown (key 7), versions 0-3: a broker that is about to stop has its leaderships handed over.

Behaviour
- Only brokers may ask, and only the controller decides: STALE_CONTROLLER_EPOCH elsewhere, as in Kafka.
- The broker gets into no ISR from then on. The answer lists the partitions that it leads all the same,
  because no other replica in sync is live; it may ask again.
- STALE_BROKER_EPOCH for a broker that has registered anew since, BROKER_NOT_AVAILABLE for one that has not
  registered. (Kafka tells the latter UNKNOWN_SERVER_ERROR where it names its epoch.)

Version notes
- 0: a request without a client id in its header. 2: the broker's epoch (KIP-380). 3: flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
)
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.controller.shutdown import StillLed
    from kcompat.promise import Promise

Remaining = ControlledShutdownResponse.RemainingPartition


def handle(
    context: RequestContext, request: ControlledShutdownRequest
) -> ControlledShutdownResponse | Promise[ControlledShutdownResponse]:
    """Have the controller of this process decide."""
    if not context.may(Operation.CLUSTER_ACTION, CLUSTER):
        return ControlledShutdownResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    decisions = context.services.cluster.decisions
    return decisions.controlled_shutdown(request.broker_id, request.broker_epoch).map(_response)


def _response(still_led: StillLed) -> ControlledShutdownResponse:
    error = still_led.error
    if error is ErrorCode.NOT_CONTROLLER:
        error = ErrorCode.STALE_CONTROLLER_EPOCH
    remaining = [Remaining(topic, index) for topic, index in still_led.partitions]
    return ControlledShutdownResponse(error_code=error, remaining_partitions=remaining)
