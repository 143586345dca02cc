"""Authorization, epoch check and execution of LeaderAndIsr, StopReplica and UpdateMetadata, which a
controller sends to brokers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.cluster.control_requests import ControlRequest, Reply

UNKNOWN_BROKER_EPOCH = -1


def refusal_of(context: RequestContext, broker_epoch: int) -> ErrorCode:
    """Return the error that refuses the whole request, or NONE.

    A `broker_epoch` below this broker's epoch belongs to a former registration. A higher one is accepted,
    because the request may arrive before this broker knows its own epoch.
    """
    if not context.may(Operation.CLUSTER_ACTION, CLUSTER):
        return ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    if broker_epoch != UNKNOWN_BROKER_EPOCH and broker_epoch < context.services.cluster.broker_epoch():
        return ErrorCode.STALE_BROKER_EPOCH
    return ErrorCode.NONE


def execute(context: RequestContext, control: ControlRequest) -> Promise[Reply]:
    """Have this broker execute a control request; promise its reply."""
    replied: Promise[Reply] = Promise()
    context.services.cluster.local.give(control, replied.complete)
    return replied
