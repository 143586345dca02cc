"""The tree and its journal against the simplest model: a dict that is copied for each transaction."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcompat.store.interface import Check, Create, Delete, Op, SetData, StoreError, parent_of
from kcompat.store.process_store import ProcessStore
from kcompat.store.sqlite_journal import SqliteJournal
from support.fuzzing import examples

NAMES = st.sampled_from(["a", "b", "c"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(lambda names: "/" + "/".join(names))
DATA = st.binary(max_size=3)
VERSIONS = st.integers(-1, 2)
OPS = st.one_of(
    st.builds(Create, PATHS, DATA),
    st.builds(Create, PATHS, DATA, st.just(True)),
    st.builds(Create, PATHS, DATA, st.just(False), st.just(True)),
    st.builds(SetData, PATHS, DATA, VERSIONS),
    st.builds(Delete, PATHS, VERSIONS),
    st.builds(Check, PATHS, st.integers(0, 2)),
)
TRANSACTIONS = st.lists(st.lists(OPS, min_size=1, max_size=4), max_size=12)

# A node of the model: data, version, ephemeral, children ever made or deleted.
Model = dict[str, tuple[bytes, int, bool, int]]


class RefusedByModelError(Exception):
    pass


def apply(model: Model, op: Op) -> None:
    match op:
        case Create(path, data, ephemeral, sequential):
            parent = model.get(parent_of(path))
            if parent is None or parent[2]:
                raise RefusedByModelError
            if sequential:
                children = sum(parent_of(other) == parent_of(path) for other in model if other != "/")
                path = f"{path}{(parent[3] + children) // 2:010d}"
            if path in model:
                raise RefusedByModelError
            model[path] = (data, 0, ephemeral, 0)
            model[parent_of(path)] = (*parent[:3], parent[3] + 1)
        case SetData(path, data, version):
            if path not in model or version not in (-1, model[path][1]):
                raise RefusedByModelError
            _, old, ephemeral, changes = model[path]
            model[path] = (data, old + 1, ephemeral, changes)
        case Delete(path, version):
            if path not in model or version not in (-1, model[path][1]):
                raise RefusedByModelError
            if any(other.startswith(path + "/") for other in model):
                raise RefusedByModelError
            del model[path]
            parent = model[parent_of(path)]
            model[parent_of(path)] = (*parent[:3], parent[3] + 1)
        case Check(path, version):
            if path not in model or version != model[path][1]:
                raise RefusedByModelError


def without_ephemerals(model: Model) -> Model:
    left = dict(model)
    for path in [path for path, node in model.items() if node[2]]:
        apply(left, Delete(path))
    return left


def picture(store: ProcessStore) -> Model:
    return {
        path: (node.data or b"", node.version, bool(node.ephemeral_owner), node.cversion)
        for path, node in store.tree.nodes.items()
    }


async def play(path: Path, transactions: list[list[Op]]) -> None:
    store = ProcessStore(SqliteJournal(path), lambda: 1)
    session = await store.session()
    model: Model = {"/": (b"", 0, False, 0)}
    zxid = store.tree.zxid
    for ops in transactions:
        after = dict(model)
        try:
            for op in ops:
                apply(after, op)
        except RefusedByModelError:
            with pytest.raises(StoreError):
                await session.multi(ops)
            assert store.tree.zxid == zxid
        else:
            await session.multi(ops)
            assert store.tree.zxid == zxid + any(not isinstance(op, Check) for op in ops)
            model = after
        zxid = store.tree.zxid
        assert picture(store) == model
        store.tree.check_invariants()
    # What a crash leaves is what was answered; the sessions are gone with the process.
    store._journal.close()
    store = ProcessStore(SqliteJournal(path), lambda: 1)
    assert picture(store) == model
    await store.session()
    assert picture(store) == without_ephemerals(model)
    assert store.tree.zxid >= zxid
    await store.close()


@settings(max_examples=examples(60), deadline=None)
@given(TRANSACTIONS)
def test_the_store_does_what_the_model_does(transactions: list[list[Any]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(play(Path(directory) / "metadata.db", transactions))
