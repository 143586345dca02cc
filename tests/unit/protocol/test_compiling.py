"""Messages are read and written by the codec that was chosen."""

from __future__ import annotations

from kcompat import capabilities
from kcompat.protocol.message import decoder, encoder
from kcompat.protocol.messages.produce import ProduceRequest


def test_messages_ask_the_extension_where_it_is_used() -> None:
    is_native = capabilities.native("kcompat.protocol._native")
    for function in (decoder(ProduceRequest, 9), encoder(ProduceRequest, 9)):
        assert (type(function).__name__ == "builtin_function_or_method") == is_native
