"""States of transactions and producers as brokers tell them, for `kafka-transactions`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kcompat.admin.errors import JavaError, error_of_code, raise_for
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.describe_producers import DescribeProducersRequest
from kcompat.protocol.messages.describe_transactions import DescribeTransactionsRequest
from kcompat.topics import by_topic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.admin.client import AdminClient
    from kcompat.protocol.messages.list_transactions import ListTransactionsRequest
    from kcompat.topics import TopicPartition

_TRANSACTION: Final = 1
"""Kind of coordinator that FindCoordinator looks for."""


def list_transactions(admin: AdminClient, request: ListTransactionsRequest) -> list[tuple[int, Any]]:
    """Return the transactions of all brokers, each with the broker that coordinates it. Raises JavaError."""
    requests = dict.fromkeys(admin.cluster().nodes, request)
    found = []
    for broker_id, response in admin.ask_each(requests, name="listTransactions").items():
        if isinstance(response, JavaError):
            raise response
        raise_for(response.error_code)
        found += [(broker_id, row) for row in response.transaction_states]
    return found


def describe_transaction(admin: AdminClient, name: str) -> tuple[int, Any]:
    """Return a transactional id's coordinator and state. Raises JavaError."""
    request = DescribeTransactionsRequest([name])
    response = admin.ask_coordinator(_TRANSACTION, name, request, name="describeTransactions")
    (row,) = response.transaction_states
    if row.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
        raise error_of_code(
            row.error_code,
            f"DescribeTransactions request for transactionalId `{name}` failed because the ID could not be "
            "found",
        )
    raise_for(row.error_code)
    coordinator = admin.coordinators(_TRANSACTION, [name])[name]
    if isinstance(coordinator, JavaError):
        raise coordinator
    return coordinator, row


def active_producers(
    admin: AdminClient, partitions: Sequence[TopicPartition], broker_id: int | None
) -> dict[TopicPartition, list[Any]]:
    """Return the active producers of partitions, as their leaders or one broker know them.

    Raises:
        JavaError: a broker does not answer, or refuses one of the partitions.
    """
    if broker_id is None:
        leaders = admin.leaders(sorted({topic for topic, _ in partitions}))
    else:
        leaders = dict.fromkeys(partitions, broker_id)
    by_broker: dict[int, list[TopicPartition]] = {}
    for each in partitions:
        leader = leaders.get(each, -1)
        if leader < 0:
            known = each in leaders
            raise error_of_code(
                ErrorCode.LEADER_NOT_AVAILABLE if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            )
        by_broker.setdefault(leader, []).append(each)
    requests = {
        leader: DescribeProducersRequest(
            [DescribeProducersRequest.TopicRequest(*row) for row in by_topic(wanted)]
        )
        for leader, wanted in by_broker.items()
    }
    found: dict[TopicPartition, list[Any]] = {}
    for response in admin.ask_each(requests, name="describeProducers").values():
        if isinstance(response, JavaError):
            raise response
        for topic in response.topics:
            for row in topic.partitions:
                raise_for(row.error_code, row.error_message)
                found[topic.name, row.partition_index] = row.active_producers
    return found
