"""ShareFetch and ShareAcknowledge over real logs, asked as clients ask them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kcompat.api import share_acknowledge, share_fetch
from kcompat.api.context import Interruptible
from kcompat.config.broker import BrokerConfig
from kcompat.promise import Promise
from kcompat.protocol.messages.share_acknowledge import ShareAcknowledgeRequest
from kcompat.protocol.messages.share_fetch import ShareFetchRequest
from kcompat.share.sessions import ShareSessions
from support.asking import Client, Finalized, context_of, services_of, travelled
from support.share_coordinators import TOPIC
from support.share_partitions import GROUP, ShareFetchFixture

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kcompat.security.authorizer import Authorizer

MEMBER = "member"
Batch = ShareFetchRequest.AcknowledgementBatch


class ShareApis:
    """One broker and one member, whose requests name the next epoch of its session by themselves."""

    def __init__(self, directory: Path, *, max_sessions: int = 10) -> None:
        self.fixture = ShareFetchFixture(directory)
        self.sessions = ShareSessions(max_sessions)
        self.client = Client()
        self.epoch = 0
        self.interrupt: Callable[[], object] = lambda: None
        """Ends the wait of the last fetch that may wait, as its connection does when it closes."""
        self.services = services_of(
            config=BrokerConfig(),
            metadata=self.fixture.cluster,
            replicas=self.fixture.replicas,
            share_partitions=self.fixture.shares,
            share_sessions=self.sessions,
            features=Finalized(share_version=1),
            clock=self.fixture.clock,
            broker_id=1,
        )

    def admit(self, authorizer: Authorizer) -> None:
        """Have others decide on who may do what."""
        self.services.server.authorizer = authorizer

    def fetch(
        self,
        *batches: Batch,
        version: int = 2,
        epoch: int | None = None,
        partitions: tuple[int, ...] = (0,),
        topic_id: bytes = TOPIC,
        client: Client | None = None,
        **fields: Any,
    ) -> Any:
        """The answer to a ShareFetch, or a promise of it; `batches` are said of the first partition."""
        if version < 2:
            fields.pop("share_acquire_mode", None)
        rows = [ShareFetchRequest.FetchPartition(index) for index in partitions]
        if rows:
            rows[0].acknowledgement_batches = list(batches)
        wanted: dict[str, Any] = {
            "group_id": GROUP,
            "member_id": MEMBER,
            "share_session_epoch": self.epoch if epoch is None else epoch,
            "max_wait_ms": 500,
            "min_bytes": 1,
            "max_records": 500,
            "batch_size": 500,
            "topics": [ShareFetchRequest.FetchTopic(topic_id, rows)] if rows else [],
        }
        if epoch is None:
            self.epoch += 1
        return self._ask(share_fetch, version, ShareFetchRequest(**{**wanted, **fields}), client)

    def acknowledge(
        self,
        *batches: ShareAcknowledgeRequest.AcknowledgementBatch,
        version: int = 2,
        epoch: int | None = None,
        index: int = 0,
        topic_id: bytes = TOPIC,
        **fields: Any,
    ) -> Any:
        """The answer to a ShareAcknowledge, or a promise of it."""
        row = ShareAcknowledgeRequest.AcknowledgePartition(index, list(batches))
        wanted: dict[str, Any] = {
            "group_id": GROUP,
            "member_id": MEMBER,
            "share_session_epoch": self.epoch if epoch is None else epoch,
            "topics": [ShareAcknowledgeRequest.AcknowledgeTopic(topic_id, [row])],
        }
        if epoch is None:
            self.epoch += 1
        return self._ask(share_acknowledge, version, ShareAcknowledgeRequest(**{**wanted, **fields}))

    def send(self, request: ShareFetchRequest | ShareAcknowledgeRequest, version: int, client: Client) -> Any:
        """The answer to a request as it is, or a promise of it."""
        module = share_fetch if isinstance(request, ShareFetchRequest) else share_acknowledge
        return self._ask(module, version, request, client)

    def _ask(self, module: Any, version: int, request: Any, client: Client | None = None) -> Any:
        context = context_of(self.services, version, client=client or self.client)
        answer = module.handle(context, travelled(request, version))
        if isinstance(answer, Interruptible):
            self.interrupt = answer.interrupt
            answer = answer.promise
        if not isinstance(answer, Promise):
            return travelled(answer, version)
        mapped = answer.map(lambda response: travelled(response, version))
        return mapped.value if mapped.done else mapped


def said(first: int, last: int, *types: int) -> Batch:
    """Return the acknowledgement of a range for a ShareFetch."""
    return Batch(first, last, list(types))


def acknowledged(first: int, last: int, *types: int) -> ShareAcknowledgeRequest.AcknowledgementBatch:
    """Return the acknowledgement of a range for a ShareAcknowledge."""
    return ShareAcknowledgeRequest.AcknowledgementBatch(first, last, list(types))
