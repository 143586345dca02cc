"""The checks of every request of a controller to a broker, made before any part of it is done."""

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


def refusal(context: RequestContext, broker_epoch: int) -> ErrorCode:
    """Why a request is refused that was meant for a broker of this epoch; NONE if it is not.

    A smaller epoch than ours was that of a former registration. A larger one can come before this broker
    knows its own.
    """
    if not context.may(Operation.CLUSTER_ACTION, CLUSTER):
        return ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    if broker_epoch != UNKNOWN_BROKER_EPOCH and broker_epoch < context.services.cluster.broker_epoch():
        return ErrorCode.STALE_BROKER_EPOCH
    return ErrorCode.NONE


def give(context: RequestContext, news: ControlRequest) -> Promise[Reply]:
    """Have this broker take the news."""
    replied: Promise[Reply] = Promise()
    context.services.cluster.local.give(news, replied.complete)
    return replied
