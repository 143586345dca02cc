"""A transaction index: the bytes that Kafka writes, and what it answers to reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.log.files import FILES
from kcompat.log.txn_index import AbortedTransaction, TransactionIndex

if TYPE_CHECKING:
    from pathlib import Path


def test_transaction_index(tmp_path: Path) -> None:
    path = tmp_path / "x.txnindex"
    index = TransactionIndex(FILES, str(path))
    assert index.load()
    assert not path.exists()
    index.append(AbortedTransaction(1, 10, 19, 15))
    index.append(AbortedTransaction(2, 15, 30, 31))
    assert path.read_bytes() == bytes.fromhex(
        "0000 0000000000000001 000000000000000a 0000000000000013 000000000000000f"
        "0000 0000000000000002 000000000000000f 000000000000001e 000000000000001f"
    )
    assert [entry.producer_id for entry in index.overlapping(0, 12)[0]] == [1]
    assert [entry.producer_id for entry in index.overlapping(20, 31)[0]] == [2]
    assert index.overlapping(0, 12)[1], "the last stable offset was above: no later marker can matter"
    assert not index.overlapping(0, 40)[1]
    again = TransactionIndex(FILES, str(path))
    assert again.load()
    assert again.entries() == index.entries()
    again.truncate_to(30)
    assert [entry.producer_id for entry in again.entries()] == [1]
    path.write_bytes(path.read_bytes() + b"\0")
    assert not TransactionIndex(FILES, str(path)).load()
