"""The serialized principal of Envelope requests."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import boolean, string


@message("0", flexible="0+")
class DefaultPrincipalData(Message):
    """A principal as it is forwarded in an Envelope (v0)."""

    type: Annotated[str, string("0+")] = ""
    name: Annotated[str, string("0+")] = ""
    token_authenticated: Annotated[bool, boolean("0+")] = False
