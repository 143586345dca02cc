"""The delegation tokens of the cluster, read and changed by one broker (KIP-48).

A change is one transaction: it creates, sets or removes the node of a token, provided that the node is
unchanged since it was read, and adds a notification for all brokers. Kafka's counterpart:
`DelegationTokenManagerZk`. Without a secret key there are no tokens, and nothing is read.
"""

from __future__ import annotations

import asyncio
import logging
from base64 import b64encode
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcompat.cluster.payloads import DamagedZnodeError
from kcompat.cluster.token_nodes import (
    CHANGE_PREFIX,
    PERSISTENT_PATHS,
    TOKENS,
    decode_token,
    encode_token,
    token_path,
)
from kcompat.promise import Promise, gather
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.uuids import random_uuid, uuid_to_text
from kcompat.security.credentials import MIN_ITERATIONS, SCRAM_MECHANISMS, ScramIdentity
from kcompat.security.principals import USER, Principal
from kcompat.store.interface import (
    BadVersionError,
    Create,
    Delete,
    NodeExistsError,
    NoNodeError,
    SessionExpiredError,
    SetData,
    StoreError,
    UnknownOutcomeError,
)
from kcompat.store.notifications import NotificationWatch
from kcompat.store.promised import PromisedTasks

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence
    from random import Random

    from kcompat.security.credentials import ScramCredential, ScramMechanism
    from kcompat.security.tokens import DelegationToken
    from kcompat.store.interface import MetadataStore, Op

    Outcome = DelegationToken | None | ErrorCode
    Decide = Callable[[DelegationToken], Outcome]

_log = logging.getLogger(__name__)


class DelegationTokens:
    """The tokens in force on this broker. Reads and changes run one after another."""

    def __init__(
        self,
        store: MetadataStore,
        secret_key: str | None,
        decoy_key: Callable[[], bytes],
        now_ms: Callable[[], int],
        random: Random,
    ) -> None:
        """Prepare the tokens; `decoy_key` returns the secret from which salts are made, also those of unknown
        tokens.
        """
        self._store = store
        self._secret_key = secret_key
        self._decoy_key = decoy_key
        self._now_ms = now_ms
        self._random = random
        self._tokens: dict[str, DelegationToken] = {}
        self._ids: dict[bytes, str] = {}  # by HMAC
        self._credentials: dict[tuple[str, str], ScramCredential] = {}
        self._listings = 0
        """Number of times that the tokens in the store were listed to look for an unknown secret."""
        self._unheard_of: dict[bytes, str] | None = None
        """Ids, by HMAC, of tokens that the last listing of the store had and this broker did not know; None
        if the listing failed.
        """
        self._alone = asyncio.Lock()
        self._tasks = PromisedTasks("tokens")
        self._watch = NotificationWatch(store, CHANGE_PREFIX, self, now_ms)

    @property
    def are_enabled(self) -> bool:
        """Whether the broker has a secret key for tokens."""
        return bool(self._secret_key)

    async def start(self) -> None:
        """Read all tokens, and from then on every change. Raises the store's errors."""
        if self.are_enabled:
            for path in PERSISTENT_PATHS:
                with suppress(NodeExistsError):
                    await self._store.create(path)
            await self._watch.start()

    async def stop(self) -> None:
        """Stop watching, and cancel the reads and changes under way."""
        await self._watch.stop()
        await self._tasks.stop()

    def abandon(self) -> None:
        """Stop watching at once."""
        self._watch.abandon()
        self._tasks.cancel()

    def all(self) -> list[DelegationToken]:
        """Return all tokens, also those that have expired and are not removed yet."""
        return list(self._tokens.values())

    def new_id(self) -> str:
        """Return the id of a new token."""
        return uuid_to_text(random_uuid(self._random))

    def hmac(self, token_id: str) -> bytes:
        """Return the secret of a token."""
        from kcompat.security.scram_keys import token_hmac  # loads OpenSSL

        assert self._secret_key
        return token_hmac(self._secret_key, token_id)

    def find(self, mechanism: ScramMechanism, token_id: str) -> ScramIdentity | None:
        """Return the owner of a token, who logs in with it; None for an unknown token.

        As with Kafka, a token that has expired but is not removed yet logs in to a session that ends at once.
        """
        token = self._tokens.get(token_id)
        if token is None:
            return None
        owner = Principal(USER, token.owner.name, token_authenticated=True)
        return ScramIdentity(
            owner, self._credential(mechanism, token_id), min(token.max_ms, token.expires_at_ms)
        )

    def create(self, token: DelegationToken) -> Promise[Outcome]:
        """Store a new token; return it, or the error."""
        return self._tasks.run(self._guarded(partial(self._create, token)))

    def change(self, hmac: bytes, decide: Decide) -> Promise[Outcome]:
        """Replace the token with this secret by what `decide` makes of it, None for its removal; return that,
        or the error.
        """
        return self._tasks.run(self._guarded(partial(self._change, hmac, decide, self._listings)))

    def remove_expired(self) -> Promise[list[Outcome]]:
        """Remove the tokens that have expired; return the outcome of each removal."""
        removals: list[Promise[Outcome]] = []
        for token in self.all():
            if token.has_expired(self._now_ms()):
                _log.info("The delegation token %s of %s has expired", token.token_id, token.owner)
                removals.append(self.change(self.hmac(token.token_id), self._without_expired))
        return gather(removals)

    def _without_expired(self, token: DelegationToken) -> Outcome:
        return None if token.has_expired(self._now_ms()) else ErrorCode.NONE

    async def read_all(self) -> None:
        """Read all tokens."""
        async with self._alone:
            await self._read({*self._tokens, *await self._list()})

    async def read_changed(self, notifications: Sequence[tuple[str, bytes]]) -> None:
        """Read the tokens whose ids are the data of notifications."""
        ids = [data.decode(errors="replace") for _, data in notifications]
        async with self._alone:
            await self._read({token_id for token_id in ids if token_id and "/" not in token_id})

    async def _read(self, token_ids: Iterable[str]) -> None:
        paths = {token_id: token_path(token_id) for token_id in token_ids}
        nodes = await self._store.get_many(list(paths.values()))
        for token_id, node in zip(paths, nodes, strict=True):
            if node is None:
                self._forget(token_id)
            elif (token := _decoded(token_id, node[0])) is not None:
                self._put(token)

    async def _guarded(self, change: Callable[[], Awaitable[Outcome]]) -> Outcome:
        """Return the outcome of a change, or the error that stands for a fault of the store."""
        async with self._alone:
            try:
                return await change()
            except (SessionExpiredError, UnknownOutcomeError):
                return ErrorCode.REQUEST_TIMED_OUT
            except StoreError:
                _log.exception("a delegation token cannot be stored")
                return ErrorCode.UNKNOWN_SERVER_ERROR

    async def _create(self, token: DelegationToken) -> Outcome:
        path = token_path(token.token_id)
        await self._store.multi([Create(path, encode_token(token)), _notification(token.token_id)])
        self._put(token)
        return token

    async def _list(self) -> list[str]:
        """Return the ids of all tokens in the store."""
        return await self._store.children(TOKENS)

    async def _change(self, hmac: bytes, decide: Decide, listings: int) -> Outcome:
        """Change a token; `listings` is the value of `_listings` when the request arrived."""
        token_id = self._ids.get(hmac) or await self._find_unheard_of(hmac, listings)
        while token_id is not None:
            (node,) = await self._store.get_many([token_path(token_id)])
            token = None if node is None else _decoded(token_id, node[0])
            if node is None or token is None:
                self._forget(token_id)
                break
            outcome = decide(token)
            if isinstance(outcome, ErrorCode):
                return outcome
            path, version = token_path(token_id), node[1].version
            change: Op = (
                Delete(path, version) if outcome is None else SetData(path, encode_token(outcome), version)
            )
            with suppress(BadVersionError, NoNodeError):  # another broker was faster: decide again
                await self._store.multi([change, _notification(token_id)])
                self._forget(token_id) if outcome is None else self._put(outcome)
                return outcome
        return ErrorCode.DELEGATION_TOKEN_NOT_FOUND

    async def _find_unheard_of(self, hmac: bytes, listings: int) -> str | None:
        """Return the id of a token that another broker has just stored, by its secret.

        Waiting requests share one listing of the store, so requests with unknown secrets do not delay others.
        """
        if self._listings == listings or self._unheard_of is None:
            self._listings += 1
            self._unheard_of = None
            new = set(await self._list()) - self._tokens.keys()
            self._unheard_of = {self.hmac(token_id): token_id for token_id in new}
        return self._unheard_of.get(hmac)

    def _put(self, token: DelegationToken) -> None:
        self._tokens[token.token_id] = token
        self._ids[self.hmac(token.token_id)] = token.token_id

    def _forget(self, token_id: str) -> None:
        if self._tokens.pop(token_id, None) is not None:
            del self._ids[self.hmac(token_id)]
            for mechanism in SCRAM_MECHANISMS:
                self._credentials.pop((token_id, mechanism.name), None)

    def _credential(self, mechanism: ScramMechanism, token_id: str) -> ScramCredential:
        """Return the credential of a token, made at its first login: that takes milliseconds."""
        from kcompat.security.scram_keys import credential_of_password, decoy_salt

        key = token_id, mechanism.name
        credential = self._credentials.get(key)
        if credential is None:
            password = b64encode(self.hmac(token_id)).decode()
            salt = decoy_salt(self._decoy_key(), mechanism, token_id)
            credential = credential_of_password(mechanism, password, MIN_ITERATIONS, salt)
            self._credentials[key] = credential
        return credential


def _notification(token_id: str) -> Op:
    return Create(CHANGE_PREFIX, token_id.encode(), sequential=True)


def _decoded(token_id: str, data: bytes) -> DelegationToken | None:
    """Return the token in a node; None if its payload is damaged."""
    try:
        return replace(decode_token(data), token_id=token_id)
    except DamagedZnodeError as error:
        _log.error("the delegation token %s cannot be read: %s", token_id, error)
        return None
