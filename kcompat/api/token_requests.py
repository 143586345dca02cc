"""Rules that the requests about delegation tokens share (KIP-48)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.security.principals import ANONYMOUS
from kcompat.security.tokens import TokenLimits

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext

FIRST_WITH_REQUESTER = 3
"""First version of CreateDelegationToken and DescribeDelegationToken with the requester of a token."""
NO_TIME = -1


def may_use_tokens(context: RequestContext) -> bool:
    """Return whether the client has logged in, and not with a token (Kafka's `allowTokenRequests`)."""
    if context.principal.token_authenticated:
        return False
    protocol = next(
        endpoint.protocol
        for endpoint in context.services.server.config.listeners
        if endpoint.name == context.listener
    )
    return protocol != "PLAINTEXT" and (protocol != "SSL" or context.principal != ANONYMOUS)


def token_limits(context: RequestContext) -> TokenLimits:
    """Return the configured limits of tokens."""
    config = context.services.server.config
    return TokenLimits(
        config.integer("delegation.token.max.lifetime.ms"), config.integer("delegation.token.expiry.time.ms")
    )
