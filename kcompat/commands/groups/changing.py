"""Changes of groups that `kafka-consumer-groups` makes: commits of offsets, and deletions."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from kcompat.admin.connection import Versioned
from kcompat.admin.errors import JavaError, error_of_code, raise_for
from kcompat.commands.groups import resets
from kcompat.commands.groups.descriptions import GROUP
from kcompat.commands.groups.reading import known_partitions
from kcompat.commands.groups.tables import deletion_table
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.errors import ErrorCode, error_of
from kcompat.protocol.messages.delete_groups import DeleteGroupsRequest
from kcompat.protocol.messages.offset_commit import OffsetCommitRequest
from kcompat.protocol.messages.offset_delete import OffsetDeleteRequest
from kcompat.topics import by_topic

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcompat.admin.client import AdminClient
    from kcompat.commands.groups.resets import Plan
    from kcompat.topics import TopicPartition

_LAST_WITH_NAMES: Final = 9
_NAMED_ERRORS: Final = (
    ErrorCode.INVALID_GROUP_ID,
    ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.NON_EMPTY_GROUP,
)
_OF_PARTITIONS: Final = (
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)


def commit_offsets(admin: AdminClient, group_id: str, plan: Plan) -> None:
    """Store offsets of a group without members. Raises JavaError if one is refused."""
    if not plan:
        return
    rows = [
        OffsetCommitRequest.OffsetCommitRequestTopic(
            topic,
            partitions=[
                OffsetCommitRequest.OffsetCommitRequestPartition(index, plan[topic, index])
                for index in indexes
            ],
        )
        for topic, indexes in by_topic(plan)
    ]
    request = OffsetCommitRequest(group_id, topics=rows)
    versioned = Versioned(ApiKey.OFFSET_COMMIT, lambda _: request, _LAST_WITH_NAMES)
    response = admin.ask_coordinator(GROUP, group_id, versioned, name="commitOffsets")
    for topic in response.topics:
        for row in topic.partitions:
            raise_for(row.error_code)


def delete_groups(admin: AdminClient, groups: list[str]) -> None:
    """Delete groups, and print which were deleted."""
    deleted, failed = [], {}
    for group_id in groups:
        request = DeleteGroupsRequest([group_id])
        try:
            response = admin.ask_coordinator(GROUP, group_id, request, name="deleteConsumerGroups")
            (row,) = response.results
            raise_for(row.error_code, getattr(row, "error_message", None))
            deleted.append(group_id)
        except JavaError as error:
            failed[group_id] = error
    shown = ", ".join(f"'{group_id}'" for group_id in deleted)
    if not failed:
        sys.stdout.write(f"Deletion of requested consumer groups ({shown}) was successful.\n")
        return
    sys.stdout.write("\nError: Deletion of some consumer groups failed:\n")
    for group_id, refusal in failed.items():
        first, *_ = refusal.logged().split("\n")
        sys.stdout.write(f"* Group '{group_id}' could not be deleted due to: {first}\n")
    if deleted:
        sys.stdout.write(f"\nThese consumer groups were deleted successfully: {shown}\n")


def delete_offsets(admin: AdminClient, group_id: str, topics: Iterable[str]) -> None:
    """Delete the offsets of a group in topics or partitions, and print the result for each.

    Raises:
        JavaError: a broker does not answer.
        ValueError: the text of a topic cannot be read.
    """
    named = [resets.parse_topic(text) for text in topics]
    leaders, missing = known_partitions(admin, (topic for topic, indexes in named if not indexes))
    partitions = [*leaders, *((topic, index) for topic, indexes in named for index in indexes)]
    results: dict[tuple[str, int | None], str] = {
        (topic, None): f"Error: {_cause(code)}" for topic, code in missing.items()
    }
    code, outcomes = _delete(admin, group_id, partitions)
    for each in partitions:
        error = code or outcomes.get(each, ErrorCode.NONE)
        results[each] = f"Error: {_cause(error)}" if error else "Successful"
    _say(group_id, code or next(filter(None, outcomes.values()), ErrorCode.NONE))
    sys.stdout.write(deletion_table(results))


def _cause(code: ErrorCode) -> str:
    return error_of_code(code).logged()


def _delete(
    admin: AdminClient, group_id: str, partitions: list[TopicPartition]
) -> tuple[ErrorCode, dict[TopicPartition, ErrorCode]]:
    """Return the error of the group, or those of the partitions."""
    rows = [
        OffsetDeleteRequest.OffsetDeleteRequestTopic(
            topic, [OffsetDeleteRequest.OffsetDeleteRequestPartition(index) for index in indexes]
        )
        for topic, indexes in by_topic(partitions)
    ]
    request = OffsetDeleteRequest(group_id, rows)
    try:
        response = admin.ask_coordinator(GROUP, group_id, request, name="deleteConsumerGroupOffsets")
    except JavaError as error:
        if error.code is None:
            raise
        return error.code, {}
    found = {
        (topic.name, row.partition_index): error_of(row.error_code)
        for topic in response.topics
        for row in topic.partitions
    }
    return error_of(response.error_code), found


def _say(group_id: str, code: ErrorCode) -> None:
    if not code:
        text = f"Request succeeded for deleting offsets from group {group_id}."
    elif code in _NAMED_ERRORS:
        text = f"\nError: {error_of_code(code)}"
    elif code in _OF_PARTITIONS:
        text = "\nError: Encountered some partition-level error, see the follow-up details."
    else:
        text = f"\nError: Encountered some unknown error: {code.name}"
    sys.stdout.write(f"{text}\n")


def validate_regex(text: str) -> None:
    """Print whether a text is a regular expression that groups can subscribe by (RE2)."""
    from kcompat.regex.pattern import problem

    reason = problem(text)
    verdict = "valid" if reason is None else f"invalid: {reason}"
    sys.stdout.write(f"The regular expression `{text}` is {verdict}.\n")
