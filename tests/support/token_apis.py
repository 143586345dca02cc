"""The handlers of delegation tokens, beside a store of them."""

from __future__ import annotations

from contextlib import asynccontextmanager
from random import Random
from typing import TYPE_CHECKING, Any

from kcompat.cluster.delegation_tokens import DelegationTokens
from kcompat.config.broker import BrokerConfig
from kcompat.promise import Promise
from kcompat.security.authorizer import AllowEverything
from kcompat.security.principals import USER, Principal
from kcompat.store.process_store import ProcessStore
from support.asking import NOW_MS, Client, ask, services_of, travelled
from support.controllers import answer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from kcompat.protocol.message import Message
    from kcompat.security.authorizer import Authorizer
    from kcompat.store.process_session import ProcessSession

SETTINGS = {
    "listeners": "PLAINTEXT://:1,SASL_PLAINTEXT://:2,SSL://:3,OWN://:4",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,SSL:SSL,"
    "OWN:SASL_SSL",
    "delegation.token.max.lifetime.ms": "1000",
    "delegation.token.expiry.time.ms": "100",
}
ALICE, BOB, CAROL = (Principal(USER, name) for name in ("alice", "bob", "carol"))


class TokenBroker:
    """A broker with delegation tokens, as its handlers see it."""

    def __init__(self, tokens: DelegationTokens, session: ProcessSession, authorizer: Authorizer) -> None:
        self.tokens = tokens
        self.session = session
        self.services = services_of(tokens=tokens, config=BrokerConfig(SETTINGS), authorizer=authorizer)

    async def ask(
        self,
        module: Any,
        version: int,
        request: Message,
        principal: Principal = ALICE,
        listener: str = "SASL_PLAINTEXT",
        later_ms: int = 0,
    ) -> Any:
        """Return the response to a client of this principal, so many ms after NOW_MS."""
        client = Client()
        client.principal, client.listener_name = principal, listener
        response = ask(module, version, request, self.services, client=client, now_ms=NOW_MS + later_ms)
        if isinstance(response, Promise):
            response = travelled(await answer(response), version)
        return response


@asynccontextmanager
async def token_broker(
    secret_key: str | None = "secret", authorizer: Authorizer | None = None
) -> AsyncIterator[TokenBroker]:
    """A broker alone with its store; its clock of expiry stands at NOW_MS."""
    store = ProcessStore.in_memory(lambda: NOW_MS)
    session = await store.session()
    tokens = DelegationTokens(session, secret_key, lambda: b"key", lambda: NOW_MS, Random(1))
    await tokens.start()
    yield TokenBroker(tokens, session, authorizer or AllowEverything())
    await tokens.stop()
    await store.close()
