"""ControlledShutdown (key 7), versions 0-3: a broker that is about to stop hands over its leaderships.

Behaviour
- Only brokers may send the request, and only the controller decides. Other brokers answer
  STALE_CONTROLLER_EPOCH, as in Kafka.
- The broker cannot join an ISR any more. The response lists the partitions that it still leads, because no
  other replica in sync is live; the broker may retry.
- A broker that has registered again since gets STALE_BROKER_EPOCH, and one that is not registered
  BROKER_NOT_AVAILABLE. (Kafka answers UNKNOWN_SERVER_ERROR to the latter if the request has a broker epoch.)

Version notes
- 0: a request without a client id in its header. 2: the broker epoch (KIP-380). 3: flexible.
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
    """Hand over the leaderships through the controller in this process."""
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
