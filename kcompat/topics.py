"""Names of topics: their rules, the internal ones (KIP-4, Kafka's `Topic` class), and partitions by topic."""

from __future__ import annotations

import re
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TopicPartition = tuple[str, int]
"""Name of a topic and index of one of its partitions."""

CONSUMER_OFFSETS = "__consumer_offsets"
TRANSACTION_STATE = "__transaction_state"
SHARE_GROUP_STATE = "__share_group_state"
INTERNAL_TOPICS = frozenset({CONSUMER_OFFSETS, TRANSACTION_STATE, SHARE_GROUP_STATE})

CLUSTER_METADATA = "__cluster_metadata"
"""Name of the log of a KRaft controller: its directory is named and placed like a topic's, but the log is no
topic."""

MAX_NAME_LENGTH = 249
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def is_internal(topic: str) -> bool:
    """Return whether the topic belongs to the broker itself."""
    return topic in INTERNAL_TOPICS


def name_problem(topic: str) -> str | None:
    """Return a sentence that says why this is not a legal topic name; None for a legal one."""
    if not topic:
        return "the empty string is not allowed"
    if topic in (".", ".."):
        return f"'{topic}' is not allowed"
    if len(topic) > MAX_NAME_LENGTH:
        return f"the length of '{topic}' is longer than the max allowed length {MAX_NAME_LENGTH}"
    if not _LEGAL.fullmatch(topic):
        return f"'{topic}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    return None


def by_topic(partitions: Iterable[TopicPartition]) -> Iterator[tuple[str, list[int]]]:
    """Return each topic with its sorted partition indexes, as records and messages group them."""
    for topic, rows in groupby(sorted(partitions), itemgetter(0)):
        yield topic, [index for _, index in rows]
