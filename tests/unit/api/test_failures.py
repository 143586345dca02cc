"""The lines of the log about requests that fail."""

from __future__ import annotations

from typing import Any, cast

from kcompat.api.context import RequestContext
from kcompat.api.failures import note_batch, note_missing_topics
from kcompat.notices import causes
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.produce import ProduceResponse
from support.asking import NOW_MS, Client, services_of


def asker(key: ApiKey) -> tuple[Client, RequestContext]:
    """Return a client, and the context of one of its requests."""
    client = Client()
    return client, RequestContext(cast("Any", client), services_of(), 9, "app", NOW_MS, key)


def test_one_request_for_many_missing_topics_is_one_occurrence() -> None:
    client, context = asker(ApiKey.METADATA)
    topics = [f"t{number}" for number in range(causes.TOPIC_AWAITED.after)]
    note_missing_topics(context, topics, may_create=False)
    assert len(client.reports) == 1
    note_missing_topics(context, topics, may_create=True)
    assert len(client.reports) == 1 + len(topics)


def test_each_error_of_a_batch_has_a_line_also_where_nothing_is_known_of_the_batch() -> None:
    client, context = asker(ApiKey.PRODUCE)
    for error in ErrorCode:
        refused = ProduceResponse.PartitionProduceResponse(index=0, error_code=error)
        note_batch(context, ("t", 0), refused, ErrorCode.NOT_LEADER_OR_FOLLOWER, None)
    assert len(client.reports) > 10
    assert all(line.startswith("app at 10.0.0.7: ") and "t-0" in line for line in client.reports)
