"""Entries of the transaction index."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import int64


@message("0")
class AbortedTxn(Message):
    """One entry of a transaction index file, without its leading int16 version (v0)."""

    producer_id: Annotated[int, int64("0+")] = 0
    first_offset: Annotated[int, int64("0+")] = 0
    last_offset: Annotated[int, int64("0+")] = 0
    last_stable_offset: Annotated[int, int64("0+")] = 0
