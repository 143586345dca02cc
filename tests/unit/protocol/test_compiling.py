"""Which codec a process uses."""

from __future__ import annotations

from functools import partial

import pytest

from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.protocol.schema import decoder, encoder
from support import chosen_extension
from support.codecs import NATIVE

chosen = partial(
    chosen_extension.chosen,
    "kcompat.protocol._native",
    "from kcompat.protocol import compiling\n"
    "chosen = {compiling.compile_decoder, compiling.compile_encoder, compiling.read_request_header}\n"
    "print(*sorted({function.__module__ for function in chosen}))",
)
TWIN = "kcompat.protocol.decoding kcompat.protocol.encoding kcompat.protocol.reading"


def test_the_environment_chooses():
    assert chosen("0") == TWIN
    assert chosen("", missing=True) == TWIN
    assert "kcompat.protocol._native" in chosen("1", missing=True)
    assert "Error" in chosen("1", missing=True)


@pytest.mark.skipif(NATIVE is None, reason="the extension was not built")
def test_the_extension_is_chosen_where_it_is():
    for wanted in ("", "1"):
        assert chosen(wanted) == "kcompat.protocol._native kcompat.protocol.native"


def test_every_test_asks_the_codec_that_it_names(codec):
    is_native = codec is NATIVE
    assert (type(decoder(ProduceRequest, 9)).__name__ == "builtin_function_or_method") == is_native
    assert (type(encoder(ProduceRequest, 9)).__name__ == "builtin_function_or_method") == is_native
