"""Sentences about probable causes of a failed test. Each rule detects one mistake."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from kcompat.protocol.errors import ErrorCode
from kcompat.testing.story.evidence import SINCE_EARLIER, client_of, counted
from kcompat.testing.story.memberships import ended, groups_of_test, is_older, listed, shares
from kcompat.testing.story.unread import (
    committed_at_the_end,
    is_typo,
    near_names,
    read_from_the_end,
    without_brokers,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kcompat.instrumentation.groups import Group
    from kcompat.instrumentation.recording.entry import RecordedRequest
    from kcompat.instrumentation.recording.outcome import Refusal
    from kcompat.testing.story.evidence import Evidence

_TLS_ADVICE: Final = (
    " Take the client's settings from the fixture kafka_client_config, or from broker.client_config()."
)
_OWN_GROUPS: Final = "Close every consumer at the end of its test, use a group of its own for each test"
_MISSING: Final = "UNKNOWN_TOPIC_OR_PARTITION"
_WRONG_STATE: Final = "ILLEGAL_SASL_STATE"
_TOO_LARGE: Final = frozenset({"MESSAGE_TOO_LARGE", "RECORD_LIST_TOO_LARGE"})
_USUAL: Final = frozenset(
    {
        "MEMBER_ID_REQUIRED",
        "REBALANCE_IN_PROGRESS",
        "FETCH_SESSION_ID_NOT_FOUND",
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "NOT_COORDINATOR",
        "LEADER_NOT_AVAILABLE",
        "CONCURRENT_TRANSACTIONS",
        _MISSING,
        _WRONG_STATE,
        *_TOO_LARGE,
    }
)
"""Errors that are normal, or that another rule explains."""


def causes(evidence: Evidence) -> list[str]:
    """Return a sentence for each probable cause, each once, the most likely first. Answers made by simulated
    faults are not evidence.
    """
    honest = evidence.without_faults()
    return list(dict.fromkeys(sentence for rule in _RULES for sentence in rule(honest)))


def _closed_connections(evidence: Evidence) -> Iterator[str]:
    for complaint in evidence.complaints:
        reason = complaint.text.removeprefix("connection closed: ")
        what = "A client at" if reason == complaint.text else "The broker closed a connection from"
        advice = _TLS_ADVICE if "TLS" in reason else ""
        yield f"{what} {complaint.peer}: {reason}.{advice}"
    for asked in evidence.requests:
        if asked.failed and not asked.errors:
            what = asked.api or "bytes that are no request"
            yield f"The broker closed the connection of {client_of(asked)} at its {what}."


def _missing_topics(evidence: Evidence) -> Iterator[str]:
    wanted: dict[str, list[RecordedRequest]] = {}
    for asked in evidence.requests:
        for refused in asked.errors:
            topic = refused.topic
            if refused.error == _MISSING and topic and topic not in evidence.topics:
                wanted.setdefault(topic, []).append(asked)
        if asked.api == "Metadata" and not asked.failed:  # of brokers that have stopped, no topics are known
            for topic in asked.topics:
                wanted.pop(topic, None)
    for topic, requests in wanted.items():
        may_create = any(
            asked.api == "Metadata" and (asked.request or {}).get("allow_auto_topic_creation", True)
            for asked in requests
        )
        who = ", ".join(dict.fromkeys(map(client_of, requests)))
        near = next((name for name in evidence.topics if is_typo(topic, name)), None)
        if near is not None:
            why, advice = "", f": did you mean {near}?"
        elif not may_create:
            why = ", and no client asked to create it (consumers of librdkafka do not by themselves)"
            advice = ": create it before, or produce to it."
        elif evidence.creates_topics is False:
            why = ", and the broker does not create topics by itself (auto.create.topics.enable=false)"
            advice = ": create it before."
        else:
            why, advice = "", ": create it before."
        yield f"Topic {topic}, which {who} asked for, does not exist{why}{advice}"


def _too_large(evidence: Evidence) -> Iterator[str]:
    for asked in evidence.requests:
        for refused in asked.errors:
            if refused.error in _TOO_LARGE and refused.topic:
                topic = evidence.topics.get(refused.topic)
                limit = topic.configs.get("max.message.bytes") if topic else None
                allowed = f", which allows batches of {limit} bytes (max.message.bytes)" if limit else ""
                yield (
                    f"A batch{_size_of(asked, refused)} that {client_of(asked)} produced is too large for "
                    f"{refused.topic}-{refused.partition}{allowed}: {refused.error}."
                )


def _size_of(asked: RecordedRequest, refused: Refusal) -> str:
    """Return the size of the first refused batch of a Produce, if it is known."""
    for topic in (asked.request or {}).get("topic_data", ()):
        if topic.get("name", refused.topic) == refused.topic:
            for fields in topic["partition_data"]:
                batches = fields["records"] if fields["index"] == refused.partition else None
                if batches and "batch_length" in batches[0]:
                    return f" of {batches[0]['batch_length'] + 12} bytes"
    return ""


def _held_groups(evidence: Evidence) -> Iterator[str]:
    for group in groups_of_test(evidence):
        waiting = {
            client_of(asked)
            for asked in evidence.requests
            if asked.api == "JoinGroup" and asked.is_waiting and asked.group == group.id
        }
        if waiting:
            yield from _unfinished_rebalance(evidence, group, waiting)
        elif group.kind != "share":
            yield from _without_partitions(evidence, group)


def _unfinished_rebalance(evidence: Evidence, group: Group, waiting: set[str]) -> Iterator[str]:
    names = [
        f"{member.client_id}{_before(is_older(evidence, group.id, member.id))}"
        for member in group.members
        if member.client_id not in waiting
    ]
    if names:
        yield (
            f"{', '.join(sorted(waiting))} waits for partitions, because {', '.join(names)} is still a "
            f"member of group {group.id} and does not join again. {_OWN_GROUPS}."
        )


def _without_partitions(evidence: Evidence, group: Group) -> Iterator[str]:
    members = shares(evidence, group)
    idle = [each for each in members if not each.places and not each.is_older]
    busy = [each for each in members if each.places]
    if not idle or not busy:
        return
    held = ", ".join(f"{listed(each.places)} by {each.client}{_before(each.is_older)}" for each in busy[:3])
    total = len({place for each in busy for place in each.places})
    yield (
        f"{', '.join(sorted({each.client for each in idle}))} has no partition in group {group.id}, which "
        f"has {counted(len(members), 'member')} for {counted(total, 'partition')}: {held}. "
        f"{_OWN_GROUPS}, or give the topic more partitions."
    )


def _before(is_older: bool) -> str:
    return f" ({SINCE_EARLIER})" if is_older else ""


def _open_transactions(evidence: Evidence) -> Iterator[str]:
    """Yield the transactions of the test that did not end, and those that were aborted."""
    states: dict[str, tuple[RecordedRequest, str]] = {}
    disturbed = {(asked.request or {}).get("transactional_id") for asked in evidence.struck}
    for asked, request, _ in evidence.answered("Produce", "EndTxn"):
        name = request.get("transactional_id")
        if name and name not in disturbed and not asked.failed:
            is_end = asked.api == "EndTxn"
            states[name] = (
                asked,
                "open" if not is_end else "committed" if request["committed"] else "aborted",
            )
    for name, (asked, state) in states.items():
        if state == "open":
            yield (
                f"{client_of(asked)} has not ended its transaction {name}: consumers with read_committed, "
                f"which is the default of librdkafka, wait for its end."
            )
        elif state == "aborted":
            yield (
                f"{client_of(asked)} aborted the last transaction of {name}: consumers with read_committed "
                f"skip its records."
            )


def _needless_logins(evidence: Evidence) -> Iterator[str]:
    for asked in evidence.requests:
        if asked.api == "SaslHandshake" and any(each.error == _WRONG_STATE for each in asked.errors):
            yield (
                f"{client_of(asked)} wants to log in by SASL, and listener {asked.listener} has no logins: "
                f"leave security.protocol and the SASL settings out of the client's, or make the broker with "
                f"users."
            )


def _moved_clock(evidence: Evidence) -> Iterator[str]:
    """Yield the members whose sessions ended because a test moved the clock forward."""
    if not evidence.ahead_s:
        return
    for name in dict.fromkeys(asked.group for asked in evidence.requests if asked.group):
        members = evidence.groups[name].members if name in evidence.groups else ()  # it has expired, too
        gone = list(dict.fromkeys(move.client for move in ended(evidence, name, members)))
        if gone:
            by = timedelta(seconds=round(evidence.ahead_s))
            yield (
                f"{', '.join(gone)} is no member of group {name} any more: its session has ended, as the "
                f"clock of the broker was moved ahead (by {by} in all)."
            )


def _last_refusals(evidence: Evidence) -> Iterator[str]:
    """Yield the errors of requests that never succeeded afterwards."""
    refused: dict[tuple[object, ...], tuple[RecordedRequest, Refusal]] = {}
    for asked in evidence.requests:
        key = (asked.client_id, asked.api, tuple(asked.topics), asked.group)
        unusual = [each for each in asked.errors if each.error not in _USUAL]
        if unusual:
            refused[key] = (asked, unusual[0])
        elif not asked.failed and not asked.is_waiting:
            refused.pop(key, None)
    for asked, first in refused.values():
        who = client_of(asked)
        if "AUTHORIZATION" in first.error:
            who = f"{who}, which is {asked.principal},"
        yield f"{asked.api} of {who} was refused: {explained(first)}"


def explained(refused: Refusal) -> str:
    """Return the text of an error with its subject and reason."""
    place = refused.topic if refused.partition is None else f"{refused.topic}-{refused.partition}"
    about = f" for {place or refused.subject}" if place or refused.subject else ""
    known = ErrorCode.__members__.get(refused.error)
    reason = refused.message or (known.message if known is not None else "")
    return f"{refused.error}{about}{reason and ': '}{reason}"


_RULES: Final[tuple[Callable[[Evidence], Iterator[str]], ...]] = (
    _closed_connections,
    _needless_logins,
    _missing_topics,
    _too_large,
    _held_groups,
    read_from_the_end,
    committed_at_the_end,
    near_names,
    without_brokers,
    _moved_clock,
    _open_transactions,
    _last_refusals,
)
