"""Tests can ask either codec."""

from __future__ import annotations

from kcompat.protocol.message import decoder, encoder
from kcompat.protocol.messages.produce import ProduceRequest
from support.codecs import NATIVE


def test_every_test_asks_the_codec_that_it_names(codec):
    is_native = codec is NATIVE
    assert (type(decoder(ProduceRequest, 9)).__name__ == "builtin_function_or_method") == is_native
    assert (type(encoder(ProduceRequest, 9)).__name__ == "builtin_function_or_method") == is_native
