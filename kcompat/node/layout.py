"""The directories of brokers below `log.dirs`, and checks that the layouts of one broker and of several are
not mixed.

A broker that is started alone stores in each of `log.dirs` itself. Brokers that are started together store in
`broker-<id>` below each. If the same directories were used in the other layout, the brokers would not find
their logs.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from kcompat.log.errors import LogDirectoryError
from kcompat.log.names import META_PROPERTIES
from kcompat.store.sqlite_journal import METADATA_FILE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.log.files import Files

_MEMBER: Final = re.compile(r"broker-(\d{1,9})")


def member_directory(directory: str, broker_id: int) -> str:
    """Return the directory of one of several brokers below one of `log.dirs`."""
    return f"{directory}/broker-{broker_id}"


def insist_on_one(directories: Sequence[str], files: Files) -> None:
    """Refuse the directories of several brokers for a single broker. Raises LogDirectoryError."""
    for directory in directories:
        members = _members(directory, files)
        if members:
            _insist_on_cluster_only(directory, members, files)
            raise LogDirectoryError(
                f"{_cluster_in(directory, members)}, and a broker alone would not find its logs: "
                f"{_start_of(members)}, or give this broker a directory of its own "
                "(--data-dir)."
            )


def insist_on_no_member(directory: str, files: Files) -> None:
    """Refuse the directory of one broker of a cluster, whose metadata store is beside it, for a single
    broker.

    The single broker would create a store of its own, and the cluster would not know the data written then.
    Raises LogDirectoryError.
    """
    path = PurePath(directory)
    member = _MEMBER.fullmatch(path.name)
    is_new = not files.exists(f"{directory}/{META_PROPERTIES}")
    if member and not is_new and files.exists(str(path.parent / METADATA_FILE)):
        raise LogDirectoryError(
            f"{directory} holds the data of broker {int(member[1])} of the cluster in {path.parent}: "
            f"{_start_of(_members(str(path.parent), files))} and --data-dir {path.parent}, or give this "
            "broker a directory of its own."
        )


def insist_on_several(directories: Sequence[str], brokers: int, files: Files) -> None:
    """Refuse the directories of a single broker, or of more than `brokers`, for `brokers` that start
    together.

    Directories of fewer brokers are accepted: the cluster grows. Raises LogDirectoryError.
    """
    for directory in directories:
        members = _members(directory, files)
        if members:
            _insist_on_cluster_only(directory, members, files)
        elif _has_broker_alone(directory, files):
            raise LogDirectoryError(
                f"{directory} holds the data of a broker alone, and a cluster would not find its logs: "
                "start it without --brokers (in Python: kcompat.Broker), or give the cluster a directory of "
                "its own (--data-dir)."
            )
        if members and members[-1] >= brokers:
            raise LogDirectoryError(
                f"{_cluster_in(directory, members)}, and {brokers} brokers would not find all of its logs: "
                f"{_start_of(members)}. The directories of brokers without replicas can be removed."
            )


def _insist_on_cluster_only(directory: str, members: Sequence[int], files: Files) -> None:
    """Refuse a directory of a cluster that a single broker has used as well. Raises LogDirectoryError."""
    if _has_broker_alone(directory, files):
        raise LogDirectoryError(
            f"{_cluster_in(directory, members)}, and beside it that of a broker alone, which is what "
            f"{META_PROPERTIES} says: move the files of one of the two elsewhere."
        )


def _has_broker_alone(directory: str, files: Files) -> bool:
    return files.exists(f"{directory}/{META_PROPERTIES}")


def _members(directory: str, files: Files) -> list[int]:
    """Return the ids of the brokers with a directory `broker-<id>` below `directory`, in order."""
    found: list[int] = []
    with suppress(OSError):  # the broker itself says what is wrong with a directory
        matches = map(_MEMBER.fullmatch, files.list(directory))
        found = sorted(int(match[1]) for match in matches if match)
    # A topic named "broker" has directories of the same form, `broker-<partition>`.
    return [each for each in found if files.exists(f"{member_directory(directory, each)}/{META_PROPERTIES}")]


def _cluster_in(directory: str, members: Sequence[int]) -> str:
    named = ", ".join(f"broker-{member}" for member in members)
    return f"{directory} holds the data of a cluster ({named})"


def _start_of(members: Sequence[int]) -> str:
    brokers = members[-1] + 1
    return f"start it with --brokers {max(brokers, 2)} (in Python: kcompat.Cluster({brokers}))"
