"""Transactions: begun, filled, ended and described, by clients that may not use an id or what is in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from admission.stage import GROUPS, SHARED, TIMEOUT_MS, UNKNOWN, WRITTEN, Asker, offsets_of, scene
from differential.play import batch
from differential.transactions import add, add_offsets, adding, begun, comparable, coordinated, over, places
from kcompat.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from differential.transactions import Identity

IDS = ("open", "secret")
LONGEST_MS = 900_000
"""Timeout of the transactions: the abort of one that has timed out would move the ends of the shared topics
while another scene is played."""
FIRST_WITH_PATTERN = 2
"""First version of ListTransactions with patterns."""


def producers(play: Asker) -> list[Identity]:
    """The producers of an open id and of a secret one, made by one who may do everything."""
    return [begun(play, play.name(suffix), LONGEST_MS) for suffix in IDS]


@scene(ApiKey.INIT_PRODUCER_ID)
def init_producer_id_of_a_transactional_id(play: Asker, version: int) -> None:
    fields = {"transaction_timeout_ms": TIMEOUT_MS}
    for suffix in IDS:
        name = coordinated(play, play.name(suffix))
        for producer_id in (-1, 5, -1):
            asked = {"transactional_id": name, "producer_id": producer_id, **fields}
            play.call(ApiKey.INIT_PRODUCER_ID, version, **asked)
    play.call(ApiKey.INIT_PRODUCER_ID, version, transactional_id="", **fields)


@scene(ApiKey.PRODUCE, 3, 9, 11, 12, 13)
def produce_in_a_transaction(play: Asker, version: int) -> None:
    def no_offsets(answer: Any) -> None:
        for topic in answer.responses:
            for row in topic.partition_responses:
                row.base_offset, row.log_start_offset = min(row.base_offset, 0), -1

    def produce(transactional_id: str | None, data: bytes) -> None:
        rows = [{"index": 0, "records": data}]
        asked = [{"name": topic, "partition_data": rows} for topic in (*WRITTEN, UNKNOWN[1])]
        common = {"acks": -1, "timeout_ms": TIMEOUT_MS, "topic_data": asked}
        play.call(ApiKey.PRODUCE, version, trim=no_offsets, transactional_id=transactional_id, **common)

    for who in producers(play):
        produce(who.name, who.batch(b"not added"))
        add(play, who, *((topic, 0) for topic in WRITTEN))
        produce(who.name, who.batch(b"added"))
        produce(who.name, batch(b"plain"))
        produce(None, who.batch(b"of no id", sequence=1))


@scene(ApiKey.ADD_PARTITIONS_TO_TXN, 0, 3)
def add_partitions_to_txn(play: Asker, version: int) -> None:
    key = ApiKey.ADD_PARTITIONS_TO_TXN
    for who in producers(play):
        for topics in ((*SHARED, *UNKNOWN, "__consumer_offsets"), SHARED[:1], SHARED[1:], SHARED, UNKNOWN):
            play.call(key, version, **adding(who, *((topic, 0) for topic in topics)))


@scene(ApiKey.ADD_PARTITIONS_TO_TXN, 4, 5)
def add_partitions_to_txn_by_brokers(play: Asker, version: int) -> None:
    both = producers(play)
    for topics in (SHARED, (*SHARED, *UNKNOWN)):
        asked = places(*((topic, 0) for topic in topics))
        for verify_only in (True, False):
            rows = [{"verify_only": verify_only, "topics": asked, **who.fields} for who in both]
            play.call(ApiKey.ADD_PARTITIONS_TO_TXN, version, transactions=rows)


@scene(ApiKey.ADD_OFFSETS_TO_TXN)
def add_offsets_to_txn(play: Asker, version: int) -> None:
    for who in producers(play):
        for group in (*GROUPS, "secret-none", ""):
            play.call(ApiKey.ADD_OFFSETS_TO_TXN, version, group_id=group, **who.fields)


@scene(ApiKey.TXN_OFFSET_COMMIT, 0, 3, 4, 5)
def txn_offset_commit(play: Asker, version: int) -> None:
    topics = [offsets_of(topic) for topic in (*SHARED, *UNKNOWN)]
    for who in producers(play):
        for group in (play.name("open"), play.name("secret")):
            add_offsets(play, who, group)
            for asked in (topics, topics[1:2], []):
                play.call(ApiKey.TXN_OFFSET_COMMIT, version, group_id=group, topics=asked, **who.fields)


@scene(ApiKey.END_TXN, 0, 4, 5)
def end_txn(play: Asker, version: int) -> None:
    for who in producers(play):
        add(play, who, (WRITTEN[0], 0))
        for _ in range(2):
            play.call(ApiKey.END_TXN, version, committed=False, **who.fields)
            if version >= 5:
                return  # the epoch has risen
            over_unless_open(play, who)


def over_unless_open(play: Asker, who: Identity) -> None:
    """Wait until the transaction is over, if whoever ended it was allowed to."""
    state = play.do(ApiKey.DESCRIBE_TRANSACTIONS, 0, transactional_ids=[who.name]).transaction_states[0]
    if state.transaction_state != "Ongoing":
        over(play, who.name)


@scene(ApiKey.WRITE_TXN_MARKERS, 0, 1, 2)
def write_txn_markers(play: Asker, version: int) -> None:
    marker = {"producer_epoch": 3, "transaction_result": False, "coordinator_epoch": 0}
    topics = [{"name": topic, "partition_indexes": [0, 9]} for topic in (*WRITTEN, *UNKNOWN)]
    rows = [{"producer_id": who.producer_id, "topics": topics, **marker} for who in producers(play)]
    play.call(ApiKey.WRITE_TXN_MARKERS, version, markers=rows)
    play.call(ApiKey.WRITE_TXN_MARKERS, version, markers=[])


@scene(ApiKey.DESCRIBE_TRANSACTIONS)
def describe_transactions(play: Asker, version: int) -> None:
    both = producers(play)
    for who in both:
        add(play, who, *((topic, 0) for topic in SHARED))
    names = [*(who.name for who in both), play.name("open-none"), play.name("secret-none"), ""]
    for name in names:
        if name:
            coordinated(play, name)
    play.call(ApiKey.DESCRIBE_TRANSACTIONS, version, trim=comparable, transactional_ids=names)


@scene(ApiKey.LIST_TRANSACTIONS, 0, 1, 2)
def list_transactions(play: Asker, version: int) -> None:
    both = producers(play)
    names = {who.name for who in both}
    add(play, both[1], (SHARED[0], 0))

    def own(answer: Any) -> None:
        rows = [row for row in answer.transaction_states if row.transactional_id in names]
        answer.transaction_states = sorted(rows, key=lambda row: str(row.transactional_id))

    for states in ([], ["Ongoing"], ["Empty", "Nothing"]):
        asked = {"state_filters": states, "duration_filter": -1}
        play.call(ApiKey.LIST_TRANSACTIONS, version, trim=own, **asked)
    for pattern in (".*", ".*secret.*", "(") if version >= FIRST_WITH_PATTERN else ():
        play.call(ApiKey.LIST_TRANSACTIONS, version, trim=own, transactional_id_pattern=pattern)
