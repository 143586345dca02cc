"""The state and the promises of a broker over time, and the check of a broker that starts after a crash."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.group.requests import FetchingMember
from kcompat.log.producers import ProducerState
from kcompat.records.batch import BatchHeader, iter_headers, read_header, read_records
from kcompat.records.control import read_marker
from kcompat.records.layout import MAGIC

if TYPE_CHECKING:
    from kcompat.log.log import Log
    from kcompat.log.txn_index import AbortedTransaction
    from support.lone_broker import BrokerFixture

Records = dict[int, object]
"""Content of each offset: a record, or the type of a marker and its producer."""
Place = tuple[bytes, int]
"""A partition, by topic id and index."""


class LogFacts(Struct):
    """One log: its records from `start` on, and up to where they are surely on the device."""

    records: Records
    start: int
    end: int
    safe: int
    """End of the records that are surely on the device: below the recovery point, or
    acknowledged under `flush.messages=1`.
    """
    holes: int
    """How often offsets are missing between records."""


class Facts(Struct):
    """The state of a broker: its partitions, and the offsets that groups committed."""

    logs: dict[Place, LogFacts]
    committed: dict[str, dict[tuple[str, int], int]]
    strays: int = 0
    """Logs that are of no partition."""


class Ledger:
    """The states of a broker after each of its steps, by the number of operations done by then."""

    def __init__(self) -> None:
        self._moments: list[tuple[int, Facts]] = [(0, Facts({}, {}))]

    def note(self, done: int, facts: Facts) -> None:
        """After `done` operations the broker is between two steps and holds this."""
        self._moments.append((done, facts))

    def around(self, done: int, begun: int) -> tuple[Facts, Facts]:
        """Return the states before and after the step with the operations after `done` up to `begun`.

        Both are the same between two steps.
        """
        before = max(number for number, (at, _) in enumerate(self._moments) if at <= done)
        after = min(number for number, (at, _) in enumerate(self._moments) if at >= begun)
        return self._moments[before][1], self._moments[max(before, after)][1]

    def check_after_kill(self, done: int, found: Facts, *, in_the_next: bool = False) -> None:
        """Assert that nothing answered is missing, and that a step is done, not done, or done in part.

        The kill came after `done` operations, or in the middle of the next.
        """
        before, after = self.around(done, done + in_the_next)
        assert not found.strays, "logs that nobody knows"
        for place in before.logs | after.logs | found.logs:
            log, old, new = found.logs.get(place), before.logs.get(place), after.logs.get(place)
            if log is None:
                assert old is None or new is None, "a partition is gone"
                continue
            assert old or new, "a partition has come back"
            _assert_between(log, *(facts for facts in (old or new, new or old) if facts))
        for group in before.committed | after.committed | found.committed:
            assert found.committed.get(group) in (before.committed.get(group), after.committed.get(group))

    def check_after_power_cut(self, done: int, found: Facts) -> None:
        """Assert that nothing is missing that was on the device, and that nothing is there that never was."""
        before, after = self.around(done, done)
        assert before.logs.keys() & after.logs.keys() <= found.logs.keys(), "a partition is gone"
        assert found.logs.keys() <= before.logs.keys() | after.logs.keys(), "a partition has come back"
        assert not found.strays, "logs that nobody knows"
        for place, log in found.logs.items():
            ever = [facts.logs[place] for at, facts in self._moments if place in facts.logs and at <= done]
            ever += [facts.logs[place] for facts in (after,) if place in facts.logs]
            for offset, record in log.records.items():
                assert any(facts.records.get(offset) == record for facts in ever), f"{record} was never there"
            old, new = before.logs.get(place), after.logs.get(place)
            if old and new:
                synced = {
                    (offset, record)
                    for offset, record in old.records.items()
                    if offset < old.safe and new.records.get(offset) == record
                }
                assert synced <= log.records.items(), "what was synced is there"


def _assert_between(log: LogFacts, old: LogFacts, new: LogFacts) -> None:
    assert log.holes <= max(old.holes, new.holes)
    common = {(offset, record) for offset, record in old.records.items() if new.records.get(offset) == record}
    assert common <= log.records.items(), "a record is missing"
    assert log.records.items() <= old.records.items() | new.records.items(), "a record came from nowhere"
    assert old.start <= log.start <= new.start or new.start <= log.start <= old.start
    ends = sorted((old.end, new.end))
    begins_anew = new.start > old.end
    assert (old.start if begins_anew else ends[0]) <= log.end <= ends[1]


# -- what a broker holds -------------------------------------------------------------------------------------


def facts_of(fixture: BrokerFixture) -> Facts:
    """Return the state of a broker, and assert that it is consistent."""
    image = fixture.cluster.image
    logs: dict[Place, LogFacts] = {}
    for name, topic in image.topics.items():
        for index, info in topic.partitions.items():
            partition = fixture.replicas.get(name, index)
            assert partition is not None, f"{name}-{index} is served"
            assert info.leader == 1
            assert partition.is_leader
            assert partition.topic_id == topic.topic_id
            partition.check_invariants()
            facts = logs[topic.topic_id, index] = log_facts(partition.log)
            if partition.log.config.flush_messages == 1:
                facts.safe = max(facts.safe, partition.high_watermark)
    strays = [log for log in fixture.logs if fixture.replicas.get(log.topic, log.partition) is None]
    committed = {}
    for listed in fixture.groups.list_groups(frozenset(), frozenset())[1]:
        answer = fixture.groups.fetch(FetchingMember(listed.group_id), None, require_stable=False).value
        assert not answer.error
        committed[listed.group_id] = {key: value.offset for key, value in answer.offsets.items()}
    return Facts(logs, committed, len(strays))


def log_facts(log: Log) -> LogFacts:
    """Return the state of a log; assert that headers, epochs, producers and indexes fit its batches."""
    log.check_invariants()
    records: Records = {}
    holes: list[int] = []
    producers, aborted = ProducerState(), []
    expected = log.log_start_offset
    for header, batch in batches_of(log):
        if header.base_offset > expected:
            holes.append(header.base_offset)
        expected = header.next_offset
        assert log.epochs.epoch_for(max(header.base_offset, log.log_start_offset)) == header.leader_epoch
        for offset, content in _decoded(batch):
            if offset >= log.log_start_offset:
                records[offset] = content
        if header.producer_id >= 0:
            producers.end_offset = header.next_offset
            aborted += _replay(producers, header, batch)
    if log.log_end_offset > expected:
        holes.append(log.log_end_offset)
    assert log.config.compacts or set(holes) <= set(log.local.segments.base_offsets), (
        "a hole within a segment"
    )
    _check_producers(log, producers, aborted)
    _check_times(log, records)
    return LogFacts(
        records, log.log_start_offset, log.log_end_offset, log.recovery_point, len(records) and len(holes)
    )


def batches_of(log: Log) -> list[tuple[BatchHeader, bytes]]:
    """Headers and bytes of all batches from the log start on, as reading delivers them."""
    offset, found = log.log_start_offset, []
    while offset < log.log_end_offset:
        data = log.read(offset, 1 << 20, log.log_end_offset)
        if data is None:
            break
        view = memoryview(data.read())
        for position, header in iter_headers(view):
            found.append((header, bytes(view[position : position + header.size])))
            offset = header.next_offset
    return found


@lru_cache(maxsize=4096)
def _decoded(batch: bytes) -> list[tuple[int, object]]:
    view = memoryview(batch)
    header = read_header(view)
    assert header.magic == MAGIC
    if not header.is_control:
        return [
            (record.offset, (record.timestamp, record.key, record.value)) for record in read_records(view)
        ]
    marker = read_marker(view)
    return [(header.base_offset, (marker.type, header.producer_id))] if marker else []


def _replay(producers: ProducerState, header: BatchHeader, batch: bytes) -> list[AbortedTransaction]:
    marker = read_marker(memoryview(batch)) if header.is_control else None
    aborted = producers.note(header, marker, header.base_offset, header.max_timestamp)
    return [aborted] if aborted else []


def _check_producers(log: Log, replayed: ProducerState, aborted: list[AbortedTransaction]) -> None:
    """Assert that the log knows at least what its batches say; it may remember what retention removed."""
    known = {entry.producer_id: entry for entry in log.producers}
    for entry in replayed.entries.values():
        found = known[entry.producer_id]
        assert (found.epoch, found.last_sequence) == (entry.epoch, entry.last_sequence)
        if found.current_txn_start_offset >= log.log_start_offset:
            assert found.current_txn_start_offset == entry.current_txn_start_offset
    listed = log.aborted_transactions(log.log_start_offset, log.log_end_offset)
    for transaction in aborted:
        # compaction may have removed its first batches
        assert any(
            producer_id == transaction.producer_id and first_offset <= transaction.first_offset
            for producer_id, first_offset in listed
        ), f"{transaction} is not in the transaction index"


def _check_times(log: Log, records: Records) -> None:
    """Assert that the newest record is found by its time."""
    times = [content[0] for content in records.values() if isinstance(content, tuple) and len(content) == 3]
    if times:
        found = log.offset_for_timestamp(max(times))
        assert found is not None
        assert found.timestamp == max(times)
