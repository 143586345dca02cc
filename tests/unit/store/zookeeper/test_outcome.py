"""The outcome of a transaction whose response was lost, read from the contents of the store."""

from __future__ import annotations

import pytest

from kcompat.store.interface import Check, Create, Delete, Op, SetData, Stat
from kcompat.store.zookeeper.outcome import (
    Found,
    Made,
    Node,
    Sent,
    TransactionVerdict,
    judge,
    paths_to_read,
    sequential_paths,
)

SEEN = 100
"""Ids up to here were known when the transaction was sent."""
ME = 7
NOT_MADE, UNKNOWN = TransactionVerdict.NOT_MADE, TransactionVerdict.UNKNOWN


def stat(czxid: int, mzxid: int = 0, version: int = 0, owner: int = 0, pzxid: int = 0) -> Stat:
    return Stat(czxid, mzxid or czxid, 0, 0, version, 0, owner, 0, pzxid or czxid)


def node(data: bytes, czxid: int, mzxid: int = 0, version: int = 0, owner: int = 0, pzxid: int = 0) -> Node:
    return data, stat(czxid, mzxid, version, owner, pzxid)


ROOT = {"/": node(b"", 0, pzxid=150)}
QUIET_ROOT = {"/": node(b"", 0, pzxid=90)}


def verdict(
    ops: list[Op], nodes: dict[str, Node], numbered: dict[str, dict[str, tuple[bytes, Stat]]] | None = None
) -> object:
    judgement = judge(Sent(ops, SEEN, ME), Found(nodes, numbered or {}))
    return judgement.results if isinstance(judgement, Made) else judgement


def test_what_is_read() -> None:
    ops: list[Op] = [
        Create("/a/n_", sequential=True),
        Create("/b/c"),
        SetData("/b/c", b""),
        Check("/d", 1),
        Delete("/e/f"),
    ]
    assert paths_to_read(ops) == ["/a", "/b/c", "/b", "/d", "/e/f"]
    assert sequential_paths(ops) == ["/a/n_"]


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        pytest.param({"/a": node(b"x", 101), **ROOT}, ["/a"], id="made"),
        pytest.param({"/a": node(b"x", 99), **ROOT}, NOT_MADE, id="there before"),
        pytest.param({"/a": None, **QUIET_ROOT}, NOT_MADE, id="the parent has the children it had"),
        pytest.param({"/a": None, **ROOT}, UNKNOWN, id="perhaps removed since"),
        pytest.param({"/a": None, "/": None}, UNKNOWN, id="not even a parent"),
        pytest.param({"/a": node(b"other", 101), **ROOT}, UNKNOWN, id="made by another"),
        pytest.param({"/a": node(b"x", 101, 102, 1), **ROOT}, UNKNOWN, id="changed since"),
        pytest.param({"/a": node(b"x", 101, owner=8), **ROOT}, UNKNOWN, id="an ephemeral of another"),
    ],
)
def test_a_creation(now: dict[str, Node], expected: object) -> None:
    assert verdict([Create("/a", b"x")], now) == expected


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (node(b"x", 101, owner=ME), ["/a"]),
        (node(b"changed", 101, 105, 1, owner=ME), ["/a"]),
        (node(b"x", 101, owner=8), UNKNOWN),
        (node(b"x", 99, owner=ME), NOT_MADE),
        (node(b"x", 99, owner=8), NOT_MADE),
    ],
)
def test_an_ephemeral_node_is_known_by_its_owner(now: Node, expected: object) -> None:
    assert verdict([Create("/a", b"x", ephemeral=True)], {"/a": now, **ROOT}) == expected


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        pytest.param(node(b"x", 50, 101, 4), [stat(50, 101, 4)], id="set"),
        pytest.param(node(b"old", 50, 99, 3), NOT_MADE, id="as it was"),
        pytest.param(node(b"old", 50, 101, 3), NOT_MADE, id="set by another before"),
        pytest.param(node(b"other", 50, 101, 4), UNKNOWN, id="that version is another's"),
        pytest.param(node(b"x", 50, 101, 5), UNKNOWN, id="set again since"),
        pytest.param(None, UNKNOWN, id="removed since"),
    ],
)
def test_a_conditional_change(now: Node, expected: object) -> None:
    assert verdict([SetData("/a", b"x", 3)], {"/a": now}) == expected


def test_an_unconditional_change() -> None:
    assert verdict([SetData("/a", b"x")], {"/a": node(b"x", 50, 101, 9)}) == [stat(50, 101, 9)]
    assert verdict([SetData("/a", b"x")], {"/a": node(b"x", 50, 99, 9)}) is NOT_MADE
    assert verdict([SetData("/a", b"x")], {"/a": node(b"y", 50, 101, 9)}) is UNKNOWN


def test_a_deletion() -> None:
    assert verdict([Delete("/a", 3)], {"/a": None}) == [None]
    assert verdict([Delete("/a", 3)], {"/a": node(b"", 50)}) is NOT_MADE
    assert verdict([Delete("/a", 3)], {"/a": node(b"", 101)}) is UNKNOWN


def test_a_numbered_node_is_found_among_its_siblings() -> None:
    ops: list[Op] = [Create("/q/n_", b"x", sequential=True)]
    parent = {"/q": node(b"", 1, pzxid=103)}
    older, other, mine = (b"x", stat(99)), (b"y", stat(101)), (b"x", stat(103))
    children = {"/q/n_0000000000": older, "/q/n_0000000001": other, "/q/n_0000000002": mine}
    assert verdict(ops, parent, {"/q/n_": children}) == ["/q/n_0000000002"]
    del children["/q/n_0000000002"]
    assert verdict(ops, parent, {"/q/n_": children}) is UNKNOWN
    assert verdict(ops, {"/q": node(b"", 1, pzxid=99)}, {"/q/n_": {}}) is NOT_MADE


def test_all_changes_have_one_id_and_the_numbered_node_is_the_one_of_that_id() -> None:
    ops: list[Op] = [SetData("/a", b"x", 3), Create("/q/n_", b"x", sequential=True), Check("/e", 5)]
    now = {
        "/a": node(b"x", 50, 101, 4),
        "/q": node(b"", 1, pzxid=102),
        "/e": node(b"", 1, 60, 5),
    }
    twice = {"/q/n_0000000001": (b"x", stat(101)), "/q/n_0000000002": (b"x", stat(102))}
    assert verdict(ops, now, {"/q/n_": {"/q/n_0000000001": (b"x", stat(101))}}) == [
        stat(50, 101, 4),
        "/q/n_0000000001",
        None,
    ]
    assert verdict(ops, now, {"/q/n_": twice}) is UNKNOWN


def test_one_change_that_was_not_made_says_so_of_all() -> None:
    ops: list[Op] = [Create("/a", b"x"), SetData("/b", b"y", 3)]
    assert verdict(ops, {"/a": None, "/b": node(b"old", 50, 99, 3), **ROOT}) is NOT_MADE


@pytest.mark.parametrize(
    ("guard", "expected"),
    [
        pytest.param(node(b"", 1, 60, 5), [None, stat(50, 110, 4)], id="held"),
        pytest.param(node(b"", 1, 120, 6), [None, stat(50, 110, 4)], id="held then"),
        pytest.param(node(b"", 1, 105, 6), NOT_MADE, id="did not hold: another made the same change"),
        pytest.param(None, UNKNOWN, id="gone"),
    ],
)
def test_a_condition_has_to_hold_at_the_id_of_the_changes(guard: Node, expected: object) -> None:
    ops: list[Op] = [Check("/epoch", 5), SetData("/a", b"x", 3)]
    assert verdict(ops, {"/epoch": guard, "/a": node(b"x", 50, 110, 4)}) == expected


def test_a_condition_beside_a_deletion_alone() -> None:
    ops: list[Op] = [Check("/epoch", 5), Delete("/a")]
    assert verdict(ops, {"/epoch": node(b"", 1, 60, 5), "/a": None}) == [None, None]
    assert verdict(ops, {"/epoch": node(b"", 1, 160, 6), "/a": None}) is UNKNOWN


def test_the_id_of_a_transaction_that_was_made() -> None:
    made = judge(Sent([Create("/a", b"x")], SEEN, ME), Found({"/a": node(b"x", 101), **ROOT}))
    assert made == Made(["/a"], 101)
    assert judge(Sent([Delete("/a")], SEEN, ME), Found({"/a": None})) == Made([None])


def test_conditions_alone_are_asked_again() -> None:
    assert verdict([Check("/a", 5)], {"/a": node(b"", 1, 160, 6)}) is NOT_MADE


def test_of_two_candidates_for_the_controller_the_loser_does_not_take_the_winners_epoch_for_its_own() -> None:
    """Both write the same next epoch."""
    ops: list[Op] = [Create("/controller", b"me", ephemeral=True), SetData("/controller_epoch", b"5", 4)]
    epoch = node(b"5", 1, 101, 5)
    theirs = {"/controller": node(b"them", 101, owner=8), "/controller_epoch": epoch, **ROOT}
    mine = {"/controller": node(b"me", 101, owner=ME), "/controller_epoch": epoch, **ROOT}
    gone = {"/controller": None, "/controller_epoch": epoch, **ROOT}
    assert verdict(ops, theirs) is UNKNOWN
    assert verdict(ops, mine) == ["/controller", stat(1, 101, 5)]
    assert verdict(ops, gone) is UNKNOWN


def test_a_node_made_and_then_filled() -> None:
    ops: list[Op] = [Create("/a", ephemeral=True), SetData("/a", b"x", 0)]
    now = node(b"x", 101, 101, 1, owner=ME)
    assert verdict(ops, {"/a": now, **ROOT}) == ["/a", stat(101, 101, 1, ME)]
    persistent: list[Op] = [Create("/a"), SetData("/a", b"w", 0), SetData("/a", b"x", 1)]
    assert verdict(persistent, {"/a": node(b"x", 101, 101, 2), **ROOT}) == [
        "/a",
        stat(101, 101, 1),
        stat(101, 101, 2),
    ]


def test_a_node_made_and_removed_again_tells_nothing() -> None:
    assert verdict([Create("/a"), Delete("/a")], {"/a": None, **ROOT}) is NOT_MADE


def test_a_node_removed_and_made_anew() -> None:
    ops: list[Op] = [Delete("/a"), Create("/a", b"x", ephemeral=True)]
    assert verdict(ops, {"/a": node(b"x", 101, owner=ME), **ROOT}) == [None, "/a"]
    assert verdict(ops, {"/a": node(b"x", 99, owner=8), **ROOT}) is NOT_MADE
