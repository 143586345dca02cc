"""Transactions as their coordinator sees them: begun, filled, ended and described."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from differential.catalogue import scenario
from differential.members import ready
from differential.transactions import (
    ADD,
    ADD_OFFSETS,
    DESCRIBE,
    END,
    FIND,
    INIT,
    LIST,
    TIMEOUT_MS,
    TRANSACTION,
    add,
    add_offsets,
    adding,
    begun,
    comparable,
    coordinated,
    end,
    over,
    places,
    write,
)
from kcompat.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from collections.abc import Callable

    from differential.play import Play

LONGEST_MS = 900_000
FIRST_WITH_PATTERNS = 2
"""The default of `transaction.max.timeout.ms`."""


def described(play: Play, *names: str) -> None:
    """Record what the coordinator knows."""
    play.call(DESCRIBE, 0, trim=comparable, transactional_ids=list(names))


@scenario(FIND, since=1)
def find_transaction_coordinator(play: Play, version: int) -> None:
    names = [coordinated(play, play.name(suffix)) for suffix in "ab"]
    for name in (*names, ""):
        play.call(FIND, version, key=name, coordinator_keys=[name], key_type=TRANSACTION)
    play.call(FIND, version, key=names[0], coordinator_keys=[*names, names[0]], key_type=TRANSACTION)


@scenario(INIT)
def init_transactional(play: Play, version: int) -> None:
    name = coordinated(play, play.name("x"))
    for timeout_ms in (TIMEOUT_MS, TIMEOUT_MS, LONGEST_MS, LONGEST_MS + 1, 2**31 - 1, 0, -1, 1):
        play.call(INIT, version, transactional_id=name, transaction_timeout_ms=timeout_ms)
    described(play, name)
    play.call(INIT, version, transactional_id="", transaction_timeout_ms=TIMEOUT_MS)


@scenario(INIT, since=3)
def init_transactional_again(play: Play, version: int) -> None:
    who = begun(play, play.name("x"))
    epoch = who.epoch

    def init(producer_epoch: int, producer_id: int = who.producer_id, name: str = who.name) -> None:
        fields = {"producer_id": producer_id, "producer_epoch": producer_epoch}
        play.call(INIT, version, transactional_id=name, transaction_timeout_ms=TIMEOUT_MS, **fields)

    init(epoch)
    init(epoch)
    init(epoch + 1)
    init(epoch)
    init(epoch + 1)
    init(epoch + 9)
    init(epoch + 2, who.producer_id + 500_000)
    init(32767, who.producer_id + 500_000)
    init(-1)
    init(epoch, -1)
    init(-1, -1)
    init(epoch + 3)
    init(epoch + 3)
    init(7, 600_000, coordinated(play, play.name("fresh")))
    described(play, who.name)


@scenario(INIT)
def init_transactional_with_one_open(play: Play, version: int) -> None:
    topic = play.topic()
    who = begun(play, play.name("x"))
    write(play, who, topic, b"open")
    fields = {"transactional_id": who.name, "transaction_timeout_ms": TIMEOUT_MS}
    play.call(INIT, version, **fields)
    over(play, who.name)
    described(play, who.name)
    play.call(INIT, version, **fields)
    play.call(END, 3, committed=True, **who.fields)
    play.call(ADD, 3, **adding(who, (topic, 0)))
    stored(play, topic)


@scenario(INIT, since=3)
def init_transactional_of_the_producer_with_one_open(play: Play, version: int) -> None:
    topic = play.topic()
    who = begun(play, play.name("x"))
    add(play, who, (topic, 0))
    fields = {**who.fields, "transaction_timeout_ms": TIMEOUT_MS}
    play.call(INIT, version, **fields)
    over(play, who.name)
    described(play, who.name)
    play.call(INIT, version, **fields)
    play.call(INIT, version, **fields)


@scenario(ADD, until=3)
def add_partitions(play: Play, version: int) -> None:
    ready(play)
    topic, other = play.topic("t", 2), play.topic("u")
    who = begun(play, play.name("x"))
    coordinated(play, f"{who.name}-of-nobody")

    def ask(*partitions: tuple[str, int], by: Any = who) -> None:
        play.call(ADD, version, **adding(by, *partitions))

    ask((topic, 0), (play.name("never"), 0))
    ask((topic, 9), (other, 0))
    ask(("__consumer_offsets", 0), (topic, 0))
    ask(("__transaction_state", 0))
    ask(("no good", 0), (topic, -1))
    described(play, who.name)
    ask((topic, 0))
    ask((topic, 0))
    described(play, who.name)
    ask((topic, 0), (topic, 1), (other, 0))
    described(play, who.name)
    for stranger in who.others():
        ask((topic, 0), by=stranger)
    ask()
    end(play, who)
    ask((topic, 1))
    described(play, who.name)


@scenario(ADD, since=4)
def add_partitions_for_brokers(play: Play, version: int) -> None:
    ready(play)
    topic = play.topic(partitions=3)
    who, other = (begun(play, play.name(suffix)) for suffix in "xy")
    coordinated(play, f"{who.name}-of-nobody")
    add(play, who, (topic, 0))

    def ask(*rows: tuple[Any, bool, tuple[tuple[str, int], ...]]) -> None:
        asked = [
            {"verify_only": verify_only, "topics": places(*partitions), **by.fields}
            for by, verify_only, partitions in rows
        ]
        play.call(ADD, version, transactions=asked)

    for verify_only in (True, False):
        ask((who, verify_only, ((topic, 0),)))
        ask((who, verify_only, ((topic, 0), (topic, 1))))
        ask((who, verify_only, ((topic, 0), (topic, 9))))
        ask((who, verify_only, ((play.name("never"), 0), (topic, 0))))
        ask((who, verify_only, (("__consumer_offsets", 0),)))
        ask((who, verify_only, ()))
        for stranger in who.others():
            ask((stranger, verify_only, ((topic, 0),)))
    ask((who, True, ((topic, 1),)), (other, True, ((topic, 1),)))
    ask((who, False, ((topic, 2),)), (other, False, ((topic, 1),)))
    described(play, who.name, other.name)
    end(play, who)
    ask((who, True, ((topic, 0),)))


@scenario(ADD_OFFSETS)
def add_offsets_of_groups(play: Play, version: int) -> None:
    ready(play)
    who = begun(play, play.name("x"))
    coordinated(play, f"{who.name}-of-nobody")
    group = play.name("g")
    for _ in range(2):
        play.call(ADD_OFFSETS, version, group_id=group, **who.fields)
        described(play, who.name)
    for stranger in who.others():
        play.call(ADD_OFFSETS, version, group_id=group, **stranger.fields)
    play.call(ADD_OFFSETS, version, group_id="", **who.fields)
    described(play, who.name)


@scenario(END)
def end_transactions(play: Play, version: int) -> None:
    topic = play.topic()
    who = begun(play, play.name("x"))
    coordinated(play, f"{who.name}-of-nobody")
    sequence = 0

    def ask(*, commits: bool, by: Any) -> Any:
        answer = play.call(END, version, committed=commits, **by.fields)
        over(play, who.name)
        return by._replace(epoch=answer.producer_epoch) if answer.producer_epoch >= 0 else by

    for commits in (True, False):
        ask(commits=commits, by=who)
    described(play, who.name)
    who = begun(play, who.name)
    for commits in (True, False):
        for stranger in who.others():
            ask(commits=commits, by=stranger)
        write(play, who, topic, b"one", sequence=sequence)
        after = ask(commits=commits, by=who)
        sequence = 0 if after != who else sequence + 1
        described(play, who.name)
        ask(commits=commits, by=who)  # again, as if the answer was lost
        ask(commits=not commits, by=who)
        who = after
        described(play, who.name)
    stored(play, topic)


@scenario(END)
def end_transactions_that_were_ended(play: Play, version: int) -> None:
    """In the way of an older client, or by who took the id over."""
    topic = play.topic()
    who = begun(play, play.name("x"))
    add(play, who, (topic, 0))
    end(play, who)
    for commits in (True, False):
        play.call(END, version, committed=commits, **who.fields)
        over(play, who.name)
    who = begun(play, who.name)
    add(play, who, (topic, 0))
    play.call(INIT, 4, transactional_id=who.name, transaction_timeout_ms=TIMEOUT_MS)
    over(play, who.name)
    for commits in (True, False):
        play.call(END, version, committed=commits, **who.fields)
        over(play, who.name)
    described(play, who.name)


@scenario(END, since=5)
def init_after_an_end_whose_answer_was_lost(play: Play, version: int) -> None:
    topic = play.topic()
    who = begun(play, play.name("x"))

    def ask(by: Any, *, knows_itself: bool = True) -> Any:
        own = by.fields if knows_itself else {"transactional_id": by.name}
        answer = play.call(INIT, 5, transaction_timeout_ms=TIMEOUT_MS, **own)
        over(play, by.name)
        return answer

    def end_lost(*, commits: bool) -> None:
        assert not play.do(END, version, committed=commits, **who.fields).error_code
        over(play, who.name)

    for commits in (True, False):
        write(play, who, topic, b"one")
        end_lost(commits=commits)
        ask(who._replace(epoch=who.epoch - 1))
        ask(who)
        who = who._replace(epoch=ask(who).producer_epoch)
    end_lost(commits=False)
    ask(who, knows_itself=False)
    ask(who)
    described(play, who.name)
    who = begun(play, who.name)
    add(play, who, (topic, 0))
    ask(who, knows_itself=False)
    ask(who)
    described(play, who.name)
    who = begun(play, who.name)
    add(play, who, (topic, 0))
    for _ in range(3):
        ask(who)


@scenario(END, since=5)
def two_phase_commit_is_not_stable(play: Play, version: int) -> None:
    """KIP-939 extends InitProducerId in version 6, which is not stable; the end of a transaction is
    unchanged.
    """
    name = coordinated(play, play.name("x"))
    rows = play.do(ApiKey.API_VERSIONS, 3, client_software_name="a", client_software_version="1").api_keys
    play.note("InitProducerId", [(row.min_version, row.max_version) for row in rows if row.api_key == INIT])
    for enable_2pc, keep_prepared_txn in product((False, True), (False, True)):
        wish = {"enable_2pc": enable_2pc, "keep_prepared_txn": keep_prepared_txn}
        play.call(INIT, 6, transactional_id=name, transaction_timeout_ms=TIMEOUT_MS, **wish)
    described(play, name)
    who = begun(play, name)
    play.call(END, version, committed=False, **who.fields)
    over(play, name)


@scenario(END)
def end_transactions_without_records(play: Play, version: int) -> None:
    topic = play.topic()
    for commits in (True, False):
        who = begun(play, play.name("x"))
        add(play, who, (topic, 0))
        play.call(END, version, committed=commits, **who.fields)
        over(play, who.name)
        described(play, who.name)
    stored(play, topic)


@scenario(DESCRIBE)
def describe_transactions(play: Play, version: int) -> None:
    ready(play)
    first, second = play.topic("t", 2), play.topic("u")
    empty, open_one, committed, aborted = (begun(play, play.name(suffix)) for suffix in "eoca")
    coordinated(play, play.name("none"))
    add(play, open_one, (first, 1), (second, 0), (first, 0))
    add_offsets(play, open_one, play.name("g"))
    for who, commits in ((committed, True), (aborted, False)):
        add(play, who, (first, 0))
        end(play, who, commits=commits)
    names = [who.name for who in (empty, open_one, committed, aborted)]
    for asked in (names, [play.name("none"), ""], [], [names[0], names[0]]):
        play.call(DESCRIBE, version, trim=comparable, transactional_ids=asked)


@scenario(LIST)
def list_transactions(play: Play, version: int) -> None:
    topic = play.topic()
    empty, open_one, committed = (begun(play, play.name(suffix)) for suffix in "eoc")
    for who in (open_one, committed):
        add(play, who, (topic, 0))
    end(play, committed)
    names = (empty.name, open_one.name, committed.name)

    def own(answer: Any) -> None:
        rows = [row for row in answer.transaction_states if row.transactional_id in names]
        answer.transaction_states = sorted(rows, key=lambda row: names.index(row.transactional_id))
        answer.unknown_state_filters = sorted(answer.unknown_state_filters)

    def ask(*states: str, producers: tuple[int, ...] = (), duration_ms: int = -1) -> None:
        fields = {"producer_id_filters": list(producers), "duration_filter": duration_ms}
        play.call(LIST, version, trim=own, state_filters=list(states), **fields)

    ask()
    for state in ("Empty", "Ongoing", "CompleteCommit", "PrepareAbort", "Dead", "PrepareEpochFence"):
        ask(state)
    ask("Empty", "Ongoing")
    ask("Nothing", "ongoing", "Empty", "Nothing")
    ask("", "Nothing")
    ask(producers=(open_one.producer_id,))
    ask("Empty", producers=(open_one.producer_id, empty.producer_id))
    ask(producers=(open_one.producer_id + 900_000,))
    for duration_ms in (0, LONGEST_MS * 9, -2, -(2**63)):
        ask(duration_ms=duration_ms)
    if version >= FIRST_WITH_PATTERNS:
        _list_by_patterns(play, version, own, begun(play, play.name("\u00e9")).name)


def _list_by_patterns(play: Play, version: int, own: Callable[[Any], None], beyond_ascii: str) -> None:
    def own_names(answer: Any) -> None:
        is_there = any(row.transactional_id == beyond_ascii for row in answer.transaction_states)
        own(answer)
        answer.unknown_state_filters.append(f"beyond ASCII: {is_there}")

    for pattern in (
        *(
            "",
            ".*",
            ".*-[eo]",
            ".*[^o]",
            "(?i).*-E",
            "e",
            "|",
            r".*\W\w",
            ".*\u00e9",
            r".*\pL",
            r".*\p{Greek}",
        ),
        *("(?i).*\u00c9", ".*[\u00e0-\u00ff]", ".*[^a-z]", r".*\b", "(", "*", "a{1001}", r"\1", "(?=a)"),
    ):
        play.call(LIST, version, trim=own_names, transactional_id_pattern=pattern)
    for states in (["Empty"], ["Nothing"]):
        play.call(LIST, version, trim=own_names, state_filters=states, transactional_id_pattern=".*e")


def stored(play: Play, topic: str) -> None:
    """Record what the partition holds, markers too."""
    row = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
    fields = {"max_wait_ms": 0, "max_bytes": 1 << 20, "session_epoch": -1}
    play.call(ApiKey.FETCH, 11, topics=[{"topic": topic, "partitions": [row]}], isolation_level=1, **fields)
