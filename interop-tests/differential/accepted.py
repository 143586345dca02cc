"""Differences from Kafka 3.9.2 on purpose, the only ones that the test lets pass."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from differential.compare import Difference


@dataclass(frozen=True)
class Accepted:
    """Fields that may differ: patterns of the scenario's whole name and of a part of the path.

    `why` is a heading of `docs/explanation/differences.md`. An entry that meets no difference is stale.
    """

    scenario: str
    path: str
    why: str
    since: int = 0
    until: int = 99

    def covers(self, scenario: str, version: int, difference: Difference) -> bool:
        """Whether this is one of the fields."""
        return bool(
            self.since <= version <= self.until
            and re.fullmatch(self.scenario, scenario)
            and re.search(self.path, difference.path)
        )


ACCEPTED: tuple[Accepted, ...] = (
    Accepted(".*", r"CONSUMER_GROUP_HEARTBEAT .*\.heartbeat_interval_ms$", "Consumer groups of KIP-848"),
    Accepted(r"api_versions.*", r"(supported|finalized)_features", "Features of a KRaft cluster", since=3),
    Accepted(
        "api_versions_with_bad_software_names",
        r"6 .*\.(error_code|api_keys)",
        "Long names of client software",
    ),
    Accepted(
        "metadata_creates_a_topic",
        r"0 .*\.(error_code|partitions|topic_id)",
        "Topics and coordinators at once",
    ),
    Accepted("metadata_by_id", r"[45] .*\.(error_code|name)", "Requests that stump Kafka", since=12),
    Accepted(
        "describe_topic_partitions_of_unknown_topics",
        r"2 .*\.(error_code|topic_authorized_operations)",
        "Requests that stump Kafka",
    ),
    Accepted("produce_null", "^0 ", "Requests that stump Kafka"),
    Accepted("alter_one_resource_twice", "^0 ", "Requests that stump Kafka"),
    Accepted("share_fetches_that_are_refused", "^6 ", "Requests that stump Kafka"),
    Accepted("streams_heartbeats_that_stump_kafka", "", "Requests that stump Kafka"),
    Accepted("alter_scram_users_with_odd_secrets", "^2 ", "Requests that stump Kafka"),
    Accepted("offsets_of_the_empty_group_id", "^2 ", "Requests that stump Kafka"),
    Accepted("committed_offsets_of_no_group", "^0 ", "Requests that stump Kafka"),
    Accepted(r"produce_.*|idempotent_.*|transactional_.*", r"\.error_message$", "Error messages", since=8),
    Accepted("find_coordinator", r"\.error_message$", "Error messages", since=4, until=5),
    Accepted(
        "transactional_records(_after_the_end)?", r"[489] .*\.log_start_offset$", "Refused batches", since=5
    ),
    Accepted(
        "produce_damaged_records", r"PRODUCE.*\.(error_code|base_offset)$", "Records that cannot be read"
    ),
    Accepted(
        "produce_damaged_records",
        r"[89] PRODUCE.*\.log_start_offset$",
        "Records that cannot be read",
        since=5,
        until=6,
    ),
    Accepted("init_transactional_of_the_producer_with_one_open", "^[23] INIT_PRODUCER_ID", "Transactions"),
    Accepted("transactional_records", r"^8 .*\.error_code$", "Transactions", until=11),
    Accepted(
        "fetch_with_a_request_behind_it",
        "waited all the same",
        "A waiting fetch ends when the next request arrives",
    ),
    Accepted(
        "fetch_from_a_deleted_topic", r"2 .*\.error_code$", "Deleted topics in fetch sessions", since=13
    ),
    Accepted("list_offsets_across_segments", r"[4567] .*old_style_offsets", "ListOffsets version 0", until=0),
    Accepted("list_offsets_by_time", r"[78] .*old_style_offsets", "ListOffsets version 0", until=0),
    Accepted("list_offsets_after_deletion", r"6 .*old_style_offsets", "ListOffsets version 0", until=0),
    Accepted(r"describe_.*", r"\.is_default$", "DescribeConfigs version 0", until=0),
    Accepted("create_topics_with_illegal_names", r"9 .*topics\[1\]", "Topic names that collide"),
    Accepted("create_topics_with_bad_configs", r"11 .*\.value$", "Spaces around config values", since=5),
    Accepted("describe_groups", r"\.authorized_operations$", "Where Kafka 4.3 answers differently", since=6),
    Accepted(
        "describe_(consumer|share|streams)_groups",
        r"\.authorized_operations$",
        "Where Kafka 4.3 answers differently",
    ),
    Accepted(
        r"list_offsets_(of_one_partition_twice|with_unknown_isolation)",
        r"\.(partitions|error_code|offset|leader_epoch)$",
        "Where Kafka 4.3 answers differently",
        since=10,
    ),
    Accepted(
        "produce_far_from_now",
        r"5 .*\.(record_errors|error_code|base_offset)$",
        "Where Kafka 4.3 answers differently",
        since=12,
    ),
    Accepted(r"commits_.*|committed_.*", r"OFFSET_(COMMIT|FETCH)", "Offsets of version 0", until=0),
)


class Verdicts:
    """Sorts differences into accepted and not, and knows at the end which entries were never needed."""

    def __init__(self) -> None:
        self._met: set[Accepted] = set()

    def unexplained(self, scenario: str, version: int, found: Iterable[Difference]) -> list[str]:
        """The differences that no entry covers."""
        left = []
        for difference in found:
            entries = [entry for entry in ACCEPTED if entry.covers(scenario, version, difference)]
            self._met.update(entries)
            if not entries:
                left.append(str(difference))
        return left

    def stale(self) -> Sequence[Accepted]:
        """The entries that have covered nothing so far."""
        return [entry for entry in ACCEPTED if entry not in self._met]
