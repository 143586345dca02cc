"""Directories of one broker and of several are not mixed up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.log.errors import LogDirectoryError
from kcompat.log.files import FILES
from kcompat.log.identity import Identity, store_identity
from kcompat.node.layout import insist_on_no_member, insist_on_one, insist_on_several, member_directory

if TYPE_CHECKING:
    from pathlib import Path


def made_by(directory: Path, *members: int) -> list[str]:
    """Return `log.dirs` with the identities of so many brokers below it."""
    for member in members:
        store_identity([member_directory(str(directory), member)], Identity(member, "c"))
    return [str(directory)]


def refusal_of_one(directories: list[str]) -> str:
    with pytest.raises(LogDirectoryError) as refused:
        insist_on_one(directories, FILES)
    return str(refused.value)


def refusal_of_several(directories: list[str], brokers: int) -> str:
    with pytest.raises(LogDirectoryError) as refused:
        insist_on_several(directories, brokers, FILES)
    return str(refused.value)


def test_new_directories_are_for_one_and_for_several(tmp_path: Path) -> None:
    for directory in (tmp_path, tmp_path / "absent"):
        insist_on_one([str(directory)], FILES)
        insist_on_several([str(directory)], 3, FILES)


def test_one_broker_is_told_how_to_start_the_cluster(tmp_path: Path) -> None:
    directories = made_by(tmp_path, 0, 1, 2)
    sentence = refusal_of_one(["/absent", *directories])
    assert sentence.startswith(f"{tmp_path} holds the data of a cluster (broker-0, broker-1, broker-2), ")
    assert "start it with --brokers 3 (in Python: kcompat.Cluster(3))" in sentence


def test_a_cluster_of_one_is_a_cluster(tmp_path: Path) -> None:
    assert "--brokers 2 (in Python: kcompat.Cluster(1))" in refusal_of_one(made_by(tmp_path, 0))


def test_a_cluster_is_told_how_to_start_the_broker_alone(tmp_path: Path) -> None:
    store_identity([str(tmp_path)], Identity(1, "c"))
    insist_on_one([str(tmp_path)], FILES)
    sentence = refusal_of_several([str(tmp_path)], 3)
    assert "holds the data of a broker alone" in sentence
    assert "start it without --brokers (in Python: kcompat.Broker)" in sentence


def test_a_cluster_may_grow_and_not_shrink(tmp_path: Path) -> None:
    directories = made_by(tmp_path, 0, 1, 2, 3, 4)
    insist_on_several(directories, 5, FILES)
    insist_on_several(directories, 7, FILES)
    assert "and 3 brokers would not find all of its logs: start it with --brokers 5 " in refusal_of_several(
        directories, 3
    )
    for gone in (3, 4):
        FILES.remove([f"{member_directory(str(tmp_path), gone)}/meta.properties"])
        FILES.remove_empty_directory(member_directory(str(tmp_path), gone))
    insist_on_several(directories, 3, FILES)


def test_a_directory_of_both_is_refused_for_both(tmp_path: Path) -> None:
    store_identity([str(tmp_path)], Identity(1, "c"))
    directories = made_by(tmp_path, 0, 1)
    for sentence in (refusal_of_one(directories), refusal_of_several(directories, 2)):
        assert "holds the data of a cluster (broker-0, broker-1)" in sentence
        assert "beside it that of a broker alone" in sentence
        assert "start it" not in sentence  # either way of starting is refused


def test_one_broker_of_a_cluster_is_told_where_the_cluster_is(tmp_path: Path) -> None:
    made_by(tmp_path, 0, 1, 2)
    member = member_directory(str(tmp_path), 1)
    insist_on_no_member(member, FILES)
    (tmp_path / "metadata.db").touch()
    with pytest.raises(LogDirectoryError) as refused:
        insist_on_no_member(member, FILES)
    assert str(refused.value) == (
        f"{member} holds the data of broker 1 of the cluster in {tmp_path}: start it with --brokers 3 (in "
        f"Python: kcompat.Cluster(3)) and --data-dir {tmp_path}, or give this broker a directory of its own."
    )
    insist_on_no_member(str(tmp_path), FILES)
    insist_on_no_member(member_directory(str(tmp_path), 7), FILES)


def test_partitions_of_a_topic_named_broker_are_no_brokers(tmp_path: Path) -> None:
    store_identity([str(tmp_path)], Identity(1, "c"))
    for partition in range(3):
        (tmp_path / f"broker-{partition}").mkdir()
    insist_on_one([str(tmp_path)], FILES)
