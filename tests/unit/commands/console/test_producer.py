"""The producer of the console: records that no broker takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from kcompat.commands.console.lines import Line
from kcompat.commands.console.producer import ConsoleProducer
from kcompat.commands.console.producer_settings import ProducerSettings
from kcompat.protocol.messages.metadata import MetadataResponse

if TYPE_CHECKING:
    from kcompat.admin.client import AdminClient
    from kcompat.admin.errors import JavaError

TOPIC = MetadataResponse.MetadataResponseTopic
PARTITION = MetadataResponse.MetadataResponsePartition


class NoLeaders:
    """A cluster whose topic has one partition, without a leader."""

    def ask(self, *_: object, **__: object) -> Any:
        """Return the metadata of the topic."""
        return MetadataResponse(topics=[TOPIC(name="orders", partitions=[PARTITION(leader_id=-1)])])


def test_records_of_a_partition_that_gets_no_leader_are_reported() -> None:
    failed: list[JavaError] = []
    settings = ProducerSettings.of({"retries": "1", "retry.backoff.ms": "1"})
    cluster = cast("AdminClient", NoLeaders())
    producer = ConsoleProducer(cluster, "orders", settings, lambda _key, _value, error: failed.append(error))
    producer.send(Line(None, b"first"))
    producer.flush()
    assert [error.name for error in failed] == ["LeaderNotAvailableException"]
    assert producer.due_s() is None
