"""Verifiers of transactions with the answers that a test sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.promise import Promise

if TYPE_CHECKING:
    from collections.abc import Collection

    from kcompat.coordinator.ports import Claim
    from kcompat.protocol.errors import ErrorCode
    from kcompat.topics import TopicPartition


class Trusting:
    """A `Verifier` that says of every partition what `errors` has, and that it is in the transaction else. It
    answers when the test releases it, if `hold` was called.
    """

    def __init__(self) -> None:
        self.is_required = True
        self.errors: dict[TopicPartition, ErrorCode] = {}
        self.asked: list[tuple[Claim, list[TopicPartition]]] = []
        self._held: list[Promise[dict[TopicPartition, ErrorCode]]] | None = None

    def ask(
        self, claim: Claim, partitions: Collection[TopicPartition]
    ) -> Promise[dict[TopicPartition, ErrorCode]]:
        self.asked.append((claim, sorted(partitions)))
        if self._held is None:
            return Promise.resolved(dict(self.errors))
        promise: Promise[dict[TopicPartition, ErrorCode]] = Promise()
        self._held.append(promise)
        return promise

    def hold(self) -> None:
        """Answer nothing from now on."""
        self._held = []

    def release(self) -> None:
        """Answer who waits, and from now on at once."""
        held, self._held = self._held or [], None
        for promise in held:
            promise.complete(dict(self.errors))
