"""Parts of scenarios of transactions: producers with a transactional id, and their batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from differential.members import ready
from differential.play import batch
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from differential.play import Play

FIND, INIT, END = ApiKey.FIND_COORDINATOR, ApiKey.INIT_PRODUCER_ID, ApiKey.END_TXN
ADD, ADD_OFFSETS = ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.ADD_OFFSETS_TO_TXN
DESCRIBE, LIST = ApiKey.DESCRIBE_TRANSACTIONS, ApiKey.LIST_TRANSACTIONS
TRANSACTION = 1
"""The kind of key of a transactional id."""
TIMEOUT_MS = 60_000
WHOLE = frozenset({"", "Empty", "CompleteCommit", "CompleteAbort", "Dead"})
"""States in which nothing is open and no markers are being written."""


class Identity(NamedTuple):
    """A producer with a transactional id."""

    name: str
    producer_id: int
    epoch: int

    @property
    def fields(self) -> dict[str, Any]:
        """As most requests have them."""
        return {
            "transactional_id": self.name,
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
        }

    def others(self) -> tuple[Identity, ...]:
        """Some who are not this producer."""
        return (
            self._replace(epoch=self.epoch + 1),
            self._replace(epoch=self.epoch - 1),
            self._replace(producer_id=self.producer_id + 500_000),
            self._replace(name=f"{self.name}-of-nobody"),
            self._replace(name=""),
        )

    def batch(self, *values: bytes, sequence: int = 0) -> bytes:
        """A batch of its transaction."""
        identity = {"producer_id": self.producer_id, "producer_epoch": self.epoch}
        return batch(*values, base_sequence=sequence, transactional=True, **identity)


def coordinated(play: Play, name: str) -> str:
    """Wait until the id has a coordinator that has loaded its partition, which on a fresh Kafka takes a
    while; the id.
    """
    play.until(
        lambda: (
            not play.do(FIND, 1, key=name, key_type=TRANSACTION).error_code
            and not play.do(INIT, 1, transactional_id=None, transaction_timeout_ms=TIMEOUT_MS).error_code
            and _described(play, name).error_code in (ErrorCode.NONE, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
        ),
        f"{name} is coordinated",
    )
    return name


def with_internal_topics(play: Play) -> None:
    """Wait until there are the topics of groups and of transactions: other scenarios may have made them."""
    ready(play)
    coordinated(play, play.name("x"))


def _described(play: Play, name: str) -> Any:
    return play.do(DESCRIBE, 0, transactional_ids=[name]).transaction_states[0]


def over(play: Play, name: str) -> None:
    """Wait until all markers of the transaction are written: Kafka answers who ends it before that."""
    play.until(
        lambda: (state := _described(play, name)).transaction_state in WHOLE and not _loads(state),
        f"the transaction of {name} is over",
    )


def _loads(state: Any) -> bool:
    return state.error_code not in (ErrorCode.NONE, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)


def begun(play: Play, name: str, timeout_ms: int = TIMEOUT_MS) -> Identity:
    """The producer of an id from now on, made without recording; there is an epoch below its own."""
    coordinated(play, name)
    answers = []

    def given() -> bool:
        answers.append(play.do(INIT, 4, transactional_id=name, transaction_timeout_ms=timeout_ms))
        return not answers[-1].error_code and answers[-1].producer_epoch > 0

    play.until(given, f"{name} has a producer")
    return Identity(name, answers[-1].producer_id, answers[-1].producer_epoch)


def places(*partitions: tuple[str, int]) -> list[dict[str, Any]]:
    """Partitions as AddPartitionsToTxn has them."""
    topics: dict[str, list[int]] = {}
    for topic, index in partitions:
        topics.setdefault(topic, []).append(index)
    return [{"name": topic, "partitions": indexes} for topic, indexes in topics.items()]


def adding(who: Identity, *partitions: tuple[str, int]) -> dict[str, Any]:
    """The fields of AddPartitionsToTxn of a client."""
    return {
        "v3_and_below_transactional_id": who.name,
        "v3_and_below_producer_id": who.producer_id,
        "v3_and_below_producer_epoch": who.epoch,
        "v3_and_below_topics": places(*partitions),
    }


def add(play: Play, who: Identity, *partitions: tuple[str, int]) -> None:
    """Add partitions to the transaction without recording."""
    answer = play.do(ADD, 3, **adding(who, *partitions))
    errors = {
        row.partition_error_code
        for topic in answer.results_by_topic_v3_and_below
        for row in topic.results_by_partition
    }
    assert errors == {0}, answer


def add_offsets(play: Play, who: Identity, group: str) -> None:
    """Add a group to the transaction without recording."""
    answer = play.do(ADD_OFFSETS, 3, group_id=group, **who.fields)
    assert answer.error_code == 0, answer


def write(
    play: Play, who: Identity, topic: str, *values: bytes, sequence: int = 0, partition: int = 0
) -> int:
    """Add a partition and write a batch to it without recording; the batch's offset."""
    add(play, who, (topic, partition))
    rows = [{"index": partition, "records": who.batch(*values, sequence=sequence)}]
    answer = play.do(
        ApiKey.PRODUCE, 9, transactional_id=who.name, acks=-1, timeout_ms=10_000,
        topic_data=[{"name": topic, "partition_data": rows}],
    )  # fmt: skip
    assert answer.responses[0].partition_responses[0].error_code == 0, answer
    return int(answer.responses[0].partition_responses[0].base_offset)


def end(play: Play, who: Identity, *, commits: bool = True) -> None:
    """End the transaction without recording, and wait until that is over."""
    answer = play.do(END, 3, committed=commits, **who.fields)
    assert answer.error_code == 0, answer
    over(play, who.name)


def comparable(answer: Any) -> None:
    """Partitions of DescribeTransactions are as Kafka's hash tables have them, and a row that is refused has
    the producer id 0, which may be somebody's.
    """
    for state in answer.transaction_states:
        if state.error_code:
            state.producer_id = -1
        for topic in state.topics:
            topic.partitions.sort()
