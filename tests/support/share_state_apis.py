"""The five APIs of the share coordinator are asked alike: this asks each of them in its own words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from support.asking import ask, services_of
from support.share_coordinators import KEY, TOPIC, ShareCoordinatorFixture

if TYPE_CHECKING:
    from types import ModuleType

    from kcompat.protocol.message import Message
    from kcompat.security.authorizer import Authorizer


class ShareStateApi:
    """One API of a share coordinator that knows one topic; `row` is what is asked of a partition."""

    def __init__(self, module: ModuleType, request: type[Any], topic: type[Any], row: type[Any]) -> None:
        self.fixture = ShareCoordinatorFixture()
        self.services = services_of(share_coordinator=self.fixture.coordinator)
        self._module = module
        self._request, self._topic, self._row = request, topic, row

    def admit(self, authorizer: Authorizer) -> None:
        """Have others decide on who may do what."""
        self.services.server.authorizer = authorizer

    def ask(self, *indexes: int, version: int = 0, group_id: str = KEY.group_id, **fields: Any) -> Any:
        """The rows of the answer, by partition; `fields` are the same for all."""
        rows = [self._row(partition=index, **fields) for index in indexes]
        request = self._request(group_id, [self._topic(TOPIC, rows)])
        return self.rows(request, version)

    def ask_beside_an_empty_topic(self, index: int) -> Any:
        """As `ask`, of a partition of another topic; of this one nothing is asked."""
        topics = [self._topic(TOPIC, []), self._topic(b"\1" * 16, [self._row(index)])]
        return self.rows(self._request(KEY.group_id, topics))

    def rows(self, request: Message, version: int = 0) -> Any:
        """The rows of the answer to a request, by partition; a promise of the answer while it waits."""
        response = ask(self._module, version, request, self.services)
        if not hasattr(response, "results"):
            return response
        return {row.partition: row for result in response.results for row in result.partitions}
