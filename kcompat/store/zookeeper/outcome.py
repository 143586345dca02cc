"""Judgement whether a transaction took effect although its response was lost. Pure.

Once a session is connected again and has caught up (`sync`), none of its earlier requests can still take
effect: ZooKeeper accepts requests of a session from its last connection only. So the present state of the
nodes decides:

- A transaction takes effect as a whole, with one id that is greater than every id seen before it was sent. If
  a node that it changes was last changed before it was sent, the transaction was not made.
- If all of its changes are present with one id, and its conditions held at that id, it was made.
- Otherwise another writer has changed a node since, and the outcome is unknown.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kcompat.store.interface import ANY_VERSION, Check, Create, Delete, SetData, parent_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kcompat.store.interface import Op, OpResult, Stat

Node = tuple[bytes, "Stat"] | None
"""Data and Stat of a node; None if the node does not exist."""


class Sent(Struct, frozen=True):
    """A transaction whose response was lost."""

    ops: Sequence[Op]
    seen: int
    """Highest transaction id known when the transaction was sent."""
    session_id: int


class Found(Struct, frozen=True):
    """State of the nodes in the store after the response to a transaction was lost."""

    nodes: Mapping[str, Node]
    """Nodes by path, at least those of `paths_to_read`."""
    numbered: Mapping[str, Mapping[str, tuple[bytes, Stat]]] = {}
    """Existing nodes of each sequential path: nodes whose name is the path followed by a number."""


class Made(Struct, frozen=True):
    """Verdict that the transaction was made, with the results of its operations, and its id if it is known
    (else 0).
    """

    results: list[OpResult]
    zxid: int = 0


class TransactionVerdict(Enum):
    """Verdict on a transaction that was not made, or whose outcome is unknown."""

    NOT_MADE = auto()
    UNKNOWN = auto()


def paths_to_read(ops: Sequence[Op]) -> list[str]:
    """Return the paths of the nodes whose state shows whether these operations were made."""
    paths: dict[str, None] = {}
    for op in ops:
        if not (isinstance(op, Create) and op.sequential):
            paths[op.path] = None
        if isinstance(op, Create):
            paths[parent_of(op.path)] = None
    return list(paths)


def sequential_paths(ops: Sequence[Op]) -> list[str]:
    """Return the paths to which ZooKeeper appends a number."""
    return [op.path for op in ops if isinstance(op, Create) and op.sequential]


def judge(sent: Sent, found: Found) -> Made | TransactionVerdict:
    """Decide from the nodes in the store whether a transaction was made."""
    evidence = [_judge_path(effect, sent, found) for effect in _effects(sent.ops)]
    evidence += [_judge_sequential(op, sent, found) for op in sent.ops if _is_sequential(op)]
    if _NO in evidence:
        return TransactionVerdict.NOT_MADE
    ids = {made for made in evidence if made not in (_GONE, _MAYBE)}
    if _MAYBE in evidence or len(ids) > 1:
        return TransactionVerdict.UNKNOWN
    if not evidence:
        return TransactionVerdict.NOT_MADE  # only checks, which may be repeated
    zxid = ids.pop() if ids else None
    conditions = _conditions(sent.ops, zxid, found)
    return Made(_results(sent.ops, zxid, found), zxid or 0) if conditions is None else conditions


# -- one path --------------------------------------------------------------------------------------------

_NO, _MAYBE, _GONE = -1, -2, -3
"""Results in place of a transaction id: the change was not made; its outcome is unknown; the node is absent,
as the transaction requires.
"""


class _Effect(Struct):
    """Net effect of a transaction on one node."""

    path: str
    create: Create | None = None
    data: bytes = b""
    base: int = ANY_VERSION
    """Version that the first SetData expects."""
    sets: int = 0
    is_deleted: bool = False
    existed: bool = True
    """Whether the node must exist before the transaction."""


def _effects(ops: Sequence[Op]) -> list[_Effect]:
    effects: dict[str, _Effect] = {}
    for op in ops:
        if isinstance(op, Check) or _is_sequential(op):
            continue
        effect = effects.get(op.path)
        if effect is None:
            effect = effects[op.path] = _Effect(op.path, existed=not isinstance(op, Create))
        match op:
            case Create():
                effect.create, effect.data, effect.sets, effect.is_deleted = op, op.data or b"", 0, False
            case SetData():
                if effect.sets == 0 and effect.create is None:
                    effect.base = op.version
                effect.data = op.data or b""
                effect.sets += 1
            case Delete():
                effect.create, effect.is_deleted = None, True
    return [effect for effect in effects.values() if effect.existed or not effect.is_deleted]


def _judge_path(effect: _Effect, sent: Sent, found: Found) -> int:
    node = found.nodes[effect.path]
    if effect.is_deleted:
        return _judge_deleted(node, sent.seen)
    if effect.create is not None:
        return _judge_created(effect, effect.create, node, sent, found)
    return _judge_changed(effect, node, sent.seen)


def _judge_deleted(node: Node, seen: int) -> int:
    if node is None:
        return _GONE
    return _NO if node[1].czxid <= seen else _MAYBE


def _judge_created(effect: _Effect, create: Create, node: Node, sent: Sent, found: Found) -> int:
    if node is None:
        return _NO if _children_unchanged(parent_of(effect.path), sent, found) else _MAYBE
    data, stat = node
    if stat.czxid <= sent.seen:
        return _NO
    if create.ephemeral:
        return stat.czxid if stat.ephemeral_owner == sent.session_id else _MAYBE
    is_as_made = data == effect.data and stat.version == effect.sets and stat.mzxid == stat.czxid
    return stat.czxid if is_as_made and not stat.ephemeral_owner else _MAYBE


def _judge_changed(effect: _Effect, node: Node, seen: int) -> int:
    if node is None:
        return _MAYBE
    data, stat = node
    if stat.mzxid <= seen or (stat.version == effect.base and stat.czxid <= seen):
        return _NO
    is_as_set = effect.base in (ANY_VERSION, stat.version - effect.sets)
    return stat.mzxid if is_as_set and data == effect.data else _MAYBE


def _judge_sequential(op: Op, sent: Sent, found: Found) -> int:
    assert isinstance(op, Create)
    made = _made_for(op, found, lambda stat: stat.czxid > sent.seen)
    if made is not None:
        return made[1].czxid
    return _NO if _children_unchanged(parent_of(op.path), sent, found) else _MAYBE


def _made_for(op: Create, found: Found, fits: Callable[[Stat], bool]) -> tuple[str, Stat] | None:
    """Return the last node that this sequential Create may have made; None if there is none."""
    fitting = [
        (path, stat)
        for path, (data, stat) in sorted(found.numbered[op.path].items())
        if data == op.data and fits(stat)
    ]
    return fitting[-1] if fitting else None


def _children_unchanged(parent: str, sent: Sent, found: Found) -> bool:
    node = found.nodes[parent]
    return node is not None and node[1].pzxid <= sent.seen


def _is_sequential(op: Op) -> bool:
    return isinstance(op, Create) and op.sequential


# -- the whole -------------------------------------------------------------------------------------------


def _conditions(ops: Sequence[Op], zxid: int | None, found: Found) -> TransactionVerdict | None:
    """Return None if every Check held when the transaction was made, else the verdict.

    Nodes that the transaction also changes are skipped: their changes show whether it was made.
    """
    changed = {op.path for op in ops if not isinstance(op, Check)}
    for op in ops:
        if not isinstance(op, Check) or op.path in changed:
            continue
        node = found.nodes[op.path]
        if node is None:
            return TransactionVerdict.UNKNOWN
        if op.version not in (ANY_VERSION, node[1].version):
            if zxid is None:
                return TransactionVerdict.UNKNOWN
            if node[1].mzxid <= zxid:
                return TransactionVerdict.NOT_MADE  # another session made the same change
    return None


def _results(ops: Sequence[Op], zxid: int | None, found: Found) -> list[OpResult]:
    results: list[OpResult] = []
    left = {effect.path: effect.sets for effect in _effects(ops)}
    for op in ops:
        match op:
            case Create(path, sequential=True):
                made = _made_for(op, found, lambda stat: stat.czxid == zxid)
                results.append(path if made is None else made[0])
            case Create(path):
                results.append(path)
            case SetData(path):
                node = found.nodes[path]
                left[path] = left.get(path, 1) - 1
                results.append(
                    None if node is None else replace(node[1], version=node[1].version - left[path])
                )
            case _:
                results.append(None)
    return results
