"""Tests that all five APIs of the share coordinator pass, whatever is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation
from support.asking import Denying

if TYPE_CHECKING:
    from support.share_state_apis import ShareStateApi


class ShareStateConformance:
    """A test class of an API derives from it; its file has the fixture `api`."""

    def test_without_a_group_nothing_is_asked(self, api: ShareStateApi) -> None:
        assert api.ask(0, group_id="") == {}

    def test_only_brokers_may_ask(self, api: ShareStateApi) -> None:
        api.admit(Denying((Operation.CLUSTER_ACTION, CLUSTER)))
        row = api.ask(0, group_id="")[0]
        assert row.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        assert row.error_message == ErrorCode.CLUSTER_AUTHORIZATION_FAILED.message


class EmptyTopicConformance(ShareStateConformance):
    """APIs that do nothing at all where a topic has no rows."""

    def test_a_topic_without_rows_makes_nothing_of_the_request(self, api: ShareStateApi) -> None:
        assert api.ask_beside_an_empty_topic(0) == {}
